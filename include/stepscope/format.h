/* The process file of a run, as C structs. docs/format.md is the authority and says why.
 *
 * Little-endian, fixed width, naturally aligned, padding written as zero. The recorder writes
 * these in place; readers copy them out and trust nothing. The two sides share only this file. */
#ifndef STEPSCOPE_FORMAT_H
#define STEPSCOPE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "stepscope/vocabulary.h"

#define SS_FILE_MAGIC "stepscop" /* 8 bytes, no terminator in the file */
#define SS_FILE_SUFFIX ".ssp"
#define SS_KEEPER_SOCKET ".keeper" /* of the supervisor, in the run directory: format 1.2 */
#define SS_FORMAT_VERSION 1
#define SS_FORMAT_MIN_READER 1
#define SS_PACKED_VERSION 2          /* version and min_reader of a packed file, and of no other */
#define SS_SEGMENT_MAGIC 0x47455353u /* "SSEG" */
#define SS_LANE_MAGIC 0x4e4c5353u    /* "SSLN" */

enum {
    SS_SEGMENT_BYTES = 65536,
    SS_BLOCK_BYTES = 8192,     /* header area or lane block inside a directory segment */
    SS_BLOCKS_PER_SEGMENT = 7, /* lane blocks of one directory segment */
    SS_SEGMENT_HEADER_BYTES = 64,
    SS_INLINE_OFFSET = 2048, /* where the records inside a lane block start */
    SS_UNIT = 32,            /* a record is a whole number of units */
    SS_MAX_UNITS = 255,
    SS_STACK_DEPTH = 64, /* entries of the open-span stack; entry 0 is never used */
    SS_STAGE_SLOTS = 32, /* room for stages in tables of counts */
    SS_MAX_NAMES = 65536,
    SS_CONTROL_LANE = 0 /* the lane of names, info, calibration: written under a lock */
};

enum ss_clock { SS_CLOCK_RAW = 0, SS_CLOCK_TSC = 1, SS_CLOCK_ARM = 2 };
enum ss_process_kind { SS_PROCESS_TRAINING = 0, SS_PROCESS_SUPERVISOR = 1 };
enum ss_file_state { SS_FILE_OPEN = 1, SS_FILE_STOPPED = 2, SS_FILE_EXITED = 3 };
/* How the file gets what threads record (SS_FILE_MAPPED: they write into it). */
enum ss_file_copy { SS_FILE_MAPPED = 0, SS_COPY_BEHIND = 1, SS_COPY_COMPLETE = 2 };
enum ss_system_state { SS_SYSTEM_VALUE = 0, SS_SYSTEM_ABSENT = 1, SS_SYSTEM_DENIED = 2 };
enum ss_perturbation {
    SS_PERTURBED_PROFILER = 1,
    SS_PERTURBED_SUSPEND = 2,
    SS_PERTURBED_EXPERIMENT = 3
};
enum ss_feature { SS_FEATURE_PACKED = 1 };
enum ss_segment_kind { SS_SEGMENT_FREE = 0, SS_SEGMENT_DIRECTORY = 1, SS_SEGMENT_RECORDS = 2 };

/* Record kinds. 0 ends the records of a segment. Columns: id, number, name, fewest units. */
#define SS_KINDS(X)                                                                                \
    X(SPAN, 1, "span", 1)                                                                          \
    X(STEP, 2, "step", 1)                                                                          \
    X(LOOP_BEGIN, 3, "loop_begin", 1)                                                              \
    X(LOOP_END, 4, "loop_end", 1)                                                                  \
    X(EPOCH_BEGIN, 5, "epoch_begin", 1)                                                            \
    X(EPOCH_END, 6, "epoch_end", 1)                                                                \
    X(COUNTER, 7, "counter", 1)                                                                    \
    X(MARK, 8, "mark", 1)                                                                          \
    X(PLAN, 9, "plan", 2)                                                                          \
    X(CALIBRATION, 10, "calibration", 2)                                                           \
    X(SAMPLE, 11, "sample", 1)                                                                     \
    X(FRAME, 12, "frame", 1)                                                                       \
    X(HOOK, 13, "hook", 1)                                                                         \
    X(PERTURBED, 14, "perturbed", 1)                                                               \
    X(SYSTEM, 15, "system", 1)                                                                     \
    X(NAME, 16, "name", 1)                                                                         \
    X(INFO, 17, "info", 1)                                                                         \
    X(THREAD_BEGIN, 18, "thread_begin", 1)                                                         \
    X(THREAD_END, 19, "thread_end", 1)                                                             \
    X(LOST, 20, "lost", 1)                                                                         \
    X(CLOCK, 21, "clock", 1)                                                                       \
    X(ARM, 22, "arm", 1)

#define SS_ENUM_KIND(id, number, text, units) SS_KIND_##id = number,
enum ss_kind { SS_KINDS(SS_ENUM_KIND) SS_KIND_COUNT };

/* First word of every record, stored last: once it is not zero, the record is whole. */
struct ss_head {
    uint8_t kind;
    uint8_t units;
    uint16_t name;
    uint16_t flags;
    uint8_t depth; /* how many spans of this lane were open around it */
    uint8_t nest;  /* what is around it: SS_NEST_* */
};
enum {
    SS_NEST_STAGE = 0x1f,  /* stage of the nearest span around it */
    SS_NEST_OPAQUE = 0x20, /* one of those around it is not of stage user */
    SS_NEST_OPEN = 0x40,   /* there is one */
    SS_NEST_CLOSED = 0x80  /* one of those around it is of a closed stage */
};

struct ss_rec_span { /* SPAN; PERTURBED: arg is the reason; LOST: arg is the count */
    struct ss_head head;
    uint64_t start_ticks;
    uint64_t end_ticks;
    int64_t arg;
};

struct ss_rec_point { /* STEP, LOOP_*, EPOCH_*, COUNTER, THREAD_END, CLOCK, ARM; SYSTEM: flags are
                         its state */
    struct ss_head head;
    uint64_t ticks;
    uint64_t value; /* samples; epoch; ARM: round; CLOCK: ns for which the thread was ready and had
                       no core; the bits of a double for COUNTER and SYSTEM */
    uint64_t subject; /* SYSTEM: which cpu, pid or gpu; CLOCK: CPU ns of other threads */
};

struct ss_rec_plan { /* 0: not known */
    struct ss_head head;
    uint64_t ticks;
    uint64_t steps;
    uint64_t epochs;
    uint64_t steps_per_epoch;
    uint64_t batch;
    uint64_t reserved[2];
};

struct ss_rec_calibration {
    struct ss_head head;
    uint64_t ticks;
    int64_t raw_ns;      /* CLOCK_MONOTONIC_RAW at ticks */
    int64_t realtime_ns; /* CLOCK_REALTIME at ticks */
    uint64_t bracket_ticks;
    uint64_t reserved[3];
};

struct ss_rec_text { /* MARK: a text; HOOK: a target, b reason if FAILED; THREAD_BEGIN: a name, id
                        tid */
    struct ss_head head;
    uint64_t ticks;
    uint32_t id;
    uint16_t a_bytes;
    uint16_t b_bytes;
    char text[8]; /* a, then b, without terminators; goes on for the record's units */
};

struct ss_rec_name { /* NAME: head.name is its id; INFO: a key, b value */
    struct ss_head head;
    uint8_t stage;
    uint8_t role;
    uint8_t scope;
    uint8_t reserved[9];
    uint16_t a_bytes; /* NAME: text */
    uint16_t b_bytes; /* NAME: object */
    char text[8];
};

/* What is known of the place that a frame stands for. */
enum ss_frame_trait {
    SS_FRAME_GENERATOR = 1, /* of a generator */
    SS_FRAME_FOR = 2        /* it gets the next item of a `for` loop */
};

struct ss_rec_frame {
    struct ss_head head;
    uint8_t traits; /* enum ss_frame_trait; 0: none, or not known */
    uint8_t reserved;
    uint16_t body; /* FOR: lines below this one that the body of that loop goes on for */
    uint32_t id;
    uint32_t line;
    uint16_t a_bytes; /* function */
    uint16_t b_bytes; /* file */
    char text[8];
};

struct ss_rec_sample {
    struct ss_head head;
    uint64_t ticks;
    uint32_t tid;
    uint16_t frames;
    uint16_t reserved;
    uint32_t frame[2]; /* innermost first; goes on for the record's units */
};

struct ss_file_header {
    char magic[8];
    uint16_t version;
    uint16_t min_reader;
    uint32_t segment_bytes;
    uint32_t block_bytes;
    uint32_t inline_offset;
    uint64_t features; /* enum ss_feature */
    uint8_t clock;
    uint8_t process_kind;
    uint16_t reserved0;
    uint32_t span_cost_ps; /* measured on this machine; 0: not yet */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t process_start; /* field 22 of /proc/PID/stat */
    uint8_t boot_id[16];
    uint8_t file_id[16];
    int32_t rank; /* -1: not a replica */
    uint32_t world;
    uint64_t cap_bytes;
    uint64_t start_ticks;
    int64_t start_raw_ns;
    int64_t start_realtime_ns;
    uint64_t ticks_per_s; /* first estimate, for a run too short to be calibrated */
    uint64_t image_bytes; /* PACKED: size of the file before */
    uint8_t reserved1[112];

    uint32_t state; /* from here on written while recording */
    int32_t error;  /* first SS_E code of the recorder, 0: none */
    uint64_t end_ticks;
    uint64_t segments; /* allocated so far, this one included */
    uint64_t beats;    /* how often the helper thread came round */
    struct {
        uint64_t ticks;
        int64_t raw_ns;
    } beat[2]; /* beat[beats & 1] is whole */
    uint64_t reused_segments;
    uint64_t reused_records;
    uint64_t lost_names;
    uint64_t pool_empty; /* a lane found no segment ready */
    uint64_t helper_cpu_ns;
    uint64_t lost_threads; /* they got no lane; what they recorded is not counted */
    uint64_t paused;       /* 1: no helper thread just now, so no beat */
    uint64_t copy;         /* enum ss_file_copy */
    uint64_t reused_by_stage[SS_STAGE_SLOTS];
    uint64_t granted_bytes; /* what the run's budget of disk allows the file just now; 0: its cap */
    uint8_t reserved3[376];
};

struct ss_open_span {
    uint64_t start_ticks;
    struct ss_head head;
};

struct ss_lane_block {
    uint32_t magic;
    uint32_t lane;
    uint32_t tid; /* owner; 0: none */
    uint32_t owners;
    uint8_t reserved0[48];

    uint32_t depth; /* open[1..depth] are open */
    uint32_t reserved1;
    uint64_t reserved2[7];

    uint64_t lost_records; /* all kinds */
    uint64_t unbalanced;   /* ends without a begin */
    uint64_t too_deep;
    uint64_t reserved3[13];
    uint64_t lost_by_stage[SS_STAGE_SLOTS];
    struct ss_open_span open[SS_STACK_DEPTH];
    uint8_t reserved4[512];
    uint8_t records[SS_BLOCK_BYTES - SS_INLINE_OFFSET];
};

struct ss_segment_header {
    uint32_t magic;
    uint32_t kind;  /* enum ss_segment_kind */
    uint32_t lane;  /* DIRECTORY: number of its first lane block */
    uint32_t seq;   /* position in the lane; the records inside the lane block come first, as 0 */
    uint64_t lease; /* stored last; 0: not handed out; differs each time the segment is */
    uint64_t first_ticks;
    uint64_t reserved[4];
};

/* A packed file (format 11): the file header, an index with an entry for each segment, then the
 * blocks. A block is a zstd frame; what it contains is the columns of one segment. */
enum ss_packed_form {
    SS_PACKED_PLAIN = 0,    /* the bytes of the segment */
    SS_PACKED_RECORDS = 1,  /* columns of a record segment */
    SS_PACKED_DIRECTORY = 2 /* columns of a segment with lane blocks */
};

struct ss_packed_entry {
    uint8_t start[32]; /* of the segment */
    uint64_t offset;   /* of the block */
    uint32_t bytes;    /* of the block; 0: the segment is all zero */
    uint32_t content;  /* bytes of its content */
    uint8_t form;      /* enum ss_packed_form */
    uint8_t has_more;  /* 1: the 32 bytes after `start` are not all 0 */
    uint8_t reserved[14];
};

/* What stands before the columns: windows have gap, length and argument; points have ticks, value
 * and subject. */
enum ss_packed_column {
    SS_COLUMN_GAP,
    SS_COLUMN_LENGTH,
    SS_COLUMN_GAP_REST,
    SS_COLUMN_LENGTH_REST,
    SS_COLUMN_ARGUMENT,
    SS_COLUMN_TICKS,
    SS_COLUMN_VALUE,
    SS_COLUMN_SUBJECT,
    SS_COLUMN_COUNT
};

struct ss_packed_columns {
    uint8_t planes[SS_COLUMN_COUNT];             /* bytes of each number of a column */
    uint16_t records[SS_BLOCKS_PER_SEGMENT + 1]; /* in each region */
    uint64_t base; /* ticks that the first gap of each region counts from */
    uint32_t unit; /* of gaps and lengths */
    uint32_t reserved;
};

enum {
    SS_PACKED_BLOCK_MOST = 72 * 1024, /* of a block */
    SS_PACKED_CONTENT_MOST = SS_SEGMENT_BYTES
};
#define SS_PACKED_IMAGE_MOST ((uint64_t)1 << 38)

/* A name as the recorder hands it out: its id, and in the third byte what it is to others. */
#define SS_NAME_ID(name) ((uint16_t)(name))
#define SS_NAME_NEST(name) ((uint8_t)((name) >> 16))

/* Closed stages (step model 1.2): what nests inside stays theirs. */
#define SS_STAGE_IS_CLOSED(stage)                                                                  \
    ((stage) == SS_STAGE_CALLBACK || (stage) == SS_STAGE_EVAL || (stage) == SS_STAGE_INFER ||      \
     (stage) == SS_STAGE_CHECKPOINT)

#if defined(__cplusplus)
#define SS_ASSERT_SIZE(type, size) static_assert(sizeof(type) == (size), #type)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SS_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#else
#define SS_ASSERT_SIZE(type, size) struct ss_no_assertion
#endif
SS_ASSERT_SIZE(struct ss_head, 8);
SS_ASSERT_SIZE(struct ss_rec_span, 32);
SS_ASSERT_SIZE(struct ss_rec_point, 32);
SS_ASSERT_SIZE(struct ss_rec_plan, 64);
SS_ASSERT_SIZE(struct ss_rec_calibration, 64);
SS_ASSERT_SIZE(struct ss_rec_text, 32);
SS_ASSERT_SIZE(struct ss_rec_name, 32);
SS_ASSERT_SIZE(struct ss_rec_frame, 32);
SS_ASSERT_SIZE(struct ss_rec_sample, 32);
SS_ASSERT_SIZE(struct ss_file_header, 1024);
SS_ASSERT_SIZE(struct ss_open_span, 16);
SS_ASSERT_SIZE(struct ss_lane_block, SS_BLOCK_BYTES);
SS_ASSERT_SIZE(struct ss_segment_header, SS_SEGMENT_HEADER_BYTES);
SS_ASSERT_SIZE(struct ss_packed_entry, 64);
SS_ASSERT_SIZE(struct ss_packed_columns, 40);

#endif
