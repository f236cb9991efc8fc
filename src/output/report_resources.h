/* The machine beside the stages: what the loop's thread, the command and the machine had; and the
 * validity stamp (diagnose/validity.h). Text and JSON (docs/report.md). */
#ifndef OUTPUT_REPORT_RESOURCES_H
#define OUTPUT_REPORT_RESOURCES_H

#include "base/json.h"
#include "output/report_parts.h"

/* All of it; what follows the rows alone: how much of each stage the loop's thread ran, and what held the
 * clocks of GPUs. */
void report_resources(struct report *report);
void report_loop_states(struct report *report);
void report_gpu_holds(struct report *report);
void report_json_resources(struct json *json, const struct snapshot *snapshot);

/* All of the stamp; what is worth a line of the summary, onto the page. */
void report_validity(struct report *report);
void report_say_validity(struct report *report);
void report_json_validity(struct json *json, const struct diagnosis *diagnosis);

#endif
