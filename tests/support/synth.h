/* Writes process files with exact contents, for tests of everything that reads them.
 *
 * Independent of the recorder: it knows include/stepscope/format.h and nothing else, and
 * has no clock, no threads and no checks. Any byte can be changed afterwards. A call that
 * makes the file longer moves it, so pointers into it are good until the next call only.
 * Runs out of memory by abort().
 *
 * A new file has a clock of nanoseconds (ticks are ns), start_ticks 1000, no beats,
 * and exited at end_ticks 1000000. It has the control lane; other lanes are made when
 * first used. */
#ifndef TESTS_SYNTH_H
#define TESTS_SYNTH_H

#include "stepscope/reader.h"

struct synth;

struct synth *synth_new(void);
void synth_free(struct synth *synth);

struct ss_file_header *synth_header(struct synth *synth);
/* Makes a lane and, if it needs one, a directory segment. */
struct ss_lane_block *synth_block(struct synth *synth, uint32_t lane);
/* The header of the lane's newest segment; NULL: all is in its block. */
struct ss_segment_header *synth_segment(struct synth *synth, uint32_t lane);
/* Ends the block or segment of a lane: the next record goes to a new one. */
void synth_next_segment(struct synth *synth, uint32_t lane);
/* The same, and leaves out `gap` places. */
void synth_skip_segments(struct synth *synth, uint32_t lane, uint32_t gap);
/* A segment at the end of the file that is not in use. */
void synth_free_segment(struct synth *synth);

/* Appends a record of head->units units, and gives its place in the file. */
uint8_t *synth_record(struct synth *synth, uint32_t lane, const struct ss_head *head,
                      const void *rest, size_t size);

uint8_t *synth_span(struct synth *synth, uint32_t lane, uint16_t name, uint64_t start,
                    uint64_t end);
/* With all that a span can have. */
uint8_t *synth_full_span(struct synth *synth, uint32_t lane, const struct ss_rec_span *span);
/* STEP, LOOP_*, EPOCH_*, THREAD_END, ARM. */
uint8_t *synth_point(struct synth *synth, uint32_t lane, unsigned kind, uint16_t name,
                     uint64_t ticks, uint64_t value);
uint8_t *synth_counter(struct synth *synth, uint32_t lane, uint16_t name, uint64_t ticks,
                       double value);
uint8_t *synth_system(struct synth *synth, uint32_t lane, uint16_t name, uint64_t ticks,
                      double value, uint64_t subject, unsigned state);
/* PERTURBED, LOST. */
uint8_t *synth_window(struct synth *synth, uint32_t lane, unsigned kind, uint64_t start,
                      uint64_t end, int64_t arg);
/* MARK, HOOK, THREAD_BEGIN. */
uint8_t *synth_text(struct synth *synth, uint32_t lane, unsigned kind, uint16_t name,
                    uint64_t ticks, uint32_t id, const char *a, const char *b);
uint8_t *synth_plan(struct synth *synth, uint32_t lane, uint64_t ticks, const uint64_t plan[4]);
uint8_t *synth_sample(struct synth *synth, uint32_t lane, uint64_t ticks, uint32_t tid,
                      const uint32_t *frames, uint16_t count);
uint8_t *synth_frame(struct synth *synth, uint32_t lane, uint32_t id, uint32_t line,
                     const char *function, const char *file);
/* In the control lane. */
uint8_t *synth_name(struct synth *synth, uint16_t id, const char *text, unsigned stage,
                    unsigned role, unsigned scope, const char *object);
uint8_t *synth_info(struct synth *synth, const char *key, const char *value);
uint8_t *synth_calibration(struct synth *synth, uint64_t ticks, int64_t raw_ns,
                           int64_t realtime_ns);

/* Pushes an open span. */
void synth_open(struct synth *synth, uint32_t lane, uint16_t name, uint64_t start);
/* The helper thread comes round. */
void synth_beat(struct synth *synth, uint64_t ticks, int64_t raw_ns);

/* What the recorder does at the cap: frees the segment of this place, and counts it. */
void synth_give_up(struct synth *synth, uint32_t lane, uint32_t seq);

uint8_t *synth_bytes(struct synth *synth);
size_t synth_size(const struct synth *synth);
void synth_cut(struct synth *synth, size_t size);
/* Cuts off zero bytes at the end as far as reading does not miss them. */
void synth_trim(struct synth *synth);

struct ss_blob synth_blob(struct synth *synth, const char *name);
/* Writes or overwrites dir/name, without shortening it in between. 0, or -1 and errno. */
int synth_write(struct synth *synth, const char *dir, const char *name);

#endif
