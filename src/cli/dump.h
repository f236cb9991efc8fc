/* The two forms of `stepscope dump`: each gets every record of a run, in time order. */
#ifndef CLI_DUMP_H
#define CLI_DUMP_H

#include "base/json.h"
#include "stepscope/reader.h"

/* One JSON object and a line end; the keys are described in the help of the command. */
void dump_json(struct json *json, const struct ss_run *run, const struct ss_record *record);

/* One line for a person. */
struct dump_page {
    struct sink *out;
    struct buf line;
    const struct ss_run *run;
    ss_ns start_ns; /* times are shown from here on */
    int time_width, lane_width;
    bool several_processes;
};

void dump_page_init(struct dump_page *page, struct sink *out, const struct ss_run *run);
void dump_page_release(struct dump_page *page);
void dump_page_heading(struct dump_page *page);
void dump_page_record(struct dump_page *page, const struct ss_record *record);

#endif
