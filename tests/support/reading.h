/* Short ways to read made runs in unit tests. A failure fails the test that calls. */
#ifndef TESTS_READING_H
#define TESTS_READING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stepscope/reader.h"
#include "support/synth.h"

/* A run in memory of one process file, which must stay. */
struct ss_run *reading_open(struct synth *synth);

/* Index in the run of a lane of a process. */
size_t reading_lane(const struct ss_run *run, uint32_t process, uint32_t number);

/* Copies the records of a lane (SS_ALL_LANES: merged), at most `max`; returns how many
 * there are. Texts of runs in memory stay valid with the run. */
size_t reading_all(struct ss_run *run, size_t lane, struct ss_record *out, size_t max);

/* The same for lane `number` of a run of one process. */
size_t reading_of(struct ss_run *run, uint32_t number, struct ss_record *out, size_t max);

/* How many records a run has, merged. */
size_t reading_count(struct ss_run *run);

/* Reads all, then expects exactly these losses, in any order; `process` and `file` are
 * not compared. */
void reading_expect_losses(struct ss_run *run, const struct ss_loss *losses, size_t count);

bool text_is(struct ss_text text, const char *expected);

/* A new directory under TMPDIR, and its removal with the files in it. */
char *reading_make_dir(void);
void reading_remove_dir(char *dir);

/* Makes the file one of a process that lives: this one. */
void reading_make_live(struct synth *synth);
int64_t reading_now_ns(void);

#endif
