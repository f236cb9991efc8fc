/* Exports stream: memory does not grow with the run. And every allocation fails once. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "export/export.h"
#include "support/failing_memory.h"
#include "support/synth.h"

enum { DATA = 1, COMPUTE, LAYER, UPDATE, LOSS, WHOLE, TICKS = 100000 };

static void add_span(struct synth *synth, uint16_t name, uint64_t start, uint64_t end,
                     uint8_t depth)
{
    const struct ss_rec_span span = {
        .head = {.kind = SS_KIND_SPAN, .units = 1, .name = name, .depth = depth},
        .start_ticks = start,
        .end_ticks = end};

    synth_full_span(synth, 1, &span);
}

/* All of it inside one span, which ends with the run. */
static struct synth *training(uint64_t steps)
{
    struct synth *const synth = synth_new();
    uint64_t at = 2000;

    synth_name(synth, DATA, "next batch", SS_STAGE_DATA, 0, 0, "");
    synth_name(synth, COMPUTE, "forward", SS_STAGE_FORWARD, 0, 0, "Net");
    synth_name(synth, LAYER, "layer", SS_STAGE_USER, 0, 0, "");
    synth_name(synth, UPDATE, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam");
    synth_name(synth, LOSS, "loss", 0, 0, 0, "");
    synth_name(synth, WHOLE, "train", SS_STAGE_USER, 0, 0, "");
    synth_text(synth, 1, SS_KIND_THREAD_BEGIN, 0, at, 1, "main", "");
    for (uint64_t i = 0; i < steps; i++, at += TICKS) {
        add_span(synth, DATA, at, at + 20000, 1);
        add_span(synth, LAYER, at + 20000, at + 30000, 2);
        add_span(synth, COMPUTE, at + 20000, at + 60000, 1);
        add_span(synth, UPDATE, at + 60000, at + 90000 + i % 1000, 1);
        synth_counter(synth, 1, LOSS, at + 95000, 1.0 / (double)(i + 1));
        synth_text(synth, 1, SS_KIND_MARK, LOSS, at + 95000, 0, "a note", "");
    }
    add_span(synth, WHOLE, 2000, at, 0);
    synth_header(synth)->end_ticks = at + 1000;
    return synth;
}

/* Its error, or that of what it wrote to. */
static int export(const struct export_format *format, struct ss_run *run, int fd)
{
    const struct run_facts facts = {0};
    const struct export_job job = {.run = run, .facts = &facts};
    struct sink out;

    sink_init_fd(&out, fd);
    const int failed = format->write(&job, &out);
    sink_flush(&out);
    return failed ? failed : out.error;
}

static int64_t most_for(const struct export_format *format, uint64_t steps, int fd)
{
    struct synth *const synth = training(steps);
    const struct ss_blob blob = synth_blob(synth, "p.ssp");
    struct ss_run *const run = ss_run_open_memory(&blob, 1, NULL);

    assert_non_null(run);
    memory_measure();
    assert_int_equal(export(format, run, fd), 0);
    const int64_t most = memory_most();
    ss_run_close(run);
    synth_free(synth);
    return most;
}

static void memory_does_not_grow_with_the_run(void **state)
{
    (void)state;
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    for (const struct export_format *const *f = export_formats; *f; f++) {
        if (!(*f)->write)
            continue;
        const int64_t few = most_for(*f, 4000, fd), many = most_for(*f, 40000, fd);
        print_message("%s: %lld and %lld bytes\n", (*f)->name, (long long)few, (long long)many);
        assert_true(many < few + 200000); /* the longer run has 7.7 MB more */
    }
    close(fd);
}

static void no_memory_is_an_error_and_nothing_else(void **state)
{
    (void)state;
    struct synth *const synth = training(60);
    const struct ss_blob blob = synth_blob(synth, "p.ssp");
    struct ss_run *const run = ss_run_open_memory(&blob, 1, NULL);
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    for (const struct export_format *const *f = export_formats; *f; f++) {
        size_t number = 0, failures = 0;
        if (!(*f)->write)
            continue;
        do {
            memory_fail_call(++number);
            const int failed = export(*f, run, fd);
            memory_fail_call(0);
            assert_true(failed == 0 || failed == SS_E_NOMEM);
            failures += failed != 0;
        } while (memory_has_failed());
        print_message("%s: %zu allocations\n", (*f)->name, number);
        assert_true(failures > 5);
    }
    close(fd);
    ss_run_close(run);
    synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow_with_the_run),
        cmocka_unit_test(no_memory_is_an_error_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
