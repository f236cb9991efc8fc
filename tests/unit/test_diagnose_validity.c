/* diagnose/validity: disturbances that this machine cannot make, as scripted samples. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/validity.h"
#include "read/counter_table.h"
#include "support/own_run.h"

enum { SECONDS = 20, SUPERVISOR = 1 };
static const int64_t second = 1000000000;
static const int64_t start_ns = 100000000000;

/* A counter with the value `from` at first that gains `per_s` each second. */
struct line {
    unsigned counter;
    uint64_t subject;
    double from, per_s;
    unsigned state;
};

static void feed(struct model *model, const struct line *line, int s)
{
    const struct ss_record record = {.kind = SS_KIND_SYSTEM,
                                     .name = (uint16_t)(line->counter + 1),
                                     .time_ns = start_ns + s * second,
                                     .flags = (uint16_t)line->state,
                                     .subject = line->subject,
                                     .u.value = line->from + line->per_s * s};

    model_feed(model, SUPERVISOR, &record);
}

static struct snapshot *make(const struct line *lines, size_t count)
{
    struct model *model = model_new();
    const struct ss_process supervisor = {.pid = 9,
                                          .kind = SS_PROCESS_SUPERVISOR,
                                          .start_ns = start_ns,
                                          .end_ns = start_ns + SECONDS * second};

    assert_non_null(model);
    model_process(model, SUPERVISOR, &supervisor);
    for (uint16_t i = 0; i < SS_COUNTER_IDS; i++) {
        const struct ss_record name = {
            .kind = SS_KIND_NAME,
            .name = (uint16_t)(i + 1),
            .u.text.a = {counter_table[i].text, strlen(counter_table[i].text)}};
        model_feed(model, SUPERVISOR, &name);
    }
    for (int s = 0; s <= SECONDS; s++)
        for (size_t i = 0; i < count; i++)
            feed(model, &lines[i], s);
    struct snapshot *snapshot = model_snapshot(model);
    assert_non_null(snapshot);
    model_free(model);
    return snapshot;
}

static const struct validity_item *find(const struct validity *validity, const char *id)
{
    for (size_t i = 0; i < validity->count; i++)
        if (strcmp(validity->item[i].id, id) == 0)
            return &validity->item[i];
    fail_msg("no item %s", id);
    return NULL;
}

/* Judges the lines beside two cores; gives the item. */
static struct validity_item judge(void **state, const char *id, const struct line *lines,
                                  size_t count)
{
    struct own_run *own = *state;
    struct line all[16] = {
        {SS_COUNTER_ID_CPU_BUSY, 0, 0, 0, 0},
        {SS_COUNTER_ID_CPU_BUSY, 1, 0, 1e9, 0}, /* works all the time */
        {SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS, 0, 0, 0}};
    struct validity validity;

    if (count > 0)
        memcpy(all + 3, lines, count * sizeof *lines);
    struct snapshot *snapshot = make(all, count + 3);
    if (!own->run) {
        own_run_start(own, 0);
        ss_step(1);
        own_run_stop(own);
    }
    validity_judge(&validity, snapshot, own->run);
    snapshot_free(snapshot);
    return *find(&validity, id);
}

static void heat(void **state)
{
    const struct line hot = {SS_COUNTER_ID_CPU_THROTTLES, 0, 5, 0.5, 0};
    const struct line cool = {SS_COUNTER_ID_CPU_THROTTLES, 0, 5, 0, 0};

    assert_int_equal(judge(state, "heat", &hot, 1).level, VALIDITY_WARN);
    assert_true(judge(state, "heat", &hot, 1).value == 10);
    assert_int_equal(judge(state, "heat", &cool, 1).level, VALIDITY_OK);
    assert_int_equal(judge(state, "heat", NULL, 0).level, VALIDITY_UNSEEN);
}

static void frequency(void **state)
{
    const struct line falls = {SS_COUNTER_ID_CPU_FREQUENCY, 1, 4e9, -0.03e9, 0};
    const struct line rises = {SS_COUNTER_ID_CPU_FREQUENCY, 1, 2e9, 0.03e9, 0};
    const struct line rests = {SS_COUNTER_ID_CPU_FREQUENCY, 0, 4e9, -0.03e9, 0};
    const struct validity_item item = judge(state, "frequency", &falls, 1);

    assert_int_equal(item.level, VALIDITY_WARN);
    assert_true(fabs(item.value - 0.15) < 0.01);
    assert_int_equal(judge(state, "frequency", &rises, 1).level, VALIDITY_OK);
    assert_int_equal(judge(state, "frequency", &rests, 1).level,
                     VALIDITY_OK); /* an idle core */
}

static void swap(void **state)
{
    const struct line both[] = {{SS_COUNTER_ID_SWAP_IN, 0, 7, 4096, 0},
                                {SS_COUNTER_ID_SWAP_OUT, 0, 7, 0, 0}};
    const struct line none[] = {{SS_COUNTER_ID_SWAP_IN, 0, 7, 0, 0},
                                {SS_COUNTER_ID_SWAP_OUT, 0, 7, 0, 0}};

    assert_int_equal(judge(state, "swap", both, 2).level, VALIDITY_WARN);
    assert_true(judge(state, "swap", both, 2).value == 4096 * SECONDS);
    assert_int_equal(judge(state, "swap", none, 2).level, VALIDITY_OK);
}

static void steal(void **state)
{
    const struct line much = {SS_COUNTER_ID_CPU_STEAL, 0, 1e12, 0.1e9, 0};
    const struct line some = {SS_COUNTER_ID_CPU_STEAL, 0, 1e12, 0.01e9, 0};
    const struct line denied = {SS_COUNTER_ID_CPU_STEAL, 0, 0, 0, SS_SYSTEM_DENIED};

    assert_int_equal(judge(state, "steal", &much, 1).level, VALIDITY_WARN);
    assert_true(fabs(judge(state, "steal", &much, 1).value - 0.05) <
                1e-9); /* of 2 cores */
    assert_int_equal(judge(state, "steal", &some, 1).level, VALIDITY_NOTE);
    assert_int_equal(judge(state, "steal", &denied, 1).level, VALIDITY_UNSEEN);
    assert_non_null(strstr(judge(state, "steal", &denied, 1).text, "may not look"));
}

static void limits_of_a_cgroup(void **state)
{
    const struct line hit[] = {{SS_COUNTER_ID_CGROUP_CPU_LIMIT, 0, 1.5, 0, 0},
                               {SS_COUNTER_ID_CGROUP_PERIODS, 0, 100, 10, 0},
                               {SS_COUNTER_ID_CGROUP_THROTTLED_PERIODS, 0, 3, 5, 0}};
    const struct line no_limit = {SS_COUNTER_ID_CGROUP_CPU_LIMIT, 0, 0, 0, 0};

    assert_int_equal(judge(state, "cgroup", hit, 3).level, VALIDITY_WARN);
    assert_true(fabs(judge(state, "cgroup", hit, 3).value - 0.5) < 1e-9);
    assert_int_equal(judge(state, "cgroup", &no_limit, 1).level, VALIDITY_OK);
}

static void clocks_of_gpus(void **state)
{
    const struct line held[] = {{SS_COUNTER_ID_GPU_HELD, 0, 0x40, 0, 0},
                                {SS_COUNTER_ID_GPU_CLOCK, 0, 0.9e9, 0, 0},
                                {SS_COUNTER_ID_GPU_CLOCK_MOST, 0, 1.8e9, 0, 0},
                                {SS_COUNTER_ID_GPU_BUSY, 0, 0.8, 0, 0}};
    struct line idle[4];

    memcpy(idle, held, sizeof idle);
    idle[0].from = 1;
    assert_int_equal(judge(state, "gpu", held, 4).level, VALIDITY_WARN);
    assert_true(fabs(judge(state, "gpu", held, 4).value - 0.5) < 1e-9);
    assert_int_equal(judge(state, "gpu", idle, 4).level, VALIDITY_OK);
}

static void other_processes(void **state)
{
    const struct line lines[] = {{SS_COUNTER_ID_TREE_CPU, 0, 0, 0.5e9, 0},
                                 {SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS, 0, 1.5e9, 0}};

    assert_int_equal(judge(state, "others", lines, 1).level, VALIDITY_OK);
    assert_int_equal(judge(state, "preempted", lines, 1).level, VALIDITY_UNSEEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(heat),
        OWN_RUN_TEST(frequency),
        OWN_RUN_TEST(swap),
        OWN_RUN_TEST(steal),
        OWN_RUN_TEST(limits_of_a_cgroup),
        OWN_RUN_TEST(other_processes),
        OWN_RUN_TEST(clocks_of_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
