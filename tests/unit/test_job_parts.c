/* Parts of a job: written and read again, joined in any order, damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/job_view.h"
#include "job/part_files.h"
#include "stats/mix.h"
#include "stepscope/counters.h"

enum { LAUNCHES = 8, EACH = 2, STEPS = 200, ORDERS = 20 };

/* Rank 5 works longer in forward than the others, which wait for it. */
static double work_of(int rank, int64_t step)
{
    return 1e6 + (double)(mix64((uint64_t)(rank * 1000 + step)) % 10000) + (rank == 5 ? 4e5 : 0);
}

static void fill_rank(struct part_rank *rank, int number)
{
    *rank = (struct part_rank){.rank = (uint32_t)number,
                               .world = LAUNCHES * EACH + 1,
                               .pid = 4000 + (uint32_t)number,
                               .started_ns = 1000 + number,
                               .steps = STEPS,
                               .steady_steps = STEPS,
                               .steady_ns = STEPS * INT64_C(1500000),
                               .wall_ns = STEPS * INT64_C(1500000),
                               .measured = 1u << SS_STAGE_FORWARD | 1u << SS_STAGE_COMM,
                               .windows = SNAP_OWN_WINDOWS,
                               .slow_count = 1,
                               .slowest = {{7, 2000000}}};
    snprintf(rank->name, sizeof rank->name, "loop %d", number);
    rank->shared = calloc(STEPS, sizeof *rank->shared);
    assert_non_null(rank->shared);
    for (int64_t s = 0; s < STEPS; s++) {
        const double own_ns = work_of(number, s);
        rank->shared[s] = (struct shared_step){s, own_ns, 1.5e6 - own_ns};
        rank->stage_ns[SS_STAGE_FORWARD] += (int64_t)own_ns;
        rank->stage_ns[SS_STAGE_COMM] += (int64_t)(1.5e6 - own_ns);
        sketch_add(&rank->times[SERIES_STEP], 1500000 + s);
        sketch_add(&rank->times[SS_STAGE_FORWARD], (int64_t)own_ns);
    }
    for (int i = 0; i < SNAP_OWN_WINDOWS; i++)
        rank->window_ns[i] = (int64_t)work_of(number, i);
    rank->shared_count = STEPS;
}

static struct job_part part_of(int launch)
{
    struct job_part part = {.launch = mix64((uint64_t)launch),
                            .sequence = 3,
                            .has_ended = true,
                            .begin_raw_ns = 5000 + launch,
                            .last_raw_ns = 9000 + launch,
                            .clock_error_ns = 40 + launch,
                            .counters = 1,
                            .machine = {{SS_COUNTER_ID_CPU_STEAL, 1, 2, -3}},
                            .finding_count = 1,
                            .findings = {{"comm-bound", 1, 120000}},
                            .rank_count = EACH};

    snprintf(part.job, sizeof part.job, "slurm-1.0");
    snprintf(part.host, sizeof part.host, "host-%d", launch / 2);
    snprintf(part.directory, sizeof part.directory, "rank-%d", launch * EACH);
    part.boot_id[0] = (uint8_t)(1 + launch / 2);
    part.ranks = calloc(EACH, sizeof *part.ranks);
    assert_non_null(part.ranks);
    for (int i = 0; i < EACH; i++)
        fill_rank(&part.ranks[i], launch * EACH + i);
    return part;
}

static void write_launch(struct buf *out, int launch)
{
    struct job_part part = part_of(launch);

    buf_reset(out);
    part_write(out, &part);
    assert_false(out->failed);
    part_release(&part);
}

static void shuffle(int order[LAUNCHES], uint64_t *random)
{
    for (int i = 0; i < LAUNCHES; i++)
        order[i] = i;
    for (int i = LAUNCHES - 1; i > 0; i--) {
        const int k = (int)((mix_next(random) >> 33) % (uint64_t)(i + 1)), held = order[i];
        order[i] = order[k];
        order[k] = held;
    }
}

static void a_part_comes_back_as_it_was(void **state)
{
    struct buf bytes = {0}, again = {0};
    struct job_part part;
    (void)state;

    write_launch(&bytes, 3);
    assert_int_equal(part_read(&part, (const uint8_t *)bytes.data, bytes.size, NULL), 0);
    assert_int_equal(part.rank_count, EACH);
    assert_string_equal(part.ranks[1].name, "loop 7");
    assert_true(part.ranks[1].shared[9].own_ns == work_of(7, 9));
    part_write(&again, &part);
    assert_int_equal(again.size, bytes.size);
    assert_memory_equal(again.data, bytes.data, bytes.size);
    part_release(&part);
    buf_release(&bytes);
    buf_release(&again);
}

static void join(struct buf *out, const int order[LAUNCHES])
{
    struct part_set set = {0};
    struct buf bytes = {0};

    for (int i = 0; i < LAUNCHES; i++) {
        write_launch(&bytes, order[i]);
        assert_int_equal(part_set_add(&set, (const uint8_t *)bytes.data, bytes.size, NULL), 0);
        if (i % 3 == 0) /* given twice */
            assert_int_equal(part_set_add(&set, (const uint8_t *)bytes.data, bytes.size, NULL), 0);
    }
    part_set_write(&set, out);
    part_set_release(&set);
    buf_release(&bytes);
}

static void joined_in_any_order_the_bytes_are_the_same(void **state)
{
    int order[LAUNCHES];
    uint64_t random = 5;
    struct buf first = {0}, other = {0};
    (void)state;

    shuffle(order, &random);
    join(&first, order);
    for (int i = 0; i < ORDERS; i++) {
        buf_reset(&other);
        shuffle(order, &random);
        join(&other, order);
        assert_int_equal(other.size, first.size);
        assert_memory_equal(other.data, first.data, first.size);
    }
    buf_release(&first);
    buf_release(&other);
}

static void view_of(struct job_view *view, const int order[LAUNCHES])
{
    for (int i = 0; i < LAUNCHES; i++) {
        struct job_part part = part_of(order[i]), older = part_of(order[i]);
        older.sequence = 2;
        older.ranks[0].shared[0].own_ns = 77e6;
        if (i % 2 == 0)
            assert_int_equal(job_view_add(view, &older), 0);
        assert_int_equal(job_view_add(view, &part), 0);
        assert_int_equal(job_view_add(view, &older), 0);
        part_release(&part);
        part_release(&older);
    }
    assert_int_equal(job_view_finish(view, NULL), 0);
}

static void the_view_is_the_same_in_any_order_and_names_the_straggler(void **state)
{
    int order[LAUNCHES];
    uint64_t random = 9;
    struct job_view first = {0};
    (void)state;

    shuffle(order, &random);
    view_of(&first, order);
    assert_int_equal(first.rank_count, LAUNCHES * EACH);
    assert_int_equal(first.launch_count, LAUNCHES);
    assert_int_equal(first.host_count, LAUNCHES / 2);
    assert_int_equal(first.compared.ranks[0].rank, 5);
    assert_int_equal(first.compared.ranks[0].stage, SS_STAGE_FORWARD);
    assert_string_equal(first.compared.ranks[0].host, "host-1");
    assert_int_equal(first.compared.missing_count, 1);
    assert_int_equal(first.compared.missing[0], LAUNCHES * EACH);
    assert_int_equal(first.repeated, 0);
    for (int i = 0; i < ORDERS; i++) {
        struct job_view other = {0};
        shuffle(order, &random);
        view_of(&other, order);
        assert_memory_equal(&other.compared.blame, &first.compared.blame,
                            sizeof first.compared.blame);
        for (size_t k = 0; k < first.rank_count; k++) {
            assert_int_equal(other.compared.ranks[k].rank, first.compared.ranks[k].rank);
            assert_true(other.compared.ranks[k].own_ns == first.compared.ranks[k].own_ns);
            assert_int_equal(other.ranks[k].launch, first.ranks[k].launch);
        }
        job_view_release(&other);
    }
    job_view_release(&first);
}

static void a_rank_that_was_started_again_counts_by_its_last_start(void **state)
{
    struct job_part part = part_of(0), again = part_of(0);
    struct job_view view = {0};
    (void)state;

    again.launch++;
    again.ranks[0].started_ns += 50;
    again.ranks[0].pid = 9999;
    again.rank_count = 1;
    assert_int_equal(job_view_add(&view, &again), 0);
    assert_int_equal(job_view_add(&view, &part), 0);
    assert_int_equal(job_view_finish(&view, NULL), 0);
    assert_int_equal(view.repeated, 1);
    assert_int_equal(job_view_rank(&view, 0)->pid, 9999);
    assert_int_equal(job_view_rank(&view, 1)->pid, 4001);
    job_view_release(&view);
    again.rank_count = EACH;
    part_release(&part);
    part_release(&again);
}

static void what_is_damaged_is_refused(void **state)
{
    struct buf bytes = {0};
    struct job_part part;
    struct ss_error error;
    (void)state;

    write_launch(&bytes, 2);
    for (size_t i = 0; i < bytes.size; i += 1 + bytes.size / 500) {
        if (i >= 16 && i < 32) /* its id and sequence, which the checksum has too */
            continue;
        bytes.data[i] ^= 0x10;
        assert_true(part_read(&part, (const uint8_t *)bytes.data, bytes.size, &error) < 0);
        assert_true(error.message[0] != '\0');
        part_release(&part);
        bytes.data[i] ^= 0x10;
    }
    for (size_t size = 0; size < bytes.size; size += 1 + bytes.size / 200) {
        assert_true(part_read(&part, (const uint8_t *)bytes.data, size, &error) < 0);
        part_release(&part);
    }
    bytes.data[8] = 9;
    assert_int_equal(part_read(&part, (const uint8_t *)bytes.data, bytes.size, &error),
                     SS_E_VERSION);
    part_release(&part);
    buf_release(&bytes);
}

static void parts_of_another_job_are_skipped_and_named(void **state)
{
    struct job_view view = {0};
    (void)state;

    for (int i = 0; i < 4; i++) {
        struct job_part part = part_of(i);
        if (i == 2)
            snprintf(part.job, sizeof part.job, "another");
        assert_int_equal(job_view_add(&view, &part), 0);
        part_release(&part);
    }
    assert_int_equal(job_view_finish(&view, NULL), 0);
    assert_string_equal(view.id, "slurm-1.0");
    assert_int_equal(view.launch_count, 3);
    assert_int_equal(view.skipped_count, 1);
    assert_non_null(strstr(view.skipped[0].why, "another"));
    job_view_release(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_comes_back_as_it_was),
        cmocka_unit_test(joined_in_any_order_the_bytes_are_the_same),
        cmocka_unit_test(the_view_is_the_same_in_any_order_and_names_the_straggler),
        cmocka_unit_test(a_rank_that_was_started_again_counts_by_its_last_start),
        cmocka_unit_test(what_is_damaged_is_refused),
        cmocka_unit_test(parts_of_another_job_are_skipped_and_named),
    };
    return cmocka_run_group_tests_name("job parts", tests, NULL, NULL);
}
