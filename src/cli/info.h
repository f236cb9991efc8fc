/* The two forms of `stepscope info`. */
#ifndef CLI_INFO_H
#define CLI_INFO_H

#include "base/sink.h"
#include "cli/tally.h"
#include "output/page.h"

/* The parts of the text; those that have nothing to say print nothing. */
void info_text_lost(struct page *page, const struct tally *tally);
void info_text_open(struct page *page, const struct tally *tally);
void info_text_stages(struct page *page, const struct tally *tally);
void info_text_processes(struct page *page, const struct tally *tally);

void info_text(struct sink *out, const struct tally *tally);
void info_json(struct sink *out, const struct tally *tally);

#endif
