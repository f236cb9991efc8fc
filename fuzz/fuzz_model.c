/* Fuzzes the step model and its statistics with records, as a damaged or crafted run may have them.
 *
 * The input is a row of descriptions of 8 bytes:
 *   0  kind of the record            4  nesting
 *   1  name: stage and role          5  argument, as a power of two
 *   2  lane                          6  how far the time goes on, as a power of two
 *   3  flags                         7  how long it took, the same */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "summary/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD_BYTES = 8, LANES = 4, NAMES = SS_STAGE_COUNT * 4, RECORDS_MOST = 4096 };

static int64_t power(uint8_t exponent)
{
    return exponent % 64 < 62 ? INT64_C(1) << exponent % 64 : INT64_MAX;
}

static void feed_names(struct model *model)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char text[16];
        const int bytes = snprintf(text, sizeof text, "name %u", i);
        const struct ss_record record = {.kind = SS_KIND_NAME,
                                         .name = (uint16_t)(i + 1),
                                         .stage = (uint8_t)(i % SS_STAGE_COUNT),
                                         .role = (uint8_t)(i / SS_STAGE_COUNT),
                                         .u.text.a = {text, (size_t)bytes},
                                         .u.text.b = {"", 0}};
        model_feed(model, 0, &record);
    }
}

static void feed_one(struct model *model, const uint8_t *data, int64_t *now_ns)
{
    const int64_t on_ns = power(data[6]);
    struct ss_record record = {.kind = (uint8_t)(1 + data[0] % (SS_KIND_COUNT - 1)),
                               .name = (uint16_t)(data[1] % NAMES + 1),
                               .lane = data[2] % LANES,
                               .tid = 1 + data[2] % LANES,
                               .flags = data[3],
                               .nest = data[4] & 3,
                               .depth = data[4] >> 4};

    if (record.kind == SS_KIND_NAME || record.kind == SS_KIND_FRAME ||
        record.kind == SS_KIND_SAMPLE || record.kind == SS_KIND_HOOK || record.kind == SS_KIND_MARK)
        record.kind = SS_KIND_SPAN;
    if (__builtin_add_overflow(*now_ns, on_ns, now_ns))
        *now_ns = INT64_MAX;
    record.stage = (uint8_t)((record.name - 1) % SS_STAGE_COUNT);
    record.time_ns = record.end_ns = *now_ns;
    if (__builtin_sub_overflow(*now_ns, power(data[7]), &record.start_ns))
        record.start_ns = INT64_MIN;
    if (record.kind == SS_KIND_COUNTER || record.kind == SS_KIND_SYSTEM)
        record.u.value = (double)power(data[5]);
    else
        record.u.arg = power(data[5]);
    model_feed(model, 0, &record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ss_process process = {.pid = 1, .end = SS_END_EXITED, .end_ns = INT64_C(1) << 60};
    struct model *const model = model_new();
    int64_t now_ns = 0;

    if (!model)
        abort();
    model_process(model, 0, &process);
    feed_names(model);
    for (size_t i = 0; i < RECORDS_MOST && size >= RECORD_BYTES; i++) {
        feed_one(model, data, &now_ns);
        data += RECORD_BYTES;
        size -= RECORD_BYTES;
    }
    snapshot_free(model_snapshot(model));
    model_finish(model);
    snapshot_free(model_snapshot(model));
    model_free(model);
    return 0;
}
