#include "notes.h"

#include <string.h>

#include "run_dir.h"
#include "session.h"

static struct pen *pen_for_note(uint64_t *now)
{
    struct pen *pen = gate_now() == GATE_OFF ? NULL : session_pen();
    *now = pen ? ticks_now(pen->lane->session->clock) : 0;
    return pen;
}

uint32_t notes_recording(void)
{
    const int32_t now = gate_now();
    return now >= GATE_FIRST && now < GATE_BUSY ? (uint32_t)now : 0;
}

void notes_fact(const char *key, const char *value)
{
    run_dir_also(key, value);
}

void notes_rank(int rank, int world)
{
    session_set_rank(rank, world);
}

void notes_hook(const char *target, const char *reason)
{
    struct ss_rec_text hook = {.head = {.kind = SS_KIND_HOOK}};
    struct pen *pen = pen_for_note(&hook.ticks);
    hook.head.flags = reason ? SS_FLAG_FAILED : 0;
    if (pen && !pen_put_text(pen, &hook, target, reason))
        pen_lose(pen, -1, hook.ticks);
}

bool notes_frame(const struct ss_rec_frame *frame, const char *function, const char *file)
{
    return session_put_frame(frame, function, file);
}

void notes_sample(uint32_t tid, ss_ticks when, const uint32_t *frames, unsigned count)
{
    unsigned char bytes[SS_MAX_UNITS * SS_UNIT];
    struct ss_rec_sample sample = {.head = {.kind = SS_KIND_SAMPLE}, .ticks = when, .tid = tid};
    uint64_t now;
    struct pen *pen = pen_for_note(&now);
    if (!pen)
        return;
    count = count < NOTES_FRAMES_MAX ? count : NOTES_FRAMES_MAX;
    sample.frames = (uint16_t)count;
    const size_t fixed = offsetof(struct ss_rec_sample, frame);
    const size_t size = fixed + count * sizeof *frames;
    const unsigned units = (unsigned)((size + SS_UNIT - 1) / SS_UNIT);
    memcpy(bytes, &sample, fixed);
    memcpy(bytes + fixed, frames, count * sizeof *frames);
    memset(bytes + size, 0, (size_t)units * SS_UNIT - size);
    if (!pen_put(pen, bytes, units))
        pen_lose(pen, -1, now);
}

void notes_perturbed(ss_ticks start, ss_ticks end, enum ss_perturbation reason)
{
    struct ss_rec_span window = {.head = {.kind = SS_KIND_PERTURBED},
                                 .start_ticks = start,
                                 .end_ticks = end > start ? end : start,
                                 .arg = reason};
    uint64_t now;
    struct pen *pen = pen_for_note(&now);
    if (pen && !pen_put(pen, &window, 1))
        pen_lose(pen, -1, now);
}

static void put_point(struct ss_rec_point point)
{
    uint64_t now;
    struct pen *pen = pen_for_note(&now);
    if (pen && !pen_put(pen, &point, 1))
        pen_lose(pen, -1, now);
}

void notes_clock(ss_ticks when, uint64_t waited_ns, uint64_t others_ns)
{
    put_point((struct ss_rec_point){
        .head = {.kind = SS_KIND_CLOCK}, .ticks = when, .value = waited_ns, .subject = others_ns});
}

void notes_arm(ss_ticks when, ss_name name, unsigned flags, uint64_t round)
{
    put_point((struct ss_rec_point){
        .head = {.kind = SS_KIND_ARM, .name = SS_NAME_ID(name), .flags = (uint16_t)flags},
        .ticks = when,
        .value = round});
}
