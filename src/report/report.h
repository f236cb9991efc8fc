/* The report of a run, as text for people and as JSON for programs, from a snapshot of the model.
 *
 *   feed_more ─► model_snapshot ─► analysis_make ─► report_*
 *
 * Nothing is computed here that a snapshot could have: what is written is chosen, ordered and put
 * into units. Texts of a run are untrusted; all of them are made safe (base/text.h). */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/sink.h"
#include "render/style.h"
#include "report/analysis.h"

enum { REPORT_SUMMARY_LINES = 15 };

/* Records of the run were given up, and the supervisor's summary knows more than they do. */
bool report_gave_up(const struct analysis *analysis);

/* All of it. */
void report_text(struct sink *out, const struct analysis *analysis, const struct style *style);
void report_json(struct sink *out, const struct analysis *analysis);

/* The most important of it, with the rest folded away: for a pull request. */
void report_markdown(struct sink *out, const struct analysis *analysis);

/* What `stepscope run` says at the end: 15 lines at most, 80 columns. */
void report_summary(struct sink *out, const struct analysis *analysis, const struct style *style);

/* One line on a run that goes on: step, steps/s, median, largest stage, time to finish. */
void report_status_line(struct sink *out, const struct analysis *analysis,
                        const struct style *style);

/* Long tables: all epochs, all steps; the lines of Python where each stage spent its time. */
void report_epoch_table(struct sink *out, const struct analysis *analysis,
                        const struct style *style);

/* A model keeps no steps: the run is read a second time, and each step is printed as soon as the
 * model has it; the analysis of the first time says what is worth a column. As JSON Lines, or as
 * text. 0 or SS_E_NOMEM. */
int report_step_table(struct sink *out, const struct analysis *analysis, const struct style *style,
                      bool as_json);
void report_hot_table(struct sink *out, const struct analysis *analysis, const struct style *style);

#endif
