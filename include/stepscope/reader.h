/* Reads runs: all records of a lane, or of all lanes merged, in nanoseconds.
 *
 * Any truncated, damaged or killed run is read to its longest valid part; ss_run_loss() says what
 * is missing. Nothing from a file is trusted: no count, no length, no time. One thread at a time
 * may use a run and its cursors. Memory stays bounded by the number of lanes and names, plus 32
 * bytes for each 64 KB of file and 16 for each calibration, whatever the size of the run. */
#ifndef STEPSCOPE_READER_H
#define STEPSCOPE_READER_H

#include <stdbool.h>

#include "stepscope/error.h"
#include "stepscope/format.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t ss_ns; /* CLOCK_MONOTONIC_RAW of the recording host */

struct ss_run;
struct ss_cursor;

struct ss_blob { /* a file of a run in memory; borrowed until ss_run_close() */
    const char *name;
    const void *data;
    size_t size;
};

struct ss_text { /* not terminated, not trusted: any byte may be in it */
    const char *data;
    size_t size;
};

enum ss_process_end {
    SS_END_LIVE,    /* still recording */
    SS_END_STOPPED, /* ss_stop() */
    SS_END_EXITED,  /* exit() */
    SS_END_KILLED,  /* ended without a word: a signal, _exit(), exec() */
    SS_END_UNKNOWN  /* from memory or another host: no one to ask */
};

struct ss_process {
    const char *file; /* its name inside the run */
    uint32_t pid, parent_pid;
    uint8_t kind; /* enum ss_process_kind */
    uint8_t clock;
    int rank;
    uint32_t world;
    enum ss_process_end end;
    ss_ns start_ns, end_ns; /* end: stop, exit, or the last sign of life */
    int64_t start_realtime_ns;
    uint64_t cap_bytes;
    uint64_t file_bytes;
    uint64_t unpacked_bytes; /* the same, or more if the file is packed */
    uint32_t span_cost_ps;
    uint64_t helper_cpu_ns;
    int recorder_error;         /* SS_E code that the recorder left in the file */
    uint32_t first_lane, lanes; /* its lanes, numbered through the whole run */
    uint32_t names;             /* ids 0 .. names-1 */
    uint32_t calibrations;
    double ticks_per_s;
    int64_t clock_jump_ns;  /* largest step between two calibrations, against the line so far */
    double clock_drift_ppm; /* largest change of rate between two calibrations */
    bool clock_suspect;     /* a jump over 1 ms, or over 50 ppm */
    uint64_t reused_records, reused_by_stage[SS_STAGE_SLOTS]; /* given up at the cap */
    uint64_t lost_names, lost_threads, pool_empty;
    /* Of its machine; zeros: not known. Times of another one are of another clock. */
    uint8_t boot_id[16];
};

struct ss_lane {
    uint32_t process; /* index */
    uint32_t number;  /* inside the process; 0 is the control lane */
    uint32_t tid;     /* present owner, 0: none */
    uint32_t owners;  /* threads that used it, one after the other */
    uint64_t lost_records, unbalanced, too_deep, lost_by_stage[SS_STAGE_SLOTS];
};

struct ss_name_info {
    struct ss_text text, object;
    uint8_t stage, role, scope;
};

/* One record. Which fields count: docs/format.md (format 5); the others are 0. Texts and frames
 * stay valid until the next call on the same cursor. */
struct ss_record {
    ss_ns time_ns; /* a span's end, or the time of the record; never decreases within a lane */
    ss_ns start_ns, end_ns;
    uint32_t lane;
    uint32_t tid;   /* the thread that recorded it; SAMPLE: the thread sampled */
    uint32_t owner; /* counts the threads of this lane, from 1; 0: before the first */
    uint16_t name, flags;
    uint8_t kind, stage, depth, nest;
    uint32_t gaps; /* places of its lane before it where records are missing; not dropped ones,
                           which LOST tells of */
    union {
        int64_t arg;        /* SPAN, PERTURBED, LOST */
        uint64_t samples;   /* STEP */
        uint64_t epoch;     /* EPOCH_* */
        uint64_t round;     /* ARM */
        uint64_t waited_ns; /* CLOCK: for which the thread was ready and had no core */
        double value;       /* COUNTER, SYSTEM */
        uint64_t plan[4];   /* steps, epochs, steps per epoch, batch */
        int64_t clocks[3];  /* CALIBRATION: raw ns, realtime ns, ticks that the reading took */
        struct {
            struct ss_text a, b;
            uint32_t id, line;
            uint16_t body;  /* FRAME */
            uint8_t traits; /* FRAME: enum ss_frame_trait of format.h */
        } text;             /* MARK, HOOK, NAME, INFO, FRAME, THREAD_BEGIN */
        struct {
            const uint32_t *frame;
            uint32_t frames;
        } sample;
    } u;
    uint64_t subject;    /* SYSTEM; CLOCK: CPU time of the other threads of the process, in ns */
    uint8_t role, scope; /* NAME */
};

enum ss_loss_kind {
    SS_LOSS_TRUNCATED, /* the file ends inside its last segment or header */
    SS_LOSS_HEADER,    /* a file header, lane block or segment header that is invalid */
    SS_LOSS_RECORDS,   /* the rest of a segment after an invalid record */
    SS_LOSS_ORDER,     /* two segments with the same place in a lane: one was ignored */
    SS_LOSS_FILE,      /* a file that cannot be opened, or is of another version */
    SS_LOSS_CHANGED    /* a segment was given away while it was being read */
};

struct ss_loss {
    enum ss_loss_kind kind;
    uint32_t process; /* UINT32_MAX: a file that is no process of the run */
    uint64_t offset, bytes;
    const char *file;
};

SS_API struct ss_run *ss_run_open(const char *path, struct ss_error *error);
SS_API struct ss_run *ss_run_open_memory(const struct ss_blob *files, size_t count,
                                         struct ss_error *error);
SS_API void ss_run_close(struct ss_run *run);

/* Looks again at a run that is still being written: new files, lanes, names, records. 0 or SS_E.
 * Processes, lanes and names keep their numbers; new ones come after them. */
SS_API int ss_run_refresh(struct ss_run *run);
SS_API bool ss_run_is_live(const struct ss_run *run);

SS_API size_t ss_run_processes(const struct ss_run *run);
SS_API const struct ss_process *ss_run_process(const struct ss_run *run, size_t index);
SS_API size_t ss_run_lanes(const struct ss_run *run);
SS_API const struct ss_lane *ss_run_lane(const struct ss_run *run, size_t index);
/* Always gives a name: "(unnamed)" for 0, "(name 17)" for one whose record is lost. */
SS_API const struct ss_name_info *ss_run_name(const struct ss_run *run, size_t process,
                                              uint32_t id);
/* Value of a key of the process (command, host, ...) or of the run's manifest (SIZE_MAX). */
SS_API struct ss_text ss_run_info(const struct ss_run *run, size_t process, const char *key);
/* Walks those keys: false after the last. */
SS_API bool ss_run_info_at(const struct ss_run *run, size_t process, size_t index,
                           struct ss_text *key, struct ss_text *value);
/* What is lost inside a lane is known once a cursor has been there. */
SS_API size_t ss_run_losses(const struct ss_run *run);
SS_API const struct ss_loss *ss_run_loss(const struct ss_run *run, size_t index);

/* Spans open on a lane now (or at its end), outermost first; returns how many, at most max;
 * 0 as well if memory is short. */
SS_API size_t ss_run_open_spans(struct ss_run *run, size_t lane, struct ss_record *out, size_t max);

/* A cursor over one lane, or over all lanes in time order (SS_ALL_LANES). After the last record
 * of a lane whose process has ended, spans still open are given as ended there, UNFINISHED.
 * On a live run, merged records younger than 100 ms wait until the next ss_run_refresh(), so that
 * slower lanes are not overtaken. */
#define SS_ALL_LANES SIZE_MAX
SS_API struct ss_cursor *ss_cursor_new(struct ss_run *run, size_t lane);
SS_API bool ss_cursor_next(struct ss_cursor *cursor, struct ss_record *out);
SS_API void ss_cursor_free(struct ss_cursor *cursor);

SS_API const char *ss_stage_text(unsigned stage);
SS_API const char *ss_role_text(unsigned role);
SS_API const char *ss_scope_text(unsigned scope);
SS_API const char *ss_kind_text(unsigned kind);
SS_API const char *ss_flag_text(unsigned bit);

#ifdef __cplusplus
}
#endif
#endif
