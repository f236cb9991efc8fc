/* diagnose/validity: disturbances that this machine cannot make, as scripted samples. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/own_counters.h"
#include "diagnose/validity.h"
#include "read/counter_table.h"
#include "record/notes.h"
#include "support/own_run.h"
#include "support/script.h"

enum { SECONDS = 20, SUPERVISOR = 1 };
static const int64_t second = 1000000000;
static const int64_t start_ns = 100000000000;

/* A counter with the value `from` at first that gains `per_s` each second, or with these values. */
struct line {
    unsigned counter;
    uint64_t subject;
    double from, per_s;
    unsigned state;
    const double *course;
};

static void feed(struct model *model, const struct line *line, int s)
{
    const struct ss_record record = {.kind = SS_KIND_SYSTEM,
                                     .name = (uint16_t)(line->counter + 1),
                                     .time_ns = start_ns + s * second,
                                     .flags = (uint16_t)line->state,
                                     .subject = line->subject,
                                     .u.value = line->course ? line->course[s]
                                                             : line->from + line->per_s * s};

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
        if (strcmp(validity_id_text(validity->item[i].id), id) == 0)
            return &validity->item[i];
    fail_msg("no item %s", id);
    return NULL;
}

/* A run in which this process recorded something: what a span costs here is measured. */
static const struct ss_run *have_run(struct own_run *own)
{
    if (!own->run) {
        own_run_start(own, 0);
        ss_step(1);
        own_run_stop(own);
    }
    return own->run;
}

/* Judges the lines beside two cores; gives the item. */
static struct validity_item judge(void **state, const char *id, const struct line *lines,
                                  size_t count)
{
    struct own_run *own = *state;
    struct line all[16] = {{SS_COUNTER_ID_CPU_BUSY, 0, 0, 0, 0, NULL},
                           {SS_COUNTER_ID_CPU_BUSY, 1, 0, 1e9, 0, NULL}}; /* works all the time */
    struct validity validity;

    if (count > 0)
        memcpy(all + 2, lines, count * sizeof *lines);
    struct snapshot *snapshot = make(all, count + 2);
    validity_judge(&validity, snapshot, have_run(own));
    snapshot_free(snapshot);
    return *find(&validity, id);
}

static void heat(void **state)
{
    const struct line hot = {SS_COUNTER_ID_CPU_THROTTLES, 0, 5, 0.5, 0, NULL};
    const struct line cool = {SS_COUNTER_ID_CPU_THROTTLES, 0, 5, 0, 0, NULL};
    const struct line once = {SS_COUNTER_ID_CPU_THROTTLES, 0, 5, 0.05, 0, NULL};

    assert_int_equal(judge(state, "heat", &hot, 1).level, VALIDITY_WARN);
    assert_true(judge(state, "heat", &hot, 1).value == 10);
    assert_int_equal(judge(state, "heat", &cool, 1).level, VALIDITY_OK);
    assert_int_equal(judge(state, "heat", &once, 1).level, VALIDITY_NOTE);
    assert_int_equal(judge(state, "heat", NULL, 0).level, VALIDITY_UNSEEN);
}

static void frequency(void **state)
{
    const struct line falls = {SS_COUNTER_ID_CPU_FREQUENCY, 1, 4e9, -0.03e9, 0, NULL};
    const struct line rises = {SS_COUNTER_ID_CPU_FREQUENCY, 1, 2e9, 0.03e9, 0, NULL};
    const struct line rests = {SS_COUNTER_ID_CPU_FREQUENCY, 0, 4e9, -0.03e9, 0, NULL};
    const struct validity_item item = judge(state, "frequency", &falls, 1);

    assert_int_equal(item.level, VALIDITY_WARN);
    assert_true(fabs(item.value - 0.08) < 0.01); /* 3.85 to 3.55 GHz */
    assert_int_equal(judge(state, "frequency", &rises, 1).level, VALIDITY_OK);
    assert_int_equal(judge(state, "frequency", &rests, 1).level, VALIDITY_OK); /* an idle core */
}

/* The clock of the core that works is at `first` GHz for this many seconds, then at `then`. */
static struct validity_item judge_clock(void **state, double first, int seconds, double then)
{
    double course[SECONDS + 1];
    const struct line line = {
        .counter = SS_COUNTER_ID_CPU_FREQUENCY, .subject = 1, .course = course};

    for (int s = 0; s <= SECONDS; s++)
        course[s] = 1e9 * (s < seconds ? first : then) * (s % 2 ? 1.005 : 0.995);
    return judge(state, "frequency", &line, 1);
}

static void a_boost_at_the_start_is_no_drop(void **state)
{
    const struct validity_item boost = judge_clock(state, 4.0, 3, 3.4);
    const struct validity_item throttle = judge_clock(state, 3.4, 12, 2.4);

    assert_int_equal(boost.level, VALIDITY_OK);
    assert_int_equal(throttle.level, VALIDITY_WARN);
    assert_true(fabs(throttle.value - (1 - 2.4 / 3.4)) < 0.02);
    assert_int_equal(judge_clock(state, 2.0, 8, 3.4).level, VALIDITY_OK); /* it rose */
}

static void swap(void **state)
{
    const struct line both[] = {{SS_COUNTER_ID_SWAP_IN, 0, 7, 300000, 0, NULL},
                                {SS_COUNTER_ID_SWAP_OUT, 0, 7, 200000, 0, NULL}};
    const struct line little[] = {{SS_COUNTER_ID_SWAP_IN, 0, 7, 4096, 0, NULL},
                                  {SS_COUNTER_ID_SWAP_OUT, 0, 7, 0, 0, NULL}};
    const struct line none[] = {{SS_COUNTER_ID_SWAP_IN, 0, 7, 0, 0, NULL},
                                {SS_COUNTER_ID_SWAP_OUT, 0, 7, 0, 0, NULL}};

    assert_int_equal(judge(state, "swap", both, 2).level, VALIDITY_WARN);
    assert_true(judge(state, "swap", both, 2).value == 500000 * SECONDS);
    assert_int_equal(judge(state, "swap", little, 2).level, VALIDITY_NOTE);
    assert_int_equal(judge(state, "swap", none, 2).level, VALIDITY_OK);
}

static void steal(void **state)
{
    const struct line much = {SS_COUNTER_ID_CPU_STEAL, 0, 1e12, 0.1e9, 0, NULL};
    const struct line some = {SS_COUNTER_ID_CPU_STEAL, 0, 1e12, 0.01e9, 0, NULL};
    const struct line denied = {SS_COUNTER_ID_CPU_STEAL, 0, 0, 0, SS_SYSTEM_DENIED, NULL};

    assert_int_equal(judge(state, "steal", &much, 1).level, VALIDITY_WARN);
    assert_true(fabs(judge(state, "steal", &much, 1).value - 0.05) < 1e-9); /* of 2 cores */
    assert_int_equal(judge(state, "steal", &some, 1).level, VALIDITY_NOTE);
    assert_int_equal(judge(state, "steal", &denied, 1).level, VALIDITY_UNSEEN);
    assert_non_null(strstr(judge(state, "steal", &denied, 1).text, "permission denied"));
}

static void limits_of_a_cgroup(void **state)
{
    const struct line hit[] = {{SS_COUNTER_ID_CGROUP_CPU_LIMIT, 0, 1.5, 0, 0, NULL},
                               {SS_COUNTER_ID_CGROUP_PERIODS, 0, 100, 10, 0, NULL},
                               {SS_COUNTER_ID_CGROUP_THROTTLED_PERIODS, 0, 3, 5, 0, NULL}};
    const struct line no_limit = {SS_COUNTER_ID_CGROUP_CPU_LIMIT, 0, 0, 0, 0, NULL};
    const struct line denied[] = {
        {SS_COUNTER_ID_CGROUP_CPU_LIMIT, 0, 1.5, 0, 0, NULL},
        {SS_COUNTER_ID_CGROUP_PERIODS, 0, 0, 0, SS_SYSTEM_DENIED, NULL},
        {SS_COUNTER_ID_CGROUP_THROTTLED_PERIODS, 0, 0, 0, SS_SYSTEM_DENIED, NULL}};

    assert_int_equal(judge(state, "cgroup", hit, 3).level, VALIDITY_WARN);
    assert_true(fabs(judge(state, "cgroup", hit, 3).value - 0.5) < 1e-9);
    assert_int_equal(judge(state, "cgroup", &no_limit, 1).level, VALIDITY_OK);
    const struct validity_item blind = judge(state, "cgroup", denied, 3);
    assert_int_equal(blind.level, VALIDITY_UNSEEN);
    assert_non_null(strstr(blind.text, "limit of 1.50 cores was hit: permission denied"));
    assert_int_equal(judge(state, "cgroup", denied, 1).level, VALIDITY_UNSEEN);
}

static void clocks_of_gpus(void **state)
{
    enum { LINES = 5, PID_ON_GPU_0 = 7 };
    const struct line held[LINES] = {
        {SS_COUNTER_ID_GPU_HELD_HEAT, 0, 1, 0, 0, NULL},
        {SS_COUNTER_ID_GPU_CLOCK, 0, 0.9e9, 0, 0, NULL},
        {SS_COUNTER_ID_GPU_CLOCK_MOST, 0, 1.8e9, 0, 0, NULL},
        {SS_COUNTER_ID_GPU_BUSY, 0, 0.8, 0, 0, NULL},
        {SS_COUNTER_ID_GPU_PROCESS_MEMORY, PID_ON_GPU_0, 1e9, 0, 0, NULL}};
    struct line idle[LINES];

    memcpy(idle, held, sizeof idle);
    idle[0].from = 0;
    assert_int_equal(judge(state, "gpu", held, LINES).level, VALIDITY_WARN);
    assert_true(fabs(judge(state, "gpu", held, LINES).value - 0.5) < 1e-9);
    assert_int_equal(judge(state, "gpu", held, LINES - 1).level, VALIDITY_OK); /* others' */
    assert_int_equal(judge(state, "gpu", idle, LINES).level, VALIDITY_OK);
}

static void other_processes(void **state)
{
    struct line lines[] = {{SS_COUNTER_ID_TREE_CPU, 0, 0, 0.5e9, 0, NULL},
                           {SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS, 0, 1.5e9, 0, NULL}};

    assert_int_equal(judge(state, "others", lines, 2).level, VALIDITY_WARN);
    assert_true(fabs(judge(state, "others", lines, 2).value - 0.5) < 1e-9); /* of 2 */
    assert_int_equal(judge(state, "others", lines + 1, 1).level, VALIDITY_UNSEEN);
    assert_int_equal(judge(state, "preempted", lines, 2).level, VALIDITY_UNSEEN);
    lines[0].per_s = 1.45e9;
    assert_int_equal(judge(state, "others", lines, 2).level, VALIDITY_OK);
}

/* What others do on cores that the command may not use is no disturbance, what they do on its own
 * is a larger one. */
static void other_processes_on_the_cores_that_it_may_use(void **state)
{
    struct line lines[] = {{SS_COUNTER_ID_TREE_CPU, 0, 0, 0.5e9, 0, NULL},
                           {SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS, 0, 1.5e9, 0, NULL},
                           {SS_COUNTER_ID_CPU_ALLOWED, 0, 1, 0, 0, NULL},
                           {SS_COUNTER_ID_CPU_ALLOWED_BUSY, 0, 0, 0.5e9, 0, NULL}};

    assert_int_equal(judge(state, "others", lines, 4).level, VALIDITY_OK);
    lines[3].per_s = 0.9e9;
    const struct validity_item item = judge(state, "others", lines, 4);
    assert_int_equal(item.level, VALIDITY_WARN);
    assert_true(fabs(item.value - 0.4) < 1e-9);
    assert_string_equal(item.text, "other processes used 0.40 of its 1 core");
    lines[2].from = 2; /* all */
    assert_string_equal(judge(state, "others", lines, 3).text,
                        "other processes used 1.00 of 2 cores");
    lines[2].from = 1;
    lines[0].per_s = 1.2e9; /* it works elsewhere too, on what its loop may not use */
    assert_string_equal(judge(state, "others", lines, 4).text,
                        "other processes used 0.30 of 2 cores");
}

/* What is taken of cores that it may not use is not taken from it. */
static void steal_of_the_cores_that_it_may_use(void **state)
{
    const struct line lines[] = {{SS_COUNTER_ID_CPU_STEAL, 0, 0, 0.5e9, 0, NULL},
                                 {SS_COUNTER_ID_CPU_BUSY, SS_ALL_CPUS, 0, 1.5e9, 0, NULL},
                                 {SS_COUNTER_ID_CPU_ALLOWED, 0, 1, 0, 0, NULL},
                                 {SS_COUNTER_ID_CPU_ALLOWED_BUSY, 0, 0, 0.5e9, 0, NULL},
                                 {SS_COUNTER_ID_CPU_ALLOWED_STEAL, 0, 0, 0.05e9, 0, NULL}};

    assert_true(fabs(judge(state, "steal", lines, 4).value - 0.25) < 1e-9);
    assert_true(fabs(judge(state, "steal", lines, 5).value - 0.05) < 1e-9);
}

/* Steps of 640 us with 5 spans each, in as many processes. */
static void train(struct script *s, uint32_t ranks)
{
    enum { STEPS = 200, SPANS = 5, SPAN_NS = 128000 };

    for (uint32_t rank = 0; rank < ranks; rank++) {
        script_process(s, rank, (int)rank);
        script_lane(s, rank + 1);
        const unsigned name =
            script_name(s, "forward", SS_STAGE_FORWARD, SS_ROLE_NONE, SS_SCOPE_NONE, "");
        for (int i = 0; i < STEPS; i++) {
            script_point(s, SS_KIND_STEP, 1);
            for (int k = 0; k < SPANS; k++)
                script_span(s, name, 0, SPAN_NS);
        }
    }
}

static struct validity_item judge_training(struct own_run *own, uint32_t ranks)
{
    struct script *s = script_new();
    struct validity validity;

    train(s, ranks);
    validity_judge(&validity, script_finish(s), have_run(own));
    script_free(s);
    return *find(&validity, "cost");
}

/* 5 spans, as a process measures them, in a step of 640 us. */
static double of_such_steps(const struct own_run *own)
{
    return 5 * ss_run_process(own->run, 0)->span_cost_ps / 1000.0 / 640000;
}

static void what_recording_cost_a_step(void **state)
{
    struct own_run *own = *state;
    const struct validity_item alone = judge_training(own, 1);

    assert_true(fabs(alone.value / of_such_steps(own) - 2) < 0.05);
    assert_non_null(strstr(alone.text, "of a step (an estimate)"));
    assert_true(fabs(judge_training(own, 4).value - alone.value) < 1e-3 * alone.value);
}

static void a_span_costs_more_in_python(void **state)
{
    struct own_run *own = *state;

    notes_fact("python", "3.12");
    const struct validity_item item = judge_training(own, 1);
    assert_true(fabs(item.value / of_such_steps(own) - 27) < 1);
    notes_fact(NULL, NULL);
}

static void say_sampler(struct script *s, uint32_t process, double cores)
{
    script_process(s, process, (int)process);
    script_lane(s, 5 + process);
    script_counter(
        s, script_name(s, OWN_COUNTER_SAMPLER_CPU, SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, ""),
        cores);
}

static void the_stack_sampler_of_the_process_costs_too(void **state)
{
    const struct ss_run *run = have_run(*state);
    double beside[2];

    for (int i = 0; i < 2; i++) {
        struct script *s = script_new();
        train(s, 2);
        say_sampler(s, 1, 0.5);
        if (i == 1) {
            say_sampler(s, 0, 0.02);
            say_sampler(s, 0, 0.04);
        }
        beside[i] = own_cost_of(script_finish(s), run).beside;
        script_free(s);
    }
    assert_true(fabs(beside[1] - beside[0] - 0.03) < 1e-6);
}

static void without_steps_there_is_none_to_cost(void **state)
{
    const struct validity_item item = judge(state, "cost", NULL, 0);

    assert_true(isnan(item.value));
    assert_non_null(strstr(item.text, "is unknown"));
}

static void without_a_supervisor_only_what_processes_tell(void **state)
{
    static const char *const known[] = {"clock", "dropped", "cost", "perturbed"};
    struct script *s = script_new();
    struct validity validity;

    train(s, 1);
    validity_judge(&validity, script_finish(s), have_run(*state));
    script_free(s);
    for (size_t i = 0; i < validity.count; i++) {
        bool told = false;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            told |= strcmp(validity_id_text(validity.item[i].id), known[k]) == 0;
        assert_int_equal(validity.item[i].level == VALIDITY_UNSEEN, !told);
    }
    assert_non_null(strstr(find(&validity, "steal")->text, "not collected"));
    assert_non_null(strstr(find(&validity, "watched")->text, "stepscope run"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_RUN_TEST(heat),
        OWN_RUN_TEST(frequency),
        OWN_RUN_TEST(a_boost_at_the_start_is_no_drop),
        OWN_RUN_TEST(swap),
        OWN_RUN_TEST(steal),
        OWN_RUN_TEST(limits_of_a_cgroup),
        OWN_RUN_TEST(other_processes),
        OWN_RUN_TEST(other_processes_on_the_cores_that_it_may_use),
        OWN_RUN_TEST(steal_of_the_cores_that_it_may_use),
        OWN_RUN_TEST(clocks_of_gpus),
        OWN_RUN_TEST(what_recording_cost_a_step),
        OWN_RUN_TEST(a_span_costs_more_in_python),
        OWN_RUN_TEST(the_stack_sampler_of_the_process_costs_too),
        OWN_RUN_TEST(without_steps_there_is_none_to_cost),
        OWN_RUN_TEST(without_a_supervisor_only_what_processes_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
