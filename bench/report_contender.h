/* What a report costs beyond reading the run. In a file of its own: it needs the tool's insides. */
#ifndef BENCH_REPORT_CONTENDER_H
#define BENCH_REPORT_CONTENDER_H

#include <stddef.h>
#include <stdint.h>

struct bench_run;

/* NULL after a message. */
struct bench_run *bench_run_open(const char *dir);
void bench_run_close(struct bench_run *run);

/* Reads all records in time order; returns how many spans there were. */
uint64_t bench_run_iterate(struct bench_run *run);

/* Makes the whole report, as text; returns how many bytes it has. */
size_t bench_run_report(struct bench_run *run);

/* Parses a Chrome trace with simdjson; returns how many events it has. */
uint64_t simdjson_load(const char *path);

#endif
