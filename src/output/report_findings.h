/* The verdict and the findings (diagnose/finding.h), as text and JSON. */
#ifndef OUTPUT_REPORT_FINDINGS_H
#define OUTPUT_REPORT_FINDINGS_H

#include "base/json.h"
#include "diagnose/finding.h"
#include "output/report_parts.h"

/* At most so many are in the summary: the first in words, the others by name. */
enum { FINDINGS_SAID = 3 };

/* All of them. */
void report_findings(struct report *report);

/* For the summary, onto the page: the sentence behind the verdict, nothing if no finding is it; what to do about the first
 * one that warns; the next ones. */
void report_say_claim(struct page *page, const struct diagnosis *diagnosis);
void report_say_advice(struct page *page, const struct diagnosis *diagnosis);
void report_say_next(struct page *page, const struct diagnosis *diagnosis);

/* Onto the page: "39.6 % of the step; 95 % interval 38.1 to 41.2 %". Nothing if it has no share. */
void report_say_share(struct page *page, const struct finding *finding);

/* "verdict", "findings", "unsure", "unobservable", "unobservable_reasons". */
void report_json_findings(struct json *json, const struct snapshot *snapshot,
                          const struct diagnosis *diagnosis);

#endif
