/* The parts of the text report, in the order in which they are printed. Each prints nothing if it
 * has nothing to say. */
#ifndef OUTPUT_REPORT_PARTS_H
#define OUTPUT_REPORT_PARTS_H

#include "base/compiler.h"
#include "diagnose/finding.h"
#include "output/page.h"
#include "output/report.h"

struct report {
    const struct report_input *input;
    const struct report_style *style;
    const struct snap_loop *loop; /* the primary one, NULL: no steps */
    struct diagnosis diagnosis; /* without steps, of predictions and the machine alone */
    struct page page;
};

void report_begin(struct report *report, struct sink *out,
                  const struct report_input *input, const struct report_style *style);
void report_end(struct report *report);

/* Prints what is on the page so far as a paragraph, wrapped. */
void report_paragraph(struct report *report, bool bold);

/* A blank line, unless it is the first one, and what follows as a title. */
void report_title(struct report *report, const char *format, ...) ATTR_PRINTF(2, 3);

/* report_head.c: what ran and how it ended; the verdict and the sentence behind it, or that alone; how fast; how sure. One
 * line each. */
void report_head_run(struct report *report, const char *before);
void report_head_answer(struct report *report);
void report_head_claim(struct report *report);
void report_head_speed(struct report *report);
void report_head_sure(struct report *report);

void report_stages(struct report *report);
void report_books(struct report *report);
void report_course(struct report *report); /* warm-up, changes, spikes, time to finish */
void report_epochs(struct report *report, size_t most); /* of report->loop */
void report_callbacks(struct report *report);
void report_spans(struct report *report);
void report_latency(struct report *report);
void report_slowest(struct report *report, int most);
int report_slow_steps(const struct snap_loop *loop, int most); /* how many are worth it */
void report_loops(struct report *report);
void report_lost(struct report *report);
/* report_empty.c: of a run without steps all of it; or apart: that, and what to do. */
void report_no_steps(struct report *report, size_t most_hooks);
const char *report_no_steps_text(const struct report *report);
void report_no_steps_advice(struct report *report, size_t most_hooks);
void report_facts(struct report *report);

/* report_more.c: "more    stepscope report RUN", as one can paste it into a shell. */
void report_more(struct report *report, int label_columns);

/* report_query.c: what several of them ask. */
enum { REPORT_NO_STAGE = -1 };

/* The stages that can be part of a step: 1, 2, ... and SS_STAGE_OTHER at the end. */
#define REPORT_FOR_STAGES(stage)                                                         \
    for (int stage = report_next_stage(SS_STAGE_OTHER); stage != REPORT_NO_STAGE;        \
         stage = stage == SS_STAGE_OTHER ? REPORT_NO_STAGE : report_next_stage(stage))
int report_next_stage(int stage);

/* The stage with the largest share of the steady steps; the one with the next largest. */
int report_largest_stage(const struct snap_loop *loop);
int report_second_stage(const struct snap_loop *loop, int largest);

/* The name of this stage that takes most time in the loop; NULL: none. */
const struct snap_span *report_top_span(const struct snapshot *snapshot, int stage);

/* What a device took by its own events, as a share of the steps; 0: not known. */
double report_device_share(const struct snap_loop *loop);

/* Enough steps to say something about them. */
bool report_has_statistics(const struct snap_loop *loop);

/* Quantiles without those that so few values cannot have: NAN. */
struct snap_quantiles report_quantiles(struct snap_quantiles quantiles, uint64_t count);

/* The books of the run: of the primary loop's thread. Without steps of all the time of the command,
 * with what is known of the main thread. */
struct snap_thread report_thread(const struct report_input *input);

/* What a segment is called: too few steps are steps, not a steady state. */
const char *report_segment_text(const struct report_input *input, unsigned segment);

/* "Adam.step", "EarlyStopping#2, batch_end": object, text and scope, as far as they differ. */
void report_span_name(struct buf *out, const struct snap_span *span);
/* The same for a name of the run. */
void report_name(struct buf *out, struct ss_text text, struct ss_text object,
                 enum ss_scope scope);

/* Its share of the steady time; NAN for what was in no step: cuts, and what is in them, epoch callbacks. */
double report_span_share(const struct snap_span *span);
/* Where else in the loop most of it was: "between", "in eval"; NULL: nowhere. */
const char *report_span_place(const struct snap_span *span);

/* When the run began and how long it took; what it was: the command, or the executable. */
int64_t report_begin_ns(const struct report_input *input);
int64_t report_wall_ns(const struct report_input *input);
struct ss_text report_info(const struct report_input *input, const char *key);
struct ss_text report_command(const struct report_input *input);

/* What happened to the run as a whole, also for JSON. */
enum report_state {
    REPORT_LIVE,
    REPORT_ENDED,   /* the command, or all its processes, ended by themselves */
    REPORT_STOPPED, /* recording was stopped */
    REPORT_KILLED,
    REPORT_UNKNOWN
};
enum report_state report_state(const struct report_input *input);
const char *report_state_text(enum report_state state);

/* report_deadline.c: whether the run is done within the deadline. Of one that has ended: whether it
 * was, if it did what it had set out to. */
enum report_deadline {
    REPORT_DEADLINE_UNKNOWN,
    REPORT_DEADLINE_HOLDS,
    REPORT_DEADLINE_UNSURE,
    REPORT_DEADLINE_MISSED,
    REPORT_DEADLINE_UNFINISHED
};
enum report_deadline report_deadline(const struct report_input *input);
const char *report_deadline_text(enum report_deadline verdict); /* for JSON */

/* "will hold", "held", ...; the same as a sentence, onto the page. */
const char *report_deadline_phrase(const struct report_input *input);
void report_say_deadline(struct page *page, const struct report_input *input);

/* By its plan; 0: not known. */
uint64_t report_planned_steps(const struct snap_loop *loop);

/* What is missing, in all; damaged: bytes that could not be read. */
struct report_losses {
    uint64_t dropped, reused, too_deep, names, threads, places, bytes;
    int recorder_error; /* the first one */
};
struct report_losses report_losses(const struct ss_run *run);
void report_whole(struct report *report); /* what is known of more than the records */
bool report_is_whole(const struct report_losses *losses);

#endif
