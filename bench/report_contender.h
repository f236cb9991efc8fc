/* What a report, or an export, costs beyond reading the run. In a file of its own: it needs the
 * tool's insides. */
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

/* Makes the HTML page of it; returns how many bytes it has. */
size_t bench_run_page(struct bench_run *run);

/* Exports it into a descriptor; returns how many bytes that were. */
uint64_t bench_run_export(struct bench_run *run, const char *format, int fd);

/* Exports it into a directory, in the place of what is there. */
void bench_run_export_directory(struct bench_run *run, const char *format, const char *dir);

/* Parses a Chrome trace with simdjson; returns how many events it has. */
uint64_t simdjson_load(const char *path);

#endif
