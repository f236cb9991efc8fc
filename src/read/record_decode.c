#include "read/record_decode.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "runs are little-endian and read as they are");

enum { TEXT_OFFSET = 24 }; /* where texts and frames start */

enum record_shape {
    SHAPE_TICKS = 1 << 0,
    SHAPE_WINDOW = 1 << 1, /* start and end */
    SHAPE_TEXT = 1 << 2,   /* bytes of a text at 20 */
    SHAPE_TEXTS = 1 << 3,  /* and of a second one at 22 */
    SHAPE_FRAMES = 1 << 4, /* number of frames at 20 */
};

static const uint8_t shapes[SS_KIND_COUNT] = {
    [SS_KIND_SPAN] = SHAPE_TICKS | SHAPE_WINDOW,
    [SS_KIND_STEP] = SHAPE_TICKS,
    [SS_KIND_LOOP_BEGIN] = SHAPE_TICKS,
    [SS_KIND_LOOP_END] = SHAPE_TICKS,
    [SS_KIND_EPOCH_BEGIN] = SHAPE_TICKS,
    [SS_KIND_EPOCH_END] = SHAPE_TICKS,
    [SS_KIND_COUNTER] = SHAPE_TICKS,
    [SS_KIND_MARK] = SHAPE_TICKS | SHAPE_TEXT,
    [SS_KIND_PLAN] = SHAPE_TICKS,
    [SS_KIND_CALIBRATION] = SHAPE_TICKS,
    [SS_KIND_SAMPLE] = SHAPE_TICKS | SHAPE_FRAMES,
    [SS_KIND_FRAME] = SHAPE_TEXT | SHAPE_TEXTS,
    [SS_KIND_HOOK] = SHAPE_TICKS | SHAPE_TEXT | SHAPE_TEXTS,
    [SS_KIND_PERTURBED] = SHAPE_TICKS | SHAPE_WINDOW,
    [SS_KIND_SYSTEM] = SHAPE_TICKS,
    [SS_KIND_NAME] = SHAPE_TEXT | SHAPE_TEXTS,
    [SS_KIND_INFO] = SHAPE_TEXT | SHAPE_TEXTS,
    [SS_KIND_THREAD_BEGIN] = SHAPE_TICKS | SHAPE_TEXT,
    [SS_KIND_THREAD_END] = SHAPE_TICKS,
    [SS_KIND_LOST] = SHAPE_TICKS | SHAPE_WINDOW,
    [SS_KIND_CLOCK] = SHAPE_TICKS,
    [SS_KIND_ARM] = SHAPE_TICKS,
};

#define FEWEST_UNITS(id, number, text, units) [number] = (units),
static const uint8_t fewest_units[SS_KIND_COUNT] = {SS_KINDS(FEWEST_UNITS)};

static size_t tail_bytes(const uint8_t *unit, unsigned shape)
{
    size_t bytes = 0;

    if (shape & SHAPE_TEXT)
        bytes += load_u16(unit + 20);
    if (shape & SHAPE_TEXTS)
        bytes += load_u16(unit + 22);
    if (shape & SHAPE_FRAMES)
        bytes += (size_t)load_u16(unit + 20) * sizeof(uint32_t);
    return bytes;
}

static enum record_verdict judge_ticks(const uint8_t *unit, unsigned shape,
                                       const struct tick_range *range)
{
    const uint64_t first = load_u64(unit + 8);
    const uint64_t last = shape & SHAPE_WINDOW ? load_u64(unit + 16) : first;

    if (last < first || first < range->earliest)
        return RECORD_BAD;
    return last > range->latest ? RECORD_LATE : RECORD_GOOD;
}

enum record_verdict record_judge(const uint8_t *unit, uint64_t room, const struct tick_range *range)
{
    const unsigned kind = record_kind(unit);
    const size_t bytes = record_bytes(unit);

    if (load_u64(unit) == 0)
        return RECORD_NONE;
    if (kind == 0 || bytes == 0 || bytes > room)
        return RECORD_BAD;
    if (kind >= SS_KIND_COUNT)
        return RECORD_UNKNOWN;

    const unsigned shape = shapes[kind];
    if (bytes < (size_t)fewest_units[kind] * SS_UNIT ||
        tail_bytes(unit, shape) > bytes - TEXT_OFFSET)
        return RECORD_BAD;
    return shape & SHAPE_TICKS ? judge_ticks(unit, shape, range) : RECORD_GOOD;
}

bool record_is_window(unsigned kind)
{
    return kind < SS_KIND_COUNT && (shapes[kind] & SHAPE_WINDOW);
}

bool record_ticks(const uint8_t *unit, uint64_t *ticks)
{
    const unsigned shape = shapes[record_kind(unit)];

    if (!(shape & SHAPE_TICKS))
        return false;
    *ticks = load_u64(unit + (shape & SHAPE_WINDOW ? 16 : 8));
    return true;
}

uint8_t known_stage(uint8_t stage)
{
    return stage < SS_STAGE_COUNT ? stage : (uint8_t)SS_STAGE_OTHER;
}

static void decode_texts(const uint8_t *whole, struct ss_record *out)
{
    const unsigned shape = shapes[record_kind(whole)];
    const char *const texts = (const char *)whole + TEXT_OFFSET;
    const size_t a = load_u16(whole + 20);
    const size_t b = shape & SHAPE_TEXTS ? load_u16(whole + 22) : 0;

    out->u.text.a = (struct ss_text){texts, a};
    out->u.text.b = (struct ss_text){texts + a, b};
    out->u.text.id = 0;
    out->u.text.line = 0;
    out->u.text.traits = 0;
    out->u.text.body = 0;
}

static void decode_words(const uint8_t *whole, struct ss_record *out)
{
    const uint8_t role = whole[9], scope = whole[10];

    out->stage = known_stage(whole[8]);
    out->role = role < SS_ROLE_COUNT ? role : (uint8_t)SS_ROLE_NONE;
    out->scope = scope < SS_SCOPE_COUNT ? scope : (uint8_t)SS_SCOPE_NONE;
}

static void decode_with_texts(const uint8_t *whole, struct ss_record *out)
{
    const unsigned kind = record_kind(whole);

    decode_texts(whole, out);
    if (kind == SS_KIND_NAME) {
        decode_words(whole, out);
    } else if (kind == SS_KIND_FRAME) {
        out->u.text.id = load_u32(whole + 12);
        out->u.text.line = load_u32(whole + 16);
        out->u.text.traits = whole[8];
        out->u.text.body = load_u16(whole + 10);
    } else if (kind == SS_KIND_THREAD_BEGIN) {
        out->u.text.id = load_u32(whole + 16);
    }
}

static void decode_sample(const uint8_t *whole, struct ss_record *out)
{
    out->tid = load_u32(whole + 16);
    out->u.sample.frame = (const uint32_t *)(const void *)(whole + TEXT_OFFSET);
    out->u.sample.frames = load_u16(whole + 20);
}

void record_decode(const uint8_t *whole, struct ss_record *out)
{
    const unsigned kind = record_kind(whole);

    if (shapes[kind] & SHAPE_TEXT) {
        decode_with_texts(whole, out);
        return;
    }
    switch (kind) {
    case SS_KIND_SPAN:
    case SS_KIND_PERTURBED:
    case SS_KIND_LOST:
        out->u.arg = (int64_t)load_u64(whole + 24);
        break;
    case SS_KIND_STEP:
    case SS_KIND_EPOCH_BEGIN:
    case SS_KIND_ARM:
        out->u.samples = load_u64(whole + 16);
        break;
    case SS_KIND_CLOCK:
        out->u.waited_ns = load_u64(whole + 16);
        out->subject = load_u64(whole + 24);
        break;
    case SS_KIND_SYSTEM:
        out->subject = load_u64(whole + 24);
        memcpy(&out->u.value, whole + 16, sizeof out->u.value);
        break;
    case SS_KIND_COUNTER:
        memcpy(&out->u.value, whole + 16, sizeof out->u.value);
        break;
    case SS_KIND_PLAN:
        memcpy(out->u.plan, whole + 16, sizeof out->u.plan);
        break;
    case SS_KIND_CALIBRATION:
        memcpy(out->u.clocks, whole + 16, sizeof out->u.clocks);
        break;
    case SS_KIND_SAMPLE:
        decode_sample(whole, out);
        break;
    default: /* LOOP_*, EPOCH_END, THREAD_END say no more than their head and time */
        memset(&out->u, 0, sizeof out->u);
        break;
    }
}
