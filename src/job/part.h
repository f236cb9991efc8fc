/* What a report of a job needs from one launch (`stepscope run`), as a small file: format 12.
 *
 * All numbers are integers, so that parts that are joined in any order give the same bytes. A part
 * is written again and again while its command runs: of two with one launch id, the one with the
 * higher sequence counts. What is read was written by anybody: it is checked, and texts are
 * untrusted. */
#ifndef JOB_PART_H
#define JOB_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/model.h"
#include "model/series.h"
#include "stats/sample.h"
#include "stats/sketch.h"
#include "stepscope/error.h"
#include "summary/snapshot.h"

#define PART_FILE "part.ssj"
#define PART_SUFFIX ".ssj"

enum {
    PART_VERSION = 1,
    PART_HEAD = 40,
    PART_TEXT_SIZE = 256,
    PART_PATH_SIZE = 1024,
    PART_MACHINE_MOST = 24,
    PART_FINDINGS_MOST = 32,
    PART_FINDING_SIZE = 32,
    PART_RANKS_MOST = 1 << 20,
    PART_PAYLOAD_MOST = 1 << 30
};

/* A counter of the host, in thousandths of its unit. */
struct part_counter {
    uint32_t counter; /* enum ss_counter_id */
    int64_t mean, most, gained;
};

struct part_finding {
    char name[PART_FINDING_SIZE];
    uint8_t severity;  /* enum finding_severity */
    int64_t share_ppm; /* -1: none */
};

struct part_slow_step {
    int64_t number, time_ns;
};

struct part_rank {
    uint32_t rank, world, pid, framework;
    int64_t started_ns; /* CLOCK_REALTIME */
    char name[PART_TEXT_SIZE];
    int64_t steps, warmup_steps, steady_steps, flagged_steps, steady_ns, samples, updates;
    int64_t wall_ns, segment_ns[MODEL_SEGMENT_COUNT]; /* of the thread */
    uint32_t measured;                                /* stages, a bit each */
    int64_t stage_ns[SS_STAGE_COUNT];                 /* of the steady steps */
    struct sketch times[SERIES_SKETCHES];             /* of these, by stage; the step itself */
    int windows;
    int64_t window_ns[SNAP_OWN_WINDOWS]; /* own work a step */
    int slow_count;
    struct part_slow_step slowest[SNAP_SLOWEST];
    struct shared_step *shared; /* whole nanoseconds, by number */
    size_t shared_count;
};

struct job_part {
    uint64_t launch, sequence;
    char job[PART_TEXT_SIZE], launcher[PART_TEXT_SIZE], host[PART_TEXT_SIZE];
    char directory[PART_TEXT_SIZE]; /* name of the run directory */
    char path[PART_PATH_SIZE];      /* where it was */
    uint8_t boot_id[16];
    bool has_ended;
    int exit_code, signal; /* as in run_facts */
    /* Begin, and end or last sign of life, by the clocks of the host. */
    int64_t begin_raw_ns, begin_realtime_ns, last_raw_ns, last_realtime_ns;
    int64_t clock_error_ns; /* of CLOCK_REALTIME, by the kernel; -1: not synchronised */
    uint64_t lost_records;
    struct part_counter machine[PART_MACHINE_MOST];
    size_t counters;
    struct part_finding findings[PART_FINDINGS_MOST];
    size_t finding_count;
    struct part_rank *ranks; /* by rank, each once */
    size_t rank_count;
};

void part_release(struct job_part *part);

/* Appends the part. */
void part_write(struct buf *out, const struct job_part *part);

/* The head of a part. Returns how many bytes the part has with it; 0: not a part, or of a version
 * that is unknown, and `error` says which. `size` is at least PART_HEAD. */
size_t part_head(const uint8_t *bytes, size_t size, uint64_t *launch, uint64_t *sequence,
                 struct ss_error *error);

/* Reads one part, of exactly these bytes. 0, or an SS_E code with a sentence; release it in either
 * case. */
int part_read(struct job_part *part, const uint8_t *bytes, size_t size, struct ss_error *error);

#endif
