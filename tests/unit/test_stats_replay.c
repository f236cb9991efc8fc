/* stats/replay: a step with other producers. */
#include "stats/replay.h"
#include "test_stats_support.h"

static const double ms = 1e6;

/* Batches that all take the same. */
static struct replay level(double make_ms, double rest_ms, int workers)
{
    const double ns = make_ms * ms;

    return (struct replay){ns,      {ns, ns, ns, ns, ns}, 500,   rest_ms * ms,
                           workers, 2 * workers,          false, 0};
}

static double step_ms(struct replay replay)
{
    return replay_step_ns(&replay).mid / ms;
}

static void the_slower_of_both_makes_the_step(void **state)
{
    (void)state;
    assert_near(step_ms(level(12, 4, 1)), 12, 1e-6);
    assert_near(step_ms(level(4, 12, 1)), 12, 1e-6);
    assert_near(step_ms(level(12, 4, 2)), 6, 1e-6);
    assert_near(step_ms(level(12, 4, 3)), 4, 1e-6);
}

static void without_workers_the_loop_makes_its_batches(void **state)
{
    (void)state;
    assert_near(step_ms(level(12, 4, 0)), 16, 1e-6);
}

/* More workers make more batches, but the loop has each of them handed over itself. */
static void what_hands_over_is_the_loops_own(void **state)
{
    struct replay replay = level(12, 4, 1);

    (void)state;
    replay.hand_ns = 5 * ms;
    assert_near(step_ms(replay), 12, 1e-6);
    replay.workers = 2;
    replay.ahead = 4;
    assert_near(step_ms(replay), 9, 1e-6);
    replay.workers = 8;
    replay.ahead = 16;
    assert_near(step_ms(replay), 9, 1e-6);
    replay.workers = 0;
    assert_near(step_ms(replay), 16, 1e-6);
}

static void uneven_batches_are_waited_for_now_and_then(void **state)
{
    struct replay uneven = {
        8 * ms, {6 * ms, 12 * ms, 16 * ms, 30 * ms, 40 * ms}, 500, 8 * ms, 1, 2, false, 0};
    const struct interval step = replay_step_ns(&uneven), again = replay_step_ns(&uneven);

    (void)state;
    assert_true(step.mid > 8.3 * ms && step.mid < 12 * ms);
    assert_true(step.low < step.mid && step.mid < step.high);
    assert_memory_equal(&step, &again, sizeof step);
    uneven.workers = 2;
    uneven.ahead = 4;
    assert_true(replay_step_ns(&uneven).mid < step.mid);
}

/* Times of batches: log-normal around 12 ms. */
static double draw_ms(struct random *random)
{
    return 12 * exp(0.3 * random_normal(random));
}

/* The truth, in another way: time goes on from one event to the next, and all that can begin then
 * does. */
struct world {
    struct random random;
    int workers;
    bool in_turn;
    double left[64], rest; /* to do: of each worker, of the loop */
    double hand;           /* of the loop, before it begins with a batch */
    int has[64];           /* which batch it makes; -1: none */
    int next[64], taken;   /* batches to be begun next, and those that the loop has had */
    bool ready[4096];
};

/* In turn each worker has its own batches, else all have the same ones; none goes further ahead
 * than two for each. */
static void begin_batches(struct world *world)
{
    for (int i = 0; i < world->workers; i++) {
        int *next = &world->next[world->in_turn ? i : 0];
        if (world->has[i] >= 0 || *next >= world->taken + 2 * world->workers)
            continue;
        world->has[i] = *next;
        *next += world->in_turn ? world->workers : 1;
        world->left[i] = draw_ms(&world->random);
    }
}

/* How long it takes until something is done. */
static double pass_time(struct world *world)
{
    double ms_passed = world->rest > 0 ? world->rest : INFINITY;

    for (int i = 0; i < world->workers; i++)
        if (world->has[i] >= 0)
            ms_passed = fmin(ms_passed, world->left[i]);
    for (int i = 0; i < world->workers; i++) {
        world->left[i] -= ms_passed;
        if (world->has[i] >= 0 && world->left[i] <= 0) {
            world->ready[world->has[i]] = true;
            world->has[i] = -1;
        }
    }
    world->rest -= ms_passed;
    return ms_passed;
}

static double true_step_ms(int workers, double rest_ms, double hand_ms, bool in_turn)
{
    enum { FIRST = 500, LAST = 3500 };
    struct world world = {
        .random = random_from(23), .workers = workers, .in_turn = in_turn, .hand = hand_ms};
    double now = 0, began = 0;

    for (int i = 0; i < workers; i++) {
        world.has[i] = -1;
        world.next[i] = in_turn ? i : 0;
    }
    while (world.taken < LAST) {
        if (world.rest <= 0 && world.ready[world.taken]) {
            world.taken++;
            world.rest = world.hand + rest_ms;
            began = world.taken == FIRST ? now : began;
        }
        begin_batches(&world);
        now += pass_time(&world);
    }
    return (now - began) / (LAST - FIRST);
}

/* What the recorder would know of these times. */
static struct replay known(int workers, double rest_ms, bool in_turn)
{
    enum { BATCHES = 20000 };
    static double times[BATCHES];
    struct random random = random_from(29);
    double sum = 0;

    for (int i = 0; i < BATCHES; i++) {
        times[i] = ms * draw_ms(&random);
        sum += times[i];
    }
    qsort(times, BATCHES, sizeof times[0], compare_doubles);
    return (struct replay){sum / BATCHES,
                           {times[BATCHES / 2], times[BATCHES * 9 / 10], times[BATCHES * 95 / 100],
                            times[BATCHES * 99 / 100], times[BATCHES - 1]},
                           BATCHES,
                           rest_ms * ms,
                           workers,
                           2 * workers,
                           in_turn,
                           0};
}

/* Too few workers, just enough, and more than enough, for each number of them. */
static void the_truth_is_found(void **state)
{
    static const int workers[] = {1, 2, 4, 8, 16};
    static const double loads[] = {0.5, 1, 2};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(workers); i++)
        for (size_t k = 0; k < COUNT_OF(loads); k++)
            for (int in_turn = 0; in_turn < 2; in_turn++) {
                const double rest_ms = 12.5 / workers[i] * loads[k];
                for (int hands = 0; hands < 3; hands++) {
                    const double hand_ms = 12.5 / workers[i] * hands / 2;
                    struct replay replay = known(workers[i], rest_ms, in_turn);
                    replay.hand_ns = hand_ms * ms;
                    assert_near(step_ms(replay) /
                                    true_step_ms(workers[i], rest_ms, hand_ms, in_turn),
                                1, 0.03);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slower_of_both_makes_the_step),
        cmocka_unit_test(without_workers_the_loop_makes_its_batches),
        cmocka_unit_test(what_hands_over_is_the_loops_own),
        cmocka_unit_test(the_truth_is_found),
        cmocka_unit_test(uneven_batches_are_waited_for_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
