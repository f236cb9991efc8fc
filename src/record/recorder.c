/* The public calls. Each has a fast path (this thread has a lane of the present recording, with
 * room in it) and falls back to session_pen() for everything else. */
#include "stepscope/recorder.h"

#include <string.h>

#include "base/compiler.h"
#include "base/redact.h"
#include "secrets.h"
#include "session.h"

static uint64_t now_of(const struct pen *pen)
{
    return ticks_now(pen->lane->session->clock);
}

ATTR_NOINLINE static void begin_slow(ss_name name, unsigned flags)
{
    struct pen *pen = session_pen();
    if (pen)
        pen_begin_slow(pen, name, flags, pen->lane->session->clock);
}

void ss_begin(ss_name name, unsigned flags)
{
    struct pen *pen = &session_tls;
    const int32_t now = gate_now();
    if (now == GATE_OFF)
        return;
    if (LIKELY(pen->fast_gate == now && pen_can_begin(pen)))
        pen_begin(pen, name, flags, SS_CLOCK_TSC);
    else
        begin_slow(name, flags);
}

ATTR_NOINLINE static void end_slow(unsigned flags, int64_t arg)
{
    /* session_pen() may wait; that is not part of the span. */
    const uint64_t now = session_tls.lane ? now_of(&session_tls) : 0;
    struct pen *pen = session_pen();
    if (pen)
        pen_end_slow(pen, now ? now : now_of(pen), flags, arg);
}

void ss_end(unsigned flags, int64_t arg)
{
    struct pen *pen = &session_tls;
    const int32_t now = gate_now();
    if (LIKELY(pen->fast_gate == now && pen_can_end(pen)))
        pen_end(pen, ticks_counter(), flags, arg);
    else if (now != GATE_OFF)
        end_slow(flags, arg);
}

ATTR_NOINLINE static void switch_slow(ss_name next, unsigned flags)
{
    struct pen *pen = session_pen();
    if (pen)
        pen_switch_slow(pen, next, flags, pen->lane->session->clock);
}

void ss_switch(ss_name next, unsigned flags)
{
    struct pen *pen = &session_tls;
    const int32_t now = gate_now();
    if (LIKELY(pen->fast_gate == now && pen_can_end(pen)))
        pen_switch(pen, next, flags, SS_CLOCK_TSC);
    else if (now != GATE_OFF)
        switch_slow(next, flags);
}

/* The pen for a record that is not a span; NULL: off. */
static struct pen *pen_for_record(void)
{
    return gate_now() == GATE_OFF ? NULL : session_pen();
}

ss_ticks ss_now(void)
{
    const struct pen *pen = pen_for_record();
    return pen ? now_of(pen) : 0;
}

ss_ticks ss_ticks_of_ns(int64_t duration_ns)
{
    const struct pen *pen = pen_for_record();
    if (!pen || duration_ns <= 0)
        return 0;
    const uint64_t rate = pen->lane->session->ticks_per_s;
    return (ss_ticks)((unsigned __int128)(uint64_t)duration_ns * rate / 1000000000u);
}

static uint64_t within(uint64_t ticks, uint64_t low, uint64_t high)
{
    return ticks < low ? low : ticks > high ? high : ticks;
}

void ss_append(ss_name name, ss_ticks start, ss_ticks end, unsigned flags, int64_t arg)
{
    struct pen *pen = pen_for_record();
    if (!pen)
        return;
    /* Readers take times before the start, or far ahead, for damage. */
    const uint64_t first = pen->lane->session->first.ticks;
    const uint64_t now = now_of(pen);
    start = within(start, first, now);
    struct ss_rec_span span = {.head = {.kind = SS_KIND_SPAN, .name = SS_NAME_ID(name)},
                               .start_ticks = start,
                               .end_ticks = within(end, start, now),
                               .arg = arg};
    span.head.flags = (uint16_t)(flags | SS_FLAG_APPENDED);
    if (!pen_put(pen, &span, 1))
        pen_lose(pen, SS_NAME_NEST(name) & SS_NEST_STAGE, now);
}

static void put(const void *record, unsigned units, struct pen *pen, uint64_t now)
{
    if (!pen_put(pen, record, units))
        pen_lose(pen, -1, now);
}

ATTR_NOINLINE static void put_point_slow(enum ss_kind kind, ss_name name, unsigned flags,
                                         uint64_t value)
{
    struct pen *pen = pen_for_record();
    if (pen) {
        struct ss_rec_point point = {.head = {.kind = (uint8_t)kind, .name = SS_NAME_ID(name)},
                                     .ticks = now_of(pen),
                                     .value = value};
        point.head.flags = (uint16_t)flags;
        put(&point, 1, pen, point.ticks);
    }
}

static void put_point(enum ss_kind kind, ss_name name, unsigned flags, uint64_t value)
{
    struct pen *pen = &session_tls;
    if (LIKELY(pen->fast_gate == gate_now() && pen->cursor < pen->limit))
        pen_write_point(pen, kind, name, flags, ticks_counter(), value);
    else
        put_point_slow(kind, name, flags, value);
}

void ss_step(uint64_t samples)
{
    put_point(SS_KIND_STEP, 0, 0, samples);
}

void ss_loop_begin(ss_name loop)
{
    put_point(SS_KIND_LOOP_BEGIN, loop, 0, 0);
}

void ss_loop_end(unsigned flags)
{
    put_point(SS_KIND_LOOP_END, 0, flags, 0);
}

void ss_epoch_begin(uint64_t epoch)
{
    put_point(SS_KIND_EPOCH_BEGIN, 0, 0, epoch);
}

void ss_epoch_end(unsigned flags)
{
    put_point(SS_KIND_EPOCH_END, 0, flags, 0);
}

void ss_counter(ss_name name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_point(SS_KIND_COUNTER, name, 0, bits);
}

/* Alone has such a frame: the stack of a thread may be small. */
ATTR_NOINLINE static bool put_safely(struct pen *pen, const struct ss_rec_text *mark,
                                     const char *text)
{
    char room[SS_MAX_UNITS * SS_UNIT];
    return pen_put_text(pen, mark, secrets_hide(text, room, sizeof room), NULL);
}

void ss_mark(ss_name name, const char *text)
{
    struct pen *pen = pen_for_record();
    if (!pen)
        return;
    struct ss_rec_text mark = {.head = {.kind = SS_KIND_MARK, .name = SS_NAME_ID(name)},
                               .ticks = now_of(pen)};
    const bool done = text && redact_may_change(text) ? put_safely(pen, &mark, text)
                                                      : pen_put_text(pen, &mark, text, NULL);
    if (!done)
        pen_lose(pen, -1, mark.ticks);
}

void ss_plan(uint64_t steps, uint64_t epochs, uint64_t steps_per_epoch, uint64_t batch)
{
    struct pen *pen = pen_for_record();
    if (!pen)
        return;
    struct ss_rec_plan plan = {.head = {.kind = SS_KIND_PLAN},
                               .ticks = now_of(pen),
                               .steps = steps,
                               .epochs = epochs,
                               .steps_per_epoch = steps_per_epoch,
                               .batch = batch};
    put(&plan, 2, pen, plan.ticks);
}

ATTR_NOINLINE static uint32_t intern_safely(const struct name *name)
{
    char text[NAMES_TEXT_MAX + 1], object[NAMES_TEXT_MAX + 1];
    struct name safe = *name;
    safe.text = secrets_hide(name->text, text, sizeof text);
    safe.object = secrets_hide(name->object, object, sizeof object);
    return session_intern(&safe);
}

ss_name ss_intern(const char *text, enum ss_stage stage, enum ss_role role, enum ss_scope scope,
                  const char *object)
{
    const struct name name = {
        .text = text ? text : "",
        .object = object ? object : "",
        .stage = (unsigned)stage < SS_STAGE_COUNT ? (uint8_t)stage : SS_STAGE_OTHER,
        .role = (unsigned)role < SS_ROLE_COUNT ? (uint8_t)role : SS_ROLE_NONE,
        .scope = (unsigned)scope < SS_SCOPE_COUNT ? (uint8_t)scope : SS_SCOPE_NONE};
    const bool may_change = redact_may_change(name.text) || redact_may_change(name.object);
    const uint32_t id = may_change ? intern_safely(&name) : session_intern(&name);
    return id | (ss_name)names_nest(name.stage) << 16;
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
