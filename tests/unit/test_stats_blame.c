/* stats/blame and the shared steps of stats/sample: which rank the others wait for. */
#include "stats/blame.h"
#include "stats/mix.h"
#include "test_stats_support.h"

enum { RANKS_MOST = 1000 };

/* A job in which each step ends when its last rank has come, and a tenth of that is the exchange.
 */
struct job {
    struct shared_steps shared[RANKS_MOST];
    struct shared_step *steps[RANKS_MOST];
    struct blame_rank ranks[RANKS_MOST];
    double late_ns[RANKS_MOST]; /* what the others waited for each rank, in the steps kept */
    double all_ns;
    size_t kept;
};

static double usual_work(uint64_t *random)
{
    return 1e7 * (1 + 0.1 * ((double)(mix_next(random) >> 40) / (1 << 24) - 0.5));
}

/* `slowness` gives what the work of a rank is multiplied by in a step. */
static struct job *play(size_t ranks, int64_t steps, double (*slowness)(size_t rank, int64_t step))
{
    struct job *job = calloc(1, sizeof *job);
    double *work = calloc(ranks, sizeof *work);
    uint64_t random = 7;

    assert_non_null(job);
    assert_non_null(work);
    for (int64_t s = 0; s < steps; s++) {
        size_t last = 0;
        double second_ns = 0, sum_ns = 0;
        for (size_t r = 0; r < ranks; r++)
            work[r] = usual_work(&random) * slowness(r, s);
        for (size_t r = 1; r < ranks; r++)
            last = work[r] > work[last] ? r : last;
        for (size_t r = 0; r < ranks; r++)
            if (r != last && work[r] > second_ns)
                second_ns = work[r];
        for (size_t r = 0; r < ranks; r++) {
            const struct shared_step step = {s, work[r], 1.1 * work[last] - work[r]};
            shared_steps_add(&job->shared[r], s * 1000, &step);
            sum_ns += 1.1 * work[last];
        }
        if (steps <= SHARED_STEPS_MOST) {
            job->late_ns[last] += work[last] - second_ns;
            job->all_ns += sum_ns / (double)ranks;
            job->kept++;
        }
    }
    free(work);
    for (size_t r = 0; r < ranks; r++) {
        job->steps[r] = shared_steps_since(&job->shared[r], 0, &job->ranks[r].count);
        job->ranks[r].steps = job->steps[r];
    }
    return job;
}

static void end(struct job *job, size_t ranks)
{
    for (size_t r = 0; r < ranks; r++) {
        shared_steps_release(&job->shared[r]);
        free(job->steps[r]);
    }
    free(job);
}

static double rank_one_is_slow(size_t rank, int64_t step)
{
    (void)step;
    return rank == 1 ? 1.3 : 1;
}

static double ranks_take_turns(size_t rank, int64_t step)
{
    return (int64_t)rank == step % 2 ? 1.3 : 1;
}

static double all_are_equal(size_t rank, int64_t step)
{
    (void)rank, (void)step;
    return 1;
}

static void the_share_is_what_the_step_would_gain_with_any_number_of_ranks(void **state)
{
    static const size_t counts[] = {2, 4, 8, 100, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct job *job = play(counts[i], 400, rank_one_is_slow);
        struct blame blame;
        assert_true(blame_find(job->ranks, counts[i], &blame));
        assert_int_equal(blame.steps, 400);
        assert_int_equal(blame.ranks, counts[i]);
        assert_int_equal(blame.most, 1);
        assert_true(blame.most_part > 0.99);
        const struct interval share = job->ranks[1].blame;
        assert_near(share.mid, job->late_ns[1] / job->all_ns, 1e-9);
        assert_true(share.low < share.mid && share.high < share.mid * 1.2);
        assert_near(job->ranks[1].wait_ns, 0, 1);
        assert_near(blame.step_ns, job->all_ns / 400, 1);
        assert_near(blame.own_max_ns, 1.3e7, 0.01e7);
        assert_near(blame.exchange_ns, 0.13e7, 0.001e7);
        assert_near(blame.exchange_ns + blame.wait_ns + blame.own_ns, blame.step_ns, 1);
        end(job, counts[i]);
    }
}

/* 512 of 600 steps: the same ones on all ranks, so that all of them can be compared. */
static void ranks_keep_the_same_steps(void **state)
{
    (void)state;
    struct job *job = play(50, 600, rank_one_is_slow);
    struct blame blame;
    assert_true(blame_find(job->ranks, 50, &blame));
    assert_int_equal(blame.steps, SHARED_STEPS_MOST);
    assert_int_equal(blame.most, 1);
    end(job, 50);
}

static void late_ranks_by_turns_share_the_blame(void **state)
{
    (void)state;
    struct job *job = play(4, 400, ranks_take_turns);
    struct blame blame;
    assert_true(blame_find(job->ranks, 4, &blame));
    assert_near(blame.most_part, 0.5, 0.05);
    assert_near(job->ranks[0].last_share, 0.5, 0.02);
    assert_near(job->ranks[1].last_share, 0.5, 0.02);
    /* Three of four wait for 30 % of their own work. */
    assert_near(blame.waiting.mid, 0.75 * 0.3 / 1.43, 0.01);
    end(job, 4);
}

static void equal_ranks_are_last_by_chance(void **state)
{
    (void)state;
    struct job *job = play(8, 400, all_are_equal);
    struct blame blame;
    assert_true(blame_find(job->ranks, 8, &blame));
    assert_true(blame.most_part < 0.25);
    end(job, 8);
}

static void steps_that_a_rank_lacks_are_not_compared(void **state)
{
    (void)state;
    struct job *job = play(3, 100, rank_one_is_slow);
    struct blame blame;
    job->ranks[2].count = 80; /* it was killed */
    job->ranks[0].steps += 5; /* its first ones were disturbed */
    job->ranks[0].count -= 5;
    assert_true(blame_find(job->ranks, 3, &blame));
    assert_int_equal(blame.steps, 75);
    job->ranks[2].count = 10; /* too few to wait for: it is left out */
    assert_true(blame_find(job->ranks, 3, &blame));
    assert_int_equal(blame.steps, 95);
    assert_int_equal(blame.ranks, 2);
    assert_true(job->ranks[2].is_left_out);
    end(job, 3);
}

static void without_a_second_rank_nothing_is_compared(void **state)
{
    (void)state;
    struct job *job = play(2, 30, all_are_equal);
    struct blame blame;
    assert_true(blame_find(job->ranks, 1, &blame));
    assert_int_equal(blame.steps, 0);
    assert_true(blame_find(job->ranks, 0, &blame));
    assert_int_equal(blame.steps, 0);
    end(job, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_is_what_the_step_would_gain_with_any_number_of_ranks),
        cmocka_unit_test(ranks_keep_the_same_steps),
        cmocka_unit_test(late_ranks_by_turns_share_the_blame),
        cmocka_unit_test(equal_ranks_are_last_by_chance),
        cmocka_unit_test(steps_that_a_rank_lacks_are_not_compared),
        cmocka_unit_test(without_a_second_rank_nothing_is_compared),
    };
    return cmocka_run_group_tests_name("stats/blame", tests, NULL, NULL);
}
