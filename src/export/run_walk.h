/* Goes through a run twice: first for its snapshot, then for each of its records and steps, with
 * what the whole run says about a step: which loop of the report it is in, and in which of its
 * sums. A model keeps no steps, and what a step was is only known later. */
#ifndef EXPORT_RUN_WALK_H
#define EXPORT_RUN_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "export/export.h"
#include "summary/snapshot.h"

/* As the report counts them: each step is in one of three. */
enum run_walk_part { RUN_WALK_WARMUP, RUN_WALK_STEADY, RUN_WALK_LEFT_OUT };

struct run_walk_step {
    const struct model_step *step;
    size_t loop; /* of the snapshot; SIZE_MAX: a short one that is not kept */
    enum run_walk_part part;
};

struct run_walk_reader {
    void *context;
    const struct sink *out; /* after an error of it nothing more is read */

    /* Any of them may be NULL. Steps come when their window has ended, those of one thread in
     * order. */
    void (*begin)(void *context, const struct snapshot *snapshot);
    void (*record)(void *context, uint32_t process, const struct ss_record *record);
    void (*step)(void *context, const struct run_walk_step *step);
};

/* 0 or an SS_E code. */
int run_walk_steps(const struct export_job *job, const struct run_walk_reader *reader);

/* Only the records, in one pass and without a model. */
int run_walk_records(const struct export_job *job, const struct run_walk_reader *reader);

/* Where times begin: at the start of the command, or of the first process. */
ss_ns run_walk_begin_ns(const struct export_job *job);

/* Tells the progress of a pass that is at `now_ns`: a share of the whole work, some of which came
 * before. */
struct run_walk_extent {
    ss_ns begin_ns, end_ns;
    double before, share;
};
struct run_walk_extent run_walk_extent(const struct export_job *job, double before, double share);
void run_walk_show(const struct export_job *job, const struct run_walk_extent *extent,
                   ss_ns now_ns);

/* The times of a damaged run may be anything. */
static inline int64_t run_walk_since(ss_ns time_ns, ss_ns begin_ns)
{
    return (int64_t)((uint64_t)time_ns - (uint64_t)begin_ns);
}

const char *run_walk_part_text(enum run_walk_part part);

/* What the formats write of a record: its flags as words with spaces between them. */
enum { FLAG_WORDS_SIZE = 160 };

/* Writes into `out` and returns how many bytes; a 0 follows them. */
size_t flag_words(char out[FLAG_WORDS_SIZE], unsigned flags);

/* A place for each name of each process, for what is made once and used for all its records. */
struct name_slot {
    char *text; /* NULL: not made yet; freed with the slots */
    size_t size;
};

struct name_slots {
    struct name_slot_row {
        struct name_slot *slots;
        uint32_t count;
    } * rows;
    size_t row_count;
};

/* NULL if memory is short. Stays where it is until the next call. {0} are empty slots. */
struct name_slot *name_slots_at(struct name_slots *slots, uint32_t process, uint32_t name);
void name_slots_release(struct name_slots *slots);

#endif
