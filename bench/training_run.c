#include "training_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/synth.h"

enum { SPANS_A_STEP = 8, LOOP_LANE = 1, LOADER_LANE = 2 };
enum { DATA = 1, FORWARD, LAYER, BACKWARD, UPDATE, CALLBACK, PRODUCE };

static const char file_name[] = "p-1-1-0000000000000000.ssp";

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

struct maker {
    struct synth *synth;
    FILE *trace;
    uint64_t ticks, random;
    const char *comma;
};

static uint64_t length_of(struct maker *maker, uint64_t least)
{
    maker->random ^= maker->random << 13;
    maker->random ^= maker->random >> 7;
    maker->random ^= maker->random << 17;
    return least + maker->random % (least / 8);
}

static void add(struct maker *maker, uint32_t lane, uint16_t name, uint64_t start, uint64_t end,
                uint8_t depth)
{
    static const char *const texts[] = {"",         "next batch", "forward",       "layer",
                                        "backward", "step",       "EarlyStopping", "decode"};
    const uint8_t nest = depth ? SS_NEST_OPEN | SS_NEST_OPAQUE | SS_STAGE_FORWARD : 0;
    const struct ss_rec_span span = {.head = {.kind = SS_KIND_SPAN,
                                              .units = 1,
                                              .name = name,
                                              .flags = SS_FLAG_TRAIN,
                                              .depth = depth,
                                              .nest = nest},
                                     .start_ticks = start,
                                     .end_ticks = end};

    synth_full_span(maker->synth, lane, &span);
    if (!maker->trace)
        return;
    fprintf(maker->trace,
            "%s{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,\"pid\":1,\"tid\":%u}",
            maker->comma, texts[name], (double)start / 1e3, (double)(end - start) / 1e3, lane);
    maker->comma = ",\n";
}

static uint64_t next(struct maker *maker, uint16_t name, uint64_t least)
{
    const uint64_t start = maker->ticks;

    maker->ticks += length_of(maker, least);
    add(maker, LOOP_LANE, name, start, maker->ticks, name == LAYER);
    return start;
}

static void add_step(struct maker *maker)
{
    const uint64_t produced = maker->ticks;

    next(maker, DATA, 20000);
    const uint64_t forward = next(maker, LAYER, 8000);
    next(maker, LAYER, 9000);
    add(maker, LOOP_LANE, FORWARD, forward, maker->ticks, 0);
    next(maker, BACKWARD, 30000);
    next(maker, UPDATE, 3000);
    next(maker, CALLBACK, 1000);
    add(maker, LOADER_LANE, PRODUCE, produced, maker->ticks - 500, 0);
    maker->ticks += 200;
}

static void add_names(struct synth *synth)
{
    synth_name(synth, DATA, "next batch", SS_STAGE_DATA, 0, 0, "");
    synth_name(synth, FORWARD, "forward", SS_STAGE_FORWARD, 0, 0, "Net");
    synth_name(synth, LAYER, "layer", SS_STAGE_USER, 0, 0, "");
    synth_name(synth, BACKWARD, "backward", SS_STAGE_BACKWARD, 0, 0, "");
    synth_name(synth, UPDATE, "step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, 0, "Adam");
    synth_name(synth, CALLBACK, "EarlyStopping", SS_STAGE_CALLBACK, 0, SS_SCOPE_BATCH_END, "");
    synth_name(synth, PRODUCE, "decode", SS_STAGE_PRODUCE, 0, 0, "");
}

void training_run_make(struct training_run *made, size_t spans, bool with_trace)
{
    const char *const base = getenv("TMPDIR");
    struct maker maker = {.synth = synth_new(),
                          .ticks = 1000000,
                          .random = 88172645463325252u,
                          .comma = "{\"traceEvents\":[\n"};

    snprintf(made->dir, sizeof made->dir, "%.40s/bench-run-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(made->dir))
        fail(made->dir);
    if (with_trace) {
        snprintf(made->trace, sizeof made->trace, "%s/trace.json", made->dir);
        maker.trace = fopen(made->trace, "w");
        if (!maker.trace)
            fail(made->trace);
    }
    add_names(maker.synth);
    synth_text(maker.synth, LOOP_LANE, SS_KIND_THREAD_BEGIN, 0, maker.ticks, 1, "main", "");
    synth_text(maker.synth, LOADER_LANE, SS_KIND_THREAD_BEGIN, 0, maker.ticks, 2, "loader", "");
    for (made->spans = 0; made->spans < spans; made->spans += SPANS_A_STEP)
        add_step(&maker);
    synth_header(maker.synth)->end_ticks = maker.ticks;
    if (synth_write(maker.synth, made->dir, file_name) != 0)
        fail(made->dir);
    synth_free(maker.synth);
    if (maker.trace && (fputs("]}\n", maker.trace) < 0 || fclose(maker.trace) != 0))
        fail(made->trace);
    made->run = bench_run_open(made->dir);
    if (!made->run)
        exit(1);
}

void training_run_remove(struct training_run *made)
{
    char path[96];

    bench_run_close(made->run);
    snprintf(path, sizeof path, "%.63s/%.31s", made->dir, file_name);
    unlink(path);
    if (made->trace[0])
        unlink(made->trace);
    rmdir(made->dir);
}
