/* The parts of the JSON report that are the same for every loop. Keys: docs/report.md. */
#ifndef REPORT_REPORT_JSON_H
#define REPORT_REPORT_JSON_H

#include "base/json.h"
#include "load/device_table.h"
#include "summary/snapshot.h"

#define REPORT_JSON_SCHEMA "stepscope-report/1"
#define REPORT_JSON_JOB_SCHEMA "stepscope-job/1" /* a job of which no records are here */

struct analysis;

void report_json_books(struct json *json, int64_t wall_ns, const int64_t *segment_ns);

/* Its steps, stages, throughput and what changed; NULL: a run without steps. With what an imported
 * trace says of devices, or NULL. */
void report_json_loop(struct json *json, const struct snap_loop *loop,
                      const struct device_table *imported);

/* report_device.c: keys of "device" of an imported run. */
void report_json_devices(struct json *json, const struct device_table *table);

/* report_ranks.c: "job", or null without ranks. */
void report_json_job(struct json *json, const struct analysis *analysis);

/* "key": mid, "key_ci": [low, high]; or the pair alone. */
void report_json_interval(struct json *json, const char *key, const char *ci_key,
                          struct interval interval);
void report_json_pair(struct json *json, const char *key, double low, double high);

/* "flat", "slower_first", ... */
const char *report_json_class_text(enum warmup_class class);

#endif
