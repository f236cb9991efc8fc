/* Fuzzes the whole path with records: reader, model, summary, diagnosis, text, JSON, page, exports.
 *
 * The input is a row of descriptions of 8 bytes, of which the first is of the run itself:
 *   0  how the process ended         2  losses
 *   1  rank                          3  kind of the second process, of the supervisor or of
 * training and each other is a record, or many steps of a training as they usually are: 0  what it
 * is                    4  nesting, or how many 1  name: stage and role          5  argument, as a
 * power of two 2  lane and process              6  how far the time goes on, as a power of two 3
 * flags                         7  how long it took, the same */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/counter_table.h"
#include "stepscope/counters.h"
#include "support/synth.h"
#include "support/whole_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ROW_BYTES = 8,
    LANES = 3,
    NAMES = SS_STAGE_COUNT * 4,
    ROWS_MOST = 256,
    STEPS_MOST = 300, /* of an input: more of them only take longer */
    FIRST_TICKS = 2000
};

/* What the input says, piece by piece. */
struct maker {
    struct synth *file[2];
    uint64_t now; /* ticks, which are nanoseconds */
    unsigned steps;
};

static const char *const texts[] = {"name",
                                    "",
                                    "<script>alert(1)</script>",
                                    "\x1b[31m\n\xff",
                                    "\"quoted\\",
                                    "../../up",
                                    "a,b;c\td",
                                    "{\"json\": [1}"};
enum { TEXTS = sizeof texts / sizeof *texts };

static uint64_t power(uint8_t exponent)
{
    return exponent % 64 < 62 ? UINT64_C(1) << exponent % 64 : UINT64_MAX;
}

static void make_names(struct synth *file, bool is_supervisor)
{
    char text[64];

    for (unsigned i = 0; is_supervisor && i < SS_COUNTER_IDS; i++)
        synth_name(file, (uint16_t)(i + 1), counter_table[i].text, SS_STAGE_USER, SS_ROLE_NONE,
                   SS_SCOPE_NONE, "");
    for (unsigned i = 0; !is_supervisor && i < NAMES; i++) {
        snprintf(text, sizeof text, "%s %u", texts[i % TEXTS], i);
        synth_name(file, (uint16_t)(i + 1), text, i % SS_STAGE_COUNT, i / SS_STAGE_COUNT,
                   i % SS_SCOPE_COUNT, texts[(i + 3) % TEXTS]);
    }
}

static struct synth *make_file(const uint8_t *row, bool is_second)
{
    struct synth *const file = synth_new();
    struct ss_file_header *const header = synth_header(file);

    header->process_kind = is_second && row[3] % 2 ? SS_PROCESS_SUPERVISOR : SS_PROCESS_TRAINING;
    header->state = row[0] % 3;
    header->rank = (int32_t)(row[1] % 8) - 1 + is_second;
    header->pid += is_second;
    header->error = -(int32_t)(row[2] % 24);
    header->lost_names = row[2] / 32;
    make_names(file, header->process_kind == SS_PROCESS_SUPERVISOR);
    synth_info(file, "command", texts[row[0] % TEXTS]);
    synth_calibration(file, FIRST_TICKS, FIRST_TICKS, FIRST_TICKS + 4000);
    return file;
}

static void go_on(struct maker *maker, uint64_t ticks)
{
    if (__builtin_add_overflow(maker->now, ticks, &maker->now))
        maker->now = UINT64_MAX;
}

/* A name of this stage that says nothing else. */
static uint16_t named(unsigned stage)
{
    return (uint16_t)(stage + 1);
}

static void put_span(struct maker *maker, struct synth *file, uint32_t lane, unsigned stage,
                     uint64_t ticks, unsigned flags)
{
    const struct ss_rec_span span = {
        {.kind = SS_KIND_SPAN, .units = 2, .name = named(stage), .flags = (uint8_t)flags},
        maker->now,
        maker->now + ticks,
        (int64_t)ticks};

    go_on(maker, ticks);
    synth_full_span(file, lane, &span);
}

/* Steps as a training makes them; times vary by the bits of the row. */
static void put_steps(struct maker *maker, struct synth *file, uint32_t lane, const uint8_t *row)
{
    static const uint8_t stages[] = {SS_STAGE_DATA, SS_STAGE_FORWARD, SS_STAGE_BACKWARD,
                                     SS_STAGE_OPTIMIZER};
    const unsigned flags = row[3] % 4 ? SS_FLAG_TRAIN : row[3];

    for (unsigned i = 0; i <= row[4] && maker->steps < STEPS_MOST; i++, maker->steps++) {
        for (size_t k = 0; k < sizeof stages; k++) {
            const unsigned exponent = row[1 + k % 2 * 4] % 28 + (row[7] >> k & 1);
            put_span(maker, file, lane, stages[k],
                     (UINT64_C(1) << exponent) + (i * row[6] * (k + 1)) % 97, flags);
        }
        if (row[3] & 64)
            synth_point(file, lane, SS_KIND_STEP, 0, maker->now, row[5]);
        go_on(maker, 1 + i * row[6]);
    }
}

static void put_record(struct maker *maker, struct synth *file, uint32_t lane, const uint8_t *row)
{
    const unsigned kind = 1 + row[0] % (SS_KIND_COUNT - 1);
    const uint16_t name = (uint16_t)(row[1] % NAMES + 1);
    const uint64_t value = power(row[5]), took = power(row[7]);
    const uint64_t start = took < maker->now ? maker->now - took : 0;
    const uint64_t plan[4] = {value, row[3], row[4], took};
    const uint32_t frames[] = {1, row[3], row[4]};

    switch (kind) {
    case SS_KIND_COUNTER:
        synth_counter(file, lane, name, maker->now, (double)value - (double)took);
        break;
    case SS_KIND_SYSTEM:
        synth_system(file, lane, (uint16_t)(1 + row[1] % SS_COUNTER_IDS), maker->now,
                     row[3] & 128 ? (double)took / 3 : (double)value, row[4] % 4, row[3] % 4);
        break;
    case SS_KIND_PERTURBED:
    case SS_KIND_LOST:
        synth_window(file, lane, kind, start, maker->now, (int64_t)value);
        break;
    case SS_KIND_MARK:
    case SS_KIND_HOOK:
    case SS_KIND_THREAD_BEGIN:
        synth_text(file, lane, kind, name, maker->now, row[3], texts[row[4] % TEXTS],
                   texts[row[5] % TEXTS]);
        break;
    case SS_KIND_PLAN:
        synth_plan(file, lane, maker->now, plan);
        break;
    case SS_KIND_FRAME:
        synth_frame(file, lane, row[3], (uint32_t)value, texts[row[4] % TEXTS],
                    texts[row[5] % TEXTS]);
        break;
    case SS_KIND_SAMPLE:
        synth_sample(file, lane, maker->now, row[3], frames, 1 + row[4] % 3);
        break;
    case SS_KIND_SPAN:
    case SS_KIND_NAME: /* the control lane has them */
    case SS_KIND_INFO:
    case SS_KIND_CALIBRATION: {
        const struct ss_rec_span span = {
            {.kind = SS_KIND_SPAN, .units = 2, .name = name, .flags = row[3], .nest = row[4]},
            start,
            maker->now,
            (int64_t)value};
        synth_full_span(file, lane, &span);
        break;
    }
    default:
        synth_point(file, lane, kind, name, maker->now, value);
    }
}

static void put_row(struct maker *maker, const uint8_t *row)
{
    struct synth *const file = maker->file[row[2] / 16 % 2];
    const uint32_t lane = 1 + row[2] % LANES;

    if (row[0] >= 192) {
        put_steps(maker, file, lane, row);
        return;
    }
    go_on(maker, power(row[6]));
    if (row[0] >= 184)
        synth_open(file, lane, (uint16_t)(row[1] % NAMES + 1), maker->now);
    else
        put_record(maker, file, lane, row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct maker maker = {.now = FIRST_TICKS};
    struct ss_error error;

    if (size < ROW_BYTES)
        return 0;
    for (int i = 0; i < 2; i++)
        maker.file[i] = make_file(data, i == 1);
    for (size_t i = 1; i < ROWS_MOST && size >= (i + 1) * ROW_BYTES; i++)
        put_row(&maker, data + i * ROW_BYTES);
    for (int i = 0; i < 2; i++)
        synth_header(maker.file[i])->end_ticks = maker.now;
    const struct ss_blob blobs[] = {synth_blob(maker.file[0], "p-1.ssp"),
                                    synth_blob(maker.file[1], "s-2.ssp")};
    struct ss_run *const run = ss_run_open_memory(blobs, 1 + (data[3] & 2) / 2, &error);
    if (!run)
        abort();
    whole_path(run);
    ss_run_close(run);
    for (int i = 0; i < 2; i++)
        synth_free(maker.file[i]);
    return 0;
}
