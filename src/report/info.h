/* The two forms of `stepscope info`. */
#ifndef REPORT_INFO_H
#define REPORT_INFO_H

#include "base/sink.h"
#include "render/page.h"
#include "report/analysis.h"
#include "report/tally.h"

/* The parts of the text; those that have nothing to say print nothing. */
void info_text_lost(struct page *page, const struct tally *tally);
void info_text_open(struct page *page, const struct tally *tally);
void info_text_stages(struct page *page, const struct tally *tally);
void info_text_processes(struct page *page, const struct tally *tally);

/* Steps and duration are those of the report, from `analysis`. `all_hooks`: the name of each one.
 */
void info_text(struct sink *out, const struct tally *tally, const struct analysis *analysis,
               bool all_hooks);
void info_json(struct sink *out, const struct tally *tally, const struct analysis *analysis);

#endif
