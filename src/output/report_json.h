/* The parts of the JSON report that are the same for every loop. Keys: docs/report.md. */
#ifndef OUTPUT_REPORT_JSON_H
#define OUTPUT_REPORT_JSON_H

#include "base/json.h"
#include "model/snapshot.h"

#define REPORT_JSON_SCHEMA "stepscope-report/1"

void report_json_books(struct json *json, int64_t wall_ns, const int64_t *segment_ns);

/* Its steps, stages, throughput and what changed; NULL: a run without steps. */
void report_json_loop(struct json *json, const struct snap_loop *loop);

void report_json_quantiles(struct json *json, const struct snap_quantiles *quantiles);

/* "key": mid, "key_ci": [low, high]; or the pair alone. */
void report_json_interval(struct json *json, const char *key, const char *ci_key,
                          struct interval interval);
void report_json_pair(struct json *json, const char *key, double low, double high);

/* "flat", "slower_first", ... */
const char *report_json_class_text(enum warmup_class class);

#endif
