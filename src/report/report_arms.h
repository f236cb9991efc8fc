/* The table of an experiment's arms, for the report of a run and for what `stepscope try` prints.
 */
#ifndef REPORT_REPORT_ARMS_H
#define REPORT_REPORT_ARMS_H

#include "base/json.h"
#include "render/page.h"
#include "render/style.h"
#include "summary/snapshot.h"

void report_arms_table(struct page *page, const struct snap_arms *arms, const struct style *style);

/* Onto the page: by which clock. */
void report_arms_say_clock(struct page *page, const struct snap_arms *arms);

/* "arms". */
void report_json_arms(struct json *json, const struct snap_arms *arms);

#endif
