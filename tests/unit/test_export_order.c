/* export/slice_order: whatever begins and ends at the same nanosecond, it nests as it did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "export/slice_order.h"

enum { SPANS_MOST = 400, DEEPEST = 8, TREES = 20000 };

struct known_span {
    struct slice slice;
    unsigned depth;
};

struct tree {
    uint64_t random;
    int64_t now_ns;
    struct known_span spans[SPANS_MOST]; /* in the order in which they end */
    size_t count;
    struct slice_edge edges[2 * SPANS_MOST];
    size_t edge_count;
};

static uint64_t next(struct tree *tree, uint64_t below)
{
    tree->random ^= tree->random << 13;
    tree->random ^= tree->random >> 7;
    tree->random ^= tree->random << 17;
    return tree->random % below;
}

/* Time passes only now and then, so that most begins and ends are equal. */
static void grow(struct tree *tree, unsigned depth)
{
    const int64_t start_ns = tree->now_ns;

    for (uint64_t left = next(tree, 4); left > 0 && depth < DEEPEST && tree->count < SPANS_MOST / 2;
         left--) {
        tree->now_ns += next(tree, 4) == 0;
        grow(tree, depth + 1);
    }
    tree->now_ns += next(tree, 4) == 0;
    struct known_span *span = &tree->spans[tree->count++];
    *span = (struct known_span){{.start_ns = start_ns, .end_ns = tree->now_ns, .name = tree->count},
                                depth};
}

static void keep(void *context, const struct slice_edge *edge)
{
    struct tree *tree = context;

    assert_true(tree->edge_count < 2 * SPANS_MOST);
    tree->edges[tree->edge_count++] = *edge;
}

static int64_t time_of(const struct slice_edge *edge)
{
    return edge->is_end ? edge->slice.end_ns : edge->slice.start_ns;
}

/* As a trace processor: by time, and what is equal stays as it is. */
static void sort(struct tree *tree)
{
    for (size_t i = 1; i < tree->edge_count; i++) {
        const struct slice_edge edge = tree->edges[i];
        size_t k = i;
        for (; k > 0 && time_of(&tree->edges[k - 1]) > time_of(&edge); k--)
            tree->edges[k] = tree->edges[k - 1];
        tree->edges[k] = edge;
    }
}

static void check(struct tree *tree)
{
    uint64_t open[DEEPEST + 1];
    unsigned depth = 0;

    assert_int_equal(tree->edge_count, 2 * tree->count);
    for (size_t i = 0; i < tree->edge_count; i++) {
        const struct slice_edge *edge = &tree->edges[i];
        const struct known_span *span = &tree->spans[edge->slice.name - 1];
        if (edge->is_end) {
            depth--;
            assert_int_equal(open[depth], edge->slice.name);
        } else {
            assert_true(depth <= DEEPEST);
            open[depth] = edge->slice.name;
            depth++;
        }
        assert_int_equal(span->depth, depth - !edge->is_end);
    }
    assert_int_equal(depth, 0);
}

static void trees_with_equal_times_nest(void **state)
{
    (void)state;
    struct tree *tree = calloc(1, sizeof *tree);
    struct slice_order order;

    tree->random = 88172645463325252u;
    for (int i = 0; i < TREES; i++) {
        tree->count = tree->edge_count = 0;
        tree->now_ns = 1000;
        slice_order_init(&order, keep, tree);
        for (uint64_t roots = 1 + next(tree, 3); roots > 0; roots--)
            grow(tree, 0);
        for (size_t k = 0; k < tree->count; k++)
            slice_order_add(&order, &tree->spans[k].slice, tree->spans[k].depth);
        slice_order_flush(&order);
        sort(tree);
        check(tree);
        slice_order_release(&order);
    }
    free(tree);
}

/* Spans whose surroundings are lost, or deeper than there can be: all come out once. */
static void nothing_is_lost(void **state)
{
    (void)state;
    static const unsigned depths[] = {3, 5, 0, 200, 255, 1, 64, 63, 2};
    struct tree *tree = calloc(1, sizeof *tree);
    struct slice_order order;

    slice_order_init(&order, keep, tree);
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        const struct slice slice = {.start_ns = 5, .end_ns = 5 + (int64_t)(i % 2)};
        slice_order_add(&order, &slice, depths[i]);
    }
    slice_order_flush(&order);
    assert_int_equal(tree->edge_count, 2 * sizeof depths / sizeof depths[0]);
    slice_order_release(&order);
    free(tree);
}

static void count(void *context, const struct slice_edge *edge)
{
    (void)edge;
    ++*(size_t *)context;
}

static void too_many_at_one_time_are_not_kept(void **state)
{
    (void)state;
    const size_t spans = 10 * (size_t)SLICE_HELD_MOST;
    struct slice_order order;
    size_t edges = 0;

    slice_order_init(&order, count, &edges);
    for (size_t i = 0; i < spans; i++) {
        const struct slice slice = {.start_ns = 5, .end_ns = 5};
        slice_order_add(&order, &slice, 1);
        assert_true(order.levels[1].capacity <= 2 * (size_t)SLICE_HELD_MOST);
    }
    slice_order_flush(&order);
    assert_int_equal(edges, 2 * spans);
    slice_order_release(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_with_equal_times_nest),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(too_many_at_one_time_are_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
