/* The parts of the text report, in the order in which they are printed. Each prints nothing if it
 * has nothing to say. */
#ifndef REPORT_REPORT_PARTS_H
#define REPORT_REPORT_PARTS_H

#include "base/compiler.h"
#include "base/json.h"
#include "diagnose/finding.h"
#include "render/page.h"
#include "report/report.h"

struct report {
    const struct analysis *analysis;
    const struct style *style;
    const struct snap_loop *loop;  /* the primary one, NULL: no steps */
    const struct finding *in_head; /* its claim, saving and advice have been shown; NULL: none */
    struct page page;
};

void report_begin(struct report *report, struct sink *out, const struct analysis *analysis,
                  const struct style *style);
void report_end(struct report *report);

/* Prints what is on the page so far as a paragraph, wrapped. */
void report_paragraph(struct report *report, bool bold);

/* A blank line, unless it is the first one, and what follows as a title. */
void report_title(struct report *report, const char *format, ...) ATTR_PRINTF(2, 3);

/* report_head.c: what ran and how it ended; the verdict and the sentence behind it, or that alone;
 * how fast; how sure. One line each. */
void report_head_run(struct report *report, const char *before);
void report_head_answer(struct report *report);
void report_head_claim(struct report *report);
void report_head_speed(struct report *report);
void report_head_sure(struct report *report);

void report_stages(struct report *report);
/* report_layers.c: how stages divide by layers of the model. */
void report_layers(struct report *report);
void report_json_layers(struct json *json, const struct snap_layers *layers);
/* report_operations.c: which operations took the time of a few steps. */
void report_operations(struct report *report);
void report_json_operations(struct json *json, const struct analysis *analysis);
/* The last part of its path, if something is around it. */
const char *report_layer_tail(const struct snap_layer *layer);

/* report_arms.c: what an experiment found, in a run of `stepscope try`. */
void report_arms(struct report *report);

void report_books(struct report *report);
void report_course(struct report *report); /* warm-up, changes, spikes, time to finish */
void report_add_spike_tax(struct buf *out, const struct snap_loop *loop); /* onto a sentence */
void report_epochs(struct report *report, size_t most);                   /* of report->loop */
void report_loop_parts(struct report *report);                            /* the same */
void report_callbacks(struct report *report);
void report_spans(struct report *report);
void report_latency(struct report *report);
void report_slowest(struct report *report, int most);
int report_slow_steps(const struct snap_loop *loop, int most); /* how many are worth it */
void report_loops(struct report *report);
void report_ranks(struct report *report);   /* report_ranks.c: of a job of several processes */
void report_devices(struct report *report); /* report_device.c: of an imported trace */
void report_lost(struct report *report);
/* report_empty.c: of a run without steps all of it; or apart: that, and what to do. */
void report_no_steps(struct report *report, size_t most_hooks);
const char *report_no_steps_text(const struct report *report);
void report_no_steps_advice(struct report *report, size_t most_hooks);
void report_facts(struct report *report);

/* report_summary_stages.c: the lines that the stages need so that 90 % of the step is in them, with
 * one for the hottest line of the largest stage; these, and more stages in as many lines. */
enum { REPORT_LABEL_COLUMNS = 8 }; /* of the summary */
size_t report_summary_stage_lines(const struct report *report);
void report_summary_stages(struct report *report, size_t lines);

/* report_more.c: "more    stepscope report RUN", as one can paste it into a shell. */
void report_more(struct report *report, int label_columns);

/* report_select.c: what several of them ask. */
enum { REPORT_NO_STAGE = -1 };

/* The stages that can be part of a step: 1, 2, ... and SS_STAGE_OTHER at the end. */
#define REPORT_FOR_STAGES(stage)                                                                   \
    for (int stage = report_next_stage(SS_STAGE_OTHER); stage != REPORT_NO_STAGE;                  \
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
struct snap_thread report_thread(const struct analysis *analysis);

/* What a segment is called: too few steps are steps, not a steady state. */
const char *report_segment_text(const struct analysis *analysis, unsigned segment);

/* snapshot_span_name() for a name of the run. */
void report_name(struct buf *out, struct ss_text text, struct ss_text object, enum ss_scope scope);

/* Its share of the steady time; NAN for what was in no step: cuts, and what is in them, epoch
 * callbacks. */
double report_span_share(const struct snap_span *span);
/* Where else in the loop most of it was: "between", "in eval"; NULL: nowhere. */
const char *report_span_place(const struct snap_span *span);

/* Steps of the primary loop; of all loops. */
uint64_t report_steps(const struct analysis *analysis);
uint64_t report_all_steps(const struct analysis *analysis);

/* When the run began and how long it took; what it was: the command, or the executable. */
int64_t report_begin_ns(const struct analysis *analysis);
int64_t report_wall_ns(const struct analysis *analysis);
struct ss_text report_info(const struct analysis *analysis, const char *key);
struct ss_text report_command(const struct analysis *analysis);

/* What happened to the run as a whole, also for JSON. */
enum report_state {
    REPORT_LIVE,
    REPORT_ENDED,   /* the command, or all its processes, ended by themselves */
    REPORT_STOPPED, /* recording was stopped */
    REPORT_KILLED,
    REPORT_UNKNOWN
};
enum report_state report_state(const struct analysis *analysis);
const char *report_state_text(enum report_state state);

/* report_status.c: whether the run is done within the deadline. Of one that has ended: whether it
 * was, if it did what it had set out to. */
enum report_deadline {
    REPORT_DEADLINE_UNKNOWN,
    REPORT_DEADLINE_HOLDS,
    REPORT_DEADLINE_UNSURE,
    REPORT_DEADLINE_MISSED,
    REPORT_DEADLINE_UNFINISHED
};
enum report_deadline report_deadline(const struct analysis *analysis);
const char *report_deadline_text(enum report_deadline verdict); /* for JSON */

/* "will hold", "held", ...; the same as a sentence, onto the page. */
const char *report_deadline_phrase(const struct analysis *analysis);
void report_say_deadline(struct page *page, const struct analysis *analysis);

/* By its plan; 0: not known. */
uint64_t report_planned_steps(const struct snap_loop *loop);

/* What is missing, in all; damaged: bytes that could not be read. */
struct report_losses {
    uint64_t dropped, reused, too_deep, names, threads, places, bytes;
    uint64_t folded_processes, folded_records; /* removed for the run's budget of disk */
    int recorder_error;                        /* the first one */
};
struct report_losses report_losses(const struct ss_run *run);
void report_whole(struct report *report); /* what is known of more than the records */
bool report_is_whole(const struct report_losses *losses);

/* report_hot.c: the lines of Python where each stage spent its time, with a title for each
 * stage. */
void report_hot(struct report *report);
const char *report_place_text(uint32_t place); /* what SNAP_HOT_ and stages are called */
void report_add_place(struct buf *out, const struct snap_hot_place *place); /* "train.py:12 load" */
void report_json_hot(struct json *json, const struct snap_hot *hot);

/* The machine beside the stages, and the validity stamp (diagnose/validity.h). */

/* All of it; what follows the rows alone: how much of each stage the loop thread ran, and what
 * held the clocks of GPUs. */
void report_resources(struct report *report);
void report_loop_states(struct report *report);
void report_gpu_holds(struct report *report);
void report_json_resources(struct json *json, const struct snapshot *snapshot);

/* All of the stamp; what is worth a line of the summary, onto the page. */
void report_validity(struct report *report);
void report_say_validity(struct report *report);
void report_json_validity(struct json *json, const struct diagnosis *diagnosis);

/* The verdict and the findings (diagnose/finding.h). */

/* At most this many findings are in the summary: the first in words, the others by name. */
enum { FINDINGS_SAID = 3 };

/* All of them. */
void report_findings(struct report *report);

/* For the summary, onto the page: the sentence behind the verdict, nothing if no finding is it;
 * what to do about the first one that warns; the next ones. */
void report_say_claim(struct page *page, const struct diagnosis *diagnosis);
void report_say_advice(struct report *report);
void report_say_next(struct page *page, const struct diagnosis *diagnosis);

/* report_saving.c, onto the page: "27.0 of 41.0 ms per step (2.9x as fast)"; after that, the most
 * that can be gained and why it is more. Nothing where there is nothing to save. */
bool report_has_saving(const struct report *report, const struct finding *finding);
void report_say_saving(struct report *report, const struct finding *finding);
void report_say_gain_most(struct report *report, const struct finding *finding);

/* Onto the page: "39.6 % of the step; 95 % interval 38.1 to 41.2 %". Nothing if it has no share. */
void report_say_share(struct page *page, const struct finding *finding);

/* "verdict", "findings", "unsure", "unobservable", "unobservable_reasons". */
void report_json_findings(struct json *json, const struct snapshot *snapshot,
                          const struct diagnosis *diagnosis);

#endif
