/* The verdict and the findings (diagnose/finding.h), as text and JSON. */
#ifndef OUTPUT_REPORT_FINDINGS_H
#define OUTPUT_REPORT_FINDINGS_H

#include "base/json.h"
#include "diagnose/finding.h"
#include "output/report_parts.h"

/* All of them. */
void report_findings(struct report *report);

/* For the summary, onto the page: the first one in a sentence; what to do about it; the next ones. Nothing
 * if there is none that warns. */
void report_say_verdict(struct page *page, const struct diagnosis *diagnosis);
void report_say_advice(struct page *page, const struct diagnosis *diagnosis);
void report_say_next(struct page *page, const struct diagnosis *diagnosis);

/* "verdict", "findings", "unobservable". */
void report_json_findings(struct json *json, const struct snapshot *snapshot,
                          const struct diagnosis *diagnosis);

#endif
