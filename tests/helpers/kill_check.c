/* Checks a run of kill_writer that was killed against what its threads had said.
 *
 *     kill_check RUN AREA
 *
 * Prints the first contradiction and fails, or prints
 *     returned CALLS ended SPANS read SPANS lost SPANS in_flight SPANS open SPANS
 * for all threads together: calls that had returned, spans that these had ended, what came back,
 * what the recorder counted as dropped, what had been recorded by calls that had not yet returned,
 * and spans that were open. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kill_pattern.h"
#include "stepscope/reader.h"

struct level {
    unsigned name, flags, nest;
    bool start_known; /* a switch began it: at `start_ns` exactly, otherwise not before */
    ss_ns start_ns;
    ss_ns first_child_ns;
};

/* A thread, as it must have been after this many calls. */
struct replay {
    unsigned thread;
    uint64_t calls;
    uint64_t ended;
    unsigned depth;
    struct level stack[KILL_LEVELS];
    ss_ns last_end_ns;
    bool last_end_known;
};

struct totals {
    uint64_t returned, ended, read, lost, in_flight, open;
};

static struct ss_run *run;

static void fail(const struct replay *replay, const char *format, ...)
{
    va_list arguments;

    printf("thread %u, call %llu: ", replay->thread, (unsigned long long)replay->calls);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    exit(1);
}

static bool text_is(struct ss_text text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

static void begin(struct replay *replay, const struct kill_call *call, bool is_switch)
{
    const unsigned depth = replay->depth++;
    unsigned nest = 0;

    if (depth > 0) {
        const struct level *outer = &replay->stack[depth - 1];
        const enum ss_stage stage = KILL_NAME[outer->name].stage;
        nest = SS_NEST_OPEN | stage | (outer->nest & (SS_NEST_CLOSED | SS_NEST_OPAQUE)) |
               (SS_STAGE_IS_CLOSED(stage) ? SS_NEST_CLOSED : 0u) |
               (stage == SS_STAGE_USER ? 0u : SS_NEST_OPAQUE);
    }
    replay->stack[depth] = (struct level){.name = call->name,
                                          .flags = call->flags,
                                          .nest = nest,
                                          .start_known = is_switch && replay->last_end_known,
                                          .start_ns = replay->last_end_ns,
                                          .first_child_ns = INT64_MAX};
}

/* Is `record` the span that is open at this depth? Flags of the call that ends it come on top. */
static void check_span(const struct replay *replay, unsigned depth, unsigned flags,
                       const struct ss_record *record)
{
    const struct level *level = &replay->stack[depth];
    const struct ss_name_info *name =
        ss_run_name(run, ss_run_lane(run, record->lane)->process, record->name);

    if (!text_is(name->text, KILL_NAME[level->name].text))
        fail(replay, "the name is %.*s, not %s", (int)name->text.size, name->text.data,
             KILL_NAME[level->name].text);
    if (record->stage != KILL_NAME[level->name].stage || record->depth != depth ||
        record->nest != level->nest || record->flags != (level->flags | flags))
        fail(replay, "stage %u, depth %u, nest %#x or flags %#x is wrong", record->stage,
             record->depth, record->nest, record->flags);
    if (record->start_ns < level->start_ns ||
        (level->start_known && record->start_ns != level->start_ns))
        fail(replay, "it began %lld ns off", (long long)(record->start_ns - level->start_ns));
    if (record->start_ns > level->first_child_ns)
        fail(replay, "it began after a span inside it");
    if (record->end_ns < record->start_ns || record->end_ns < replay->last_end_ns)
        fail(replay, "it ended before it began, or before the one before it");
}

/* Goes on to the call that ends a span and makes it; record: what it recorded, NULL if that was
 * dropped. */
static void end_next_span(struct replay *replay, const struct ss_record *record)
{
    const struct kill_call *call = &KILL_CALL[replay->calls % KILL_CALLS];

    for (; call->verb == KILL_BEGIN; call = &KILL_CALL[replay->calls % KILL_CALLS]) {
        begin(replay, call, false);
        replay->calls++;
    }
    const unsigned depth = replay->depth - 1;
    if (record) {
        const int64_t argument =
            call->verb == KILL_END ? kill_argument(replay->thread, replay->calls) : 0;
        check_span(replay, depth, call->verb == KILL_END ? call->flags : 0, record);
        if (record->u.arg != argument)
            fail(replay, "the argument is %lld, not %lld", (long long)record->u.arg,
                 (long long)argument);
        if (depth > 0 && record->start_ns < replay->stack[depth - 1].first_child_ns)
            replay->stack[depth - 1].first_child_ns = record->start_ns;
        replay->last_end_ns = record->end_ns;
    }
    replay->last_end_known = record != NULL;
    replay->depth--;
    replay->ended++;
    if (call->verb == KILL_SWITCH)
        begin(replay, call, true);
    replay->calls++;
}

/* Replays begins up to the number of calls; the spans that they open are open now. */
static void begin_up_to(struct replay *replay, uint64_t calls)
{
    for (; replay->calls < calls; replay->calls++) {
        const struct kill_call *call = &KILL_CALL[replay->calls % KILL_CALLS];
        if (call->verb != KILL_BEGIN)
            fail(replay, "a call that returned ended a span, which did not come back");
        begin(replay, call, false);
    }
}

/* What the lane shows as open must be what the thread had open after the calls that returned, or
 * after the one that it was in when it died. */
static void check_open(struct replay *replay, uint64_t returned, const struct ss_record *open,
                       size_t count, bool dropped)
{
    if (replay->calls > returned + 1)
        fail(replay, "only %llu calls had returned", (unsigned long long)returned);
    if (replay->calls <= returned) {
        begin_up_to(replay, returned);
        const struct kill_call *next = &KILL_CALL[returned % KILL_CALLS];
        if (count == replay->depth + 1 && next->verb == KILL_BEGIN)
            begin_up_to(replay, returned + 1);
    }
    const struct kill_call *last = &KILL_CALL[(replay->calls + KILL_CALLS - 1) % KILL_CALLS];
    const bool under_way = replay->calls == returned + 1;
    /* Inside a switch the old span may be gone and the new one not yet there; inside an end whose
     * span was dropped, the span may still be there. */
    if (under_way && last->verb == KILL_SWITCH && count + 1 == replay->depth)
        replay->depth--;
    if (under_way && dropped && count > 0 && count >= replay->depth && count <= replay->depth + 1)
        return;
    if (count != replay->depth)
        fail(replay, "%zu spans are open, not %u", count, replay->depth);
    for (size_t i = 0; i < count; i++)
        check_span(replay, (unsigned)i, SS_FLAG_UNFINISHED, &open[i]);
}

/* `open` gets the spans that were open, outermost first; returns how many. */
static size_t replay_lane(struct replay *replay, size_t lane, struct totals *totals,
                          struct ss_record open[SS_STACK_DEPTH], uint64_t *dropped)
{
    struct ss_cursor *cursor = ss_cursor_new(run, lane);
    struct ss_record record;
    size_t count = 0;
    uint64_t told = 0; /* by LOST records */

    if (!cursor)
        fail(replay, "out of memory");
    while (ss_cursor_next(cursor, &record)) {
        if (record.kind == SS_KIND_LOST)
            for (told += (uint64_t)record.u.arg; record.u.arg > 0; record.u.arg--)
                end_next_span(replay, NULL);
        if (record.kind != SS_KIND_SPAN)
            continue;
        if (record.flags & SS_FLAG_UNFINISHED) {
            memmove(open + 1, open, count++ * sizeof *open);
            open[0] = record; /* they come innermost first */
        } else if (count > 0) {
            fail(replay, "a span ended after what was open at the end");
        } else {
            end_next_span(replay, &record);
            totals->read++;
        }
    }
    ss_cursor_free(cursor);
    const uint64_t lost = ss_run_lane(run, lane)->lost_records;
    if (lost < told)
        fail(replay, "%llu lost, but LOST records say %llu", (unsigned long long)lost,
             (unsigned long long)told);
    *dropped = lost - told;
    for (uint64_t i = 0; i < *dropped; i++)
        end_next_span(replay, NULL);
    totals->lost += lost;
    return count;
}

static uint64_t spans_ended_by(uint64_t calls)
{
    uint64_t spans = calls / KILL_CALLS * KILL_SPANS;

    for (uint64_t i = 0; i < calls % KILL_CALLS; i++)
        spans += KILL_CALL[i].verb != KILL_BEGIN;
    return spans;
}

/* The lane of a thread, 0 if it has none. */
static size_t lane_of(uint32_t tid)
{
    for (size_t i = 1; i < ss_run_lanes(run); i++)
        if (tid && ss_run_lane(run, i)->tid == tid)
            return i;
    return 0;
}

static void check_thread(const struct kill_area *area, unsigned thread, struct totals *totals)
{
    struct ss_record open[SS_STACK_DEPTH];
    struct replay replay = {.thread = thread, .last_end_ns = INT64_MIN};
    const uint64_t returned = area->thread[thread].calls;
    const size_t lane = lane_of(area->thread[thread].tid);
    uint64_t dropped = 0;

    if (lane == 0) {
        if (returned > 0)
            fail(&replay, "it has no lane, but %llu calls had returned",
                 (unsigned long long)returned);
        return;
    }
    const size_t count = replay_lane(&replay, lane, totals, open, &dropped);
    const uint64_t ended = spans_ended_by(returned);
    if (replay.ended < ended || replay.ended > ended + 1)
        fail(&replay, "%llu spans came back or were counted as lost, %llu had ended",
             (unsigned long long)replay.ended, (unsigned long long)ended);
    totals->returned += returned;
    totals->ended += ended;
    totals->in_flight += replay.ended - ended;
    totals->open += count;
    check_open(&replay, returned, open, count, dropped > 0);
}

/* A writer that was killed while it started has a run, a part of one, or none. */
static int check_without_run(const struct kill_area *area, const char *why)
{
    if (area->ready) {
        printf("the recorder was on, but the run cannot be read: %s\n", why);
        return 1;
    }
    printf("returned 0 ended 0 read 0 lost 0 in_flight 0 open 0\n");
    return 0;
}

int main(int argc, char **argv)
{
    struct ss_error error;
    struct totals totals = {0};
    const struct kill_area *area = argc == 3 ? kill_area_map(argv[2]) : NULL;

    if (!area) {
        fprintf(stderr, "usage: kill_check RUN AREA\n");
        return 2;
    }
    run = ss_run_open(argv[1], &error);
    if (!run || ss_run_processes(run) == 0)
        return check_without_run(area, run ? "it has no process" : error.message);
    if (ss_run_process(run, 0)->end != SS_END_KILLED) {
        printf("it does not look killed: %d\n", ss_run_process(run, 0)->end);
        return 1;
    }
    for (unsigned i = 0; i < KILL_THREADS; i++)
        check_thread(area, i, &totals);
    if (ss_run_losses(run) > 0) {
        printf("%zu parts of the run are damaged\n", ss_run_losses(run));
        return 1;
    }
    printf("returned %llu ended %llu read %llu lost %llu in_flight %llu open %llu\n",
           (unsigned long long)totals.returned, (unsigned long long)totals.ended,
           (unsigned long long)totals.read, (unsigned long long)totals.lost,
           (unsigned long long)totals.in_flight, (unsigned long long)totals.open);
    ss_run_close(run);
    return 0;
}
