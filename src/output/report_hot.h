/* What stack samples found: the lines of Python where each stage spent its time. */
#ifndef OUTPUT_REPORT_HOT_H
#define OUTPUT_REPORT_HOT_H

#include "base/json.h"
#include "output/report_parts.h"

/* As a part of a report, with a title for each stage; the whole table alone. */
void report_hot(struct report *report);
void report_hot_table(struct sink *out, const struct report_input *input,
                      const struct report_style *style);
void report_json_hot(struct json *json, const struct snap_hot *hot);

#endif
