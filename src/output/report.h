/* The report of a run, as text for people and as JSON for programs, from a snapshot of the model.
 *
 *   feed_init, feed_more, feed_finish ─► model_snapshot ─► report_*
 *
 * Nothing is computed here that a snapshot could have: what is written is chosen, ordered and put
 * into units. Texts of a run are untrusted; all of them are made safe (base/text.h). */
#ifndef OUTPUT_REPORT_H
#define OUTPUT_REPORT_H

#include "base/sink.h"
#include "model/snapshot.h"
#include "output/feed.h"
#include "output/run_facts.h"

struct report_input {
    const struct snapshot *snapshot;
    struct ss_run *run;
    const struct run_facts *facts;
    const struct hook_list *hooks; /* NULL: not looked at */
    int64_t deadline_ns;           /* for the whole run; 0: none */
};

/* How text looks: wherever it goes. */
struct report_style {
    unsigned columns; /* of a line, at most */
    bool blocks;      /* bars of block elements, else of # */
    bool colour;
};

enum { REPORT_COLUMNS = 80, REPORT_SUMMARY_LINES = 15 };

/* For a descriptor: COLUMNS or the terminal's width; blocks if the locale has UTF-8; colour if it is
 * a terminal and NO_COLOR is not set. */
/* Records of the run were given up, and the supervisor's summary knows more than they do. */
bool report_gave_up(const struct report_input *input);

struct report_style report_style_for(int fd);

/* All of it. */
void report_text(struct sink *out, const struct report_input *input,
                 const struct report_style *style);
void report_json(struct sink *out, const struct report_input *input);

/* What `stepscope run` says at the end: 15 lines at most, 80 columns. */
void report_summary(struct sink *out, const struct report_input *input,
                    const struct report_style *style);

/* One line on a run that goes on: step, steps/s, median, largest stage, time to finish. */
void report_status_line(struct sink *out, const struct report_input *input,
                        const struct report_style *style);

#endif
