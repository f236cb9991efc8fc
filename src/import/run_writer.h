/* Writes a process file of a run (format 2) from the first record to the last: one lane, and the
 * control lane for its names. The recorder's writer is for programs that go on; this one
 * knows when everything was. */
#ifndef IMPORT_RUN_WRITER_H
#define IMPORT_RUN_WRITER_H

#include "base/buf.h"
#include "stepscope/format.h"

struct run_writer_process {
    uint32_t number; /* in its run, from 1: makes the names of the files differ */
    uint32_t pid;
    int32_t rank;
    uint32_t world;
    int64_t start_ns, end_ns; /* ticks are nanoseconds */
    int64_t realtime_ns;      /* of the start, since 1970; 0: not known */
};

struct run_writer {
    int fd;
    int os_error; /* errno of the first write that failed */
    struct buf control;
    uint8_t *segment; /* of the lane, under construction */
    size_t used;      /* bytes of it */
    uint32_t segments, lane_seq;
    uint16_t names;
    uint64_t records;
    struct run_writer_process process;
};

/* Makes a new file in the directory. 0 or errno. Finish it in either case. */
int run_writer_open(struct run_writer *writer, int dir, const struct run_writer_process *process);

/* A name; the same one is not looked for. 0, the unnamed one, when there are too many. */
uint16_t run_writer_name(struct run_writer *writer, const char *text, const char *object,
                         enum ss_stage stage, enum ss_role role);
void run_writer_info(struct run_writer *writer, const char *key, const char *value);

/* The lane belongs to this thread: first of all. */
void run_writer_thread(struct run_writer *writer, uint32_t tid, const char *name);

/* Records of one unit, each not before the one before it: a span, with what is around it; a point
 * (STEP, LOOP_BEGIN, LOOP_END). */
void run_writer_span(struct run_writer *writer, const struct ss_rec_span *span);
void run_writer_point(struct run_writer *writer, enum ss_kind kind, uint16_t name, int64_t at_ns);

/* Writes the rest, and closes the file. 0 or errno of what failed first. */
int run_writer_finish(struct run_writer *writer);

#endif
