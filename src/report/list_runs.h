/* The runs of a folder, a line each: as a table, and as a JSON array. */
#ifndef REPORT_LIST_RUNS_H
#define REPORT_LIST_RUNS_H

#include "load/run_list.h"
#include "render/style.h"
#include "report/report_parts.h"

struct list_row {
    const struct run_entry *entry;
    struct run_result result; /* without steps and verdict if the run could not be read */
    enum report_state state;
    uint64_t bytes; /* on disk */
};

void list_runs_text(struct sink *out, const struct list_row *rows, size_t count,
                    const struct style *style);
void list_runs_json(struct sink *out, const char *folder, const struct list_row *rows,
                    size_t count);

#endif
