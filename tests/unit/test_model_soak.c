/* A hundred million spans, of 8 processes with a loader thread each, 200 callbacks and an
 * evaluation after each epoch: the memory that the model takes stays below 200 MB, and its books
 * close. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/script.h"

enum {
    PROCESSES = 8,
    CALLBACKS = 200,
    SPANS_A_STEP = 7,
    STEPS_A_TURN = 100, /* of one process, before the next one acts */
    STEPS_AN_EPOCH = 20000
};
static const int64_t SPANS = 100000000;
static const int64_t MOST_BYTES = 200 << 20;

struct names {
    unsigned data, forward, layer, backward, update, produce, validate;
    unsigned callback[CALLBACKS];
};

/* Of private memory, which files and libraries are no part of. */
static int64_t anonymous_bytes(void)
{
    char line[256];
    long long kilobytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Anonymous: %lld kB", &kilobytes) == 1)
            break;
    fclose(file);
    return (int64_t)kilobytes * 1024;
}

static void intern(struct script *s, struct names *names)
{
    static char text[CALLBACKS][32];
    names->data = script_name(s, "next", SS_STAGE_DATA, 0, 0, "");
    names->forward = script_name(s, "forward", SS_STAGE_FORWARD, 0, 0, "Net");
    names->layer = script_name(s, "layer", SS_STAGE_USER, 0, 0, "");
    names->backward = script_name(s, "backward", SS_STAGE_BACKWARD, 0, 0, "");
    names->update = script_name(s, "update", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam");
    names->produce = script_name(s, "produce", SS_STAGE_PRODUCE, 0, 0, "");
    names->validate = script_name(s, "validate", SS_STAGE_EVAL, 0, 0, "");
    for (int i = 0; i < CALLBACKS; i++) {
        snprintf(text[i], sizeof text[i], "callback %d", i);
        names->callback[i] = script_name(s, text[i], SS_STAGE_CALLBACK, 0, SS_SCOPE_BATCH_END, "");
    }
}

/* Lengths differ, so that no sketch has only one bin. */
static void one_step(struct script *s, const struct names *names, int64_t number)
{
    const int64_t jitter = (int64_t)((uint64_t)number * 2654435761u % 5000);
    script_span(s, names->data, 0, 1000 + jitter);
    script_begin(s, names->forward, SS_FLAG_TRAIN);
    script_span(s, names->layer, 0, 2000 + jitter / 2);
    script_span(s, names->layer, 0, 2000 + jitter / 3);
    script_end(s, 0, 0);
    script_span(s, names->backward, 0, 4000 + jitter);
    script_span(s, names->update, 0, 700);
    script_span(s, names->callback[number % CALLBACKS], 0, 100 + jitter);
}

static void one_turn(struct script *s, const struct names *names, uint32_t process, int64_t number)
{
    script_process(s, process, (int)process);
    script_lane(s, 2 * process + 2);
    script_span(s, names->produce, SS_FLAG_PRODUCER, 1000);
    script_lane(s, 2 * process + 1);
    if (number % STEPS_AN_EPOCH == 0)
        script_point(s, SS_KIND_EPOCH_BEGIN, (uint64_t)(number / STEPS_AN_EPOCH));
    for (int i = 0; i < STEPS_A_TURN; i++)
        one_step(s, names, number + i);
    if ((number + STEPS_A_TURN) % STEPS_AN_EPOCH == 0) {
        script_point(s, SS_KIND_EPOCH_END, 0);
        script_span(s, names->validate, 0, 100000);
    }
}

static void a_hundred_million_spans_take_little_memory(void **state)
{
    (void)state;
    struct script *s = script_new();
    struct names names;
    int64_t number = 0, most = 0;

    for (uint32_t i = 0; i < PROCESSES; i++)
        script_process(s, i, (int)i);
    intern(s, &names);
    const int64_t before = anonymous_bytes();
    while (number * SPANS_A_STEP * PROCESSES < SPANS) {
        for (uint32_t i = 0; i < PROCESSES; i++)
            one_turn(s, &names, i, number);
        number += STEPS_A_TURN;
        if (number % STEPS_AN_EPOCH == 0) {
            const int64_t now = anonymous_bytes() - before;
            most = now > most ? now : most;
        }
    }
    const struct snapshot *snapshot = script_finish(s);
    const int64_t now = anonymous_bytes() - before;
    most = now > most ? now : most;
    print_message("%.1f MB for %lld spans\n", (double)most / 1048576,
                  (long long)snapshot->spans_seen);
    assert_true((int64_t)snapshot->spans_seen >= SPANS);
    assert_int_equal(snapshot->loop_count, PROCESSES);
    assert_int_equal(snapshot->loops[0].steps, number);
    assert_true(most < MOST_BYTES);
    script_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_million_spans_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
