/* The public calls. Each has a fast path (recording, with the counter as clock, and a lane that
 * has room) and falls back to session_lane() for everything else. */
#include "stepscope/recorder.h"

#include "base/compiler.h"
#include "lane.h"
#include "session.h"
#include <string.h>

static inline int mode(void)
{
    return atomic_load_explicit(&session_mode, memory_order_relaxed);
}

static uint64_t now_on(const struct lane *lane)
{
    return session_now(lane->session);
}

ATTR_NOINLINE static void begin_slow(ss_name name, unsigned flags)
{
    struct lane *lane = session_lane();
    if (lane) {
        lane_begin_slow(lane, name, flags,
                        mode() == MODE_COUNTER ? SS_CLOCK_TSC : SS_CLOCK_RAW);
    }
}

void ss_begin(ss_name name, unsigned flags)
{
    if (UNLIKELY(mode() != MODE_COUNTER)) {
        if (mode() != MODE_OFF) {
            begin_slow(name, flags);
        }
        return;
    }
    struct lane *lane = session_tls;
    if (LIKELY(lane_can_begin(lane))) {
        lane_begin(lane, name, flags, SS_CLOCK_TSC);
    } else {
        begin_slow(name, flags);
    }
}

ATTR_NOINLINE static void end_slow(unsigned flags, int64_t arg)
{
    struct lane *lane = session_lane();
    if (lane) {
        lane_end_slow(lane, now_on(lane), flags, arg);
    }
}

void ss_end(unsigned flags, int64_t arg)
{
    if (UNLIKELY(mode() != MODE_COUNTER)) {
        if (mode() != MODE_OFF) {
            end_slow(flags, arg);
        }
        return;
    }
    const uint64_t now = ticks_counter();
    struct lane *lane = session_tls;
    if (LIKELY(lane_can_end(lane))) {
        lane_end(lane, now, flags, arg);
    } else {
        end_slow(flags, arg);
    }
}

ATTR_NOINLINE static void switch_slow(ss_name next, unsigned flags)
{
    end_slow(0, 0);
    begin_slow(next, flags);
}

void ss_switch(ss_name next, unsigned flags)
{
    if (UNLIKELY(mode() != MODE_COUNTER)) {
        if (mode() != MODE_OFF) {
            switch_slow(next, flags);
        }
        return;
    }
    const uint64_t now = ticks_counter();
    struct lane *lane = session_tls;
    if (LIKELY(lane_can_end(lane))) {
        lane_write_span(lane, now, 0, 0);
        lane_reopen(lane, now, next, flags);
    } else {
        switch_slow(next, flags);
    }
}

/* The lane for a record that is not a span; NULL: off. */
static struct lane *lane_for_record(void)
{
    return mode() == MODE_OFF ? NULL : session_lane();
}

ss_ticks ss_now(void)
{
    if (mode() == MODE_COUNTER) {
        return ticks_counter();
    }
    const struct lane *lane = lane_for_record();
    return lane ? now_on(lane) : 0;
}

ss_ticks ss_ticks_of_ns(int64_t duration_ns)
{
    return session_ticks_of_ns(duration_ns);
}

void ss_append(ss_name name, ss_ticks start, ss_ticks end, unsigned flags, int64_t arg)
{
    struct lane *lane = lane_for_record();
    if (!lane) {
        return;
    }
    const uint64_t first = session_store(lane->session)->header->start_ticks;
    struct ss_rec_span span = {.head = {.kind = SS_KIND_SPAN, .name = SS_NAME_ID(name)},
                               .start_ticks = start < first ? first : start,
                               .end_ticks = end < start ? start : end,
                               .arg = arg};
    span.end_ticks = span.end_ticks < first ? first : span.end_ticks;
    span.head.flags = (uint16_t)(flags | SS_FLAG_APPENDED);
    if (!lane_put_units(lane, &span, 1, false)) {
        lane_lose(lane, SS_NAME_NEST(name) & SS_NEST_STAGE, now_on(lane));
    }
}

static void put(unsigned kind, ss_name name, unsigned flags, uint64_t value)
{
    struct lane *lane = lane_for_record();
    if (lane) {
        lane_put_point(lane, kind, name, flags, now_on(lane), value, 0);
    }
}

void ss_step(uint64_t samples)
{
    put(SS_KIND_STEP, 0, 0, samples);
}

void ss_loop_begin(ss_name loop)
{
    put(SS_KIND_LOOP_BEGIN, loop, 0, 0);
}

void ss_loop_end(unsigned flags)
{
    put(SS_KIND_LOOP_END, 0, flags, 0);
}

void ss_epoch_begin(uint64_t epoch)
{
    put(SS_KIND_EPOCH_BEGIN, 0, 0, epoch);
}

void ss_epoch_end(unsigned flags)
{
    put(SS_KIND_EPOCH_END, 0, flags, 0);
}

void ss_counter(ss_name name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(SS_KIND_COUNTER, name, 0, bits);
}

void ss_mark(ss_name name, const char *text)
{
    struct lane *lane = lane_for_record();
    if (!lane) {
        return;
    }
    struct ss_rec_text mark = {.head = {.kind = SS_KIND_MARK, .name = SS_NAME_ID(name)},
                               .ticks = now_on(lane)};
    if (!lane_put_text(lane, &mark, text, NULL, false)) {
        lane_lose(lane, -1, mark.ticks);
    }
}

void ss_plan(uint64_t steps, uint64_t epochs, uint64_t steps_per_epoch, uint64_t batch)
{
    struct lane *lane = lane_for_record();
    if (!lane) {
        return;
    }
    struct ss_rec_plan plan = {.head = {.kind = SS_KIND_PLAN},
                               .ticks = now_on(lane),
                               .steps = steps,
                               .epochs = epochs,
                               .steps_per_epoch = steps_per_epoch,
                               .batch = batch};
    if (!lane_put_units(lane, &plan, 2, false)) {
        lane_lose(lane, -1, plan.ticks);
    }
}

ss_name ss_intern(const char *text, enum ss_stage stage, enum ss_role role,
                  enum ss_scope scope, const char *object)
{
    const struct name name = {
        .text = text ? text : "",
        .object = object ? object : "",
        .stage = (unsigned)stage < SS_STAGE_COUNT ? (uint8_t)stage : SS_STAGE_OTHER,
        .role = (unsigned)role < SS_ROLE_COUNT ? (uint8_t)role : SS_ROLE_NONE,
        .scope = (unsigned)scope < SS_SCOPE_COUNT ? (uint8_t)scope : SS_SCOPE_NONE};
    unsigned nest = name.stage | (SS_STAGE_IS_CLOSED(name.stage) ? SS_NEST_CLOSED : 0u);
    return session_intern(&name) | nest << 16;
}

int ss_start(const struct ss_options *options)
{
    return session_start(options);
}

void ss_stop(void)
{
    session_stop();
}

const char *ss_status(void)
{
    return session_status();
}
