/* A run that a test records of its own process, reads back and removes. For cmocka tests: what
 * fails here fails the test, so call it from the test's own thread only. */
#ifndef TESTS_OWN_RUN_H
#define TESTS_OWN_RUN_H

#include "stepscope/reader.h"
#include "stepscope/recorder.h"

struct own_run {
    char dir[256];                       /* made by own_run_setup(), empty */
    const struct ss_file_header *header; /* as it changes, from start to the next opening */
    struct ss_run *run;
    struct ss_record *records; /* of all threads, one lane after the other */
    size_t count, capacity;
};

/* For cmocka: the state of a test is a struct own_run. The teardown stops the recorder. */
int own_run_setup(void **state);
int own_run_teardown(void **state);
#define OWN_RUN_TEST(test) cmocka_unit_test_setup_teardown(test, own_run_setup, own_run_teardown)

/* Starts the recorder; 0: its own choice of a cap. */
void own_run_start(struct own_run *own, uint64_t cap_bytes);

/* Returns when the recorder's helper thread has gone round: the pool of segments is full again, so
 * that a few thousand records find room. Any thread may call it while this recording is on. False
 * if the helper does not come. */
bool own_run_catch_up(const struct own_run *own);

/* Stops the recorder and opens the run, or opens it as it is. */
void own_run_stop(struct own_run *own);
void own_run_open(struct own_run *own);
/* Closes the run and removes what is in its directory: ready for another start. */
void own_run_clear(struct own_run *own);

/* How many records there are of a kind, and the i-th of them. Texts last until the run is closed
 * or opened again. */
size_t own_run_count(const struct own_run *own, unsigned kind);
const struct ss_record *own_run_get(const struct own_run *own, unsigned kind, size_t i);
const struct ss_record *own_run_span(const struct own_run *own, size_t i);

/* Spans and other records of a process that did not fit, on all of its lanes. */
uint64_t own_run_lost(const struct own_run *own, size_t process);

/* Says that a text of the reader is this one. */
void own_run_check_text(struct ss_text text, const char *expected);

#endif
