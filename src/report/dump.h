/* `stepscope dump`: every record of a run in time order, as JSON Lines or as lines for people. */
#ifndef REPORT_DUMP_H
#define REPORT_DUMP_H

#include "base/buf.h"
#include "base/json.h"
#include "stepscope/reader.h"

struct dump {
    struct ss_run *run;
    struct sink *out;
    struct json json;
    struct buf line;   /* of text, under construction */
    ss_ns start_ns;    /* of the run: lines show times from here on */
    int seconds_width; /* columns of the whole seconds of a time */
    int process_width; /* of the process number; 0: there is only one process */
    int lane_width;
};

void dump_init(struct dump *dump, struct ss_run *run, struct sink *out);
void dump_release(struct dump *dump);

/* Both take records of kinds that are in SS_KINDS, which are all that a cursor gives. */
void dump_json(struct dump *dump, const struct ss_record *record);
void dump_text(struct dump *dump, const struct ss_record *record);
void dump_text_heading(struct dump *dump);

/* The name that a record of the run has. */
const struct ss_name_info *dump_name(const struct dump *dump, const struct ss_record *record);

#endif
