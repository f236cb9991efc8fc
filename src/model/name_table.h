/* The names of a run, over all its processes, with what was seen of each. Two processes that use
 * the same text, object, stage, role and scope mean the same name. */
#ifndef MODEL_NAME_TABLE_H
#define MODEL_NAME_TABLE_H

#include <stdbool.h>

#include "stats/sketch.h"
#include "stepscope/reader.h"

struct model_name {
    char *text, *object;
    uint8_t stage, role, scope;
    uint32_t owner; /* number of the object, or of the text where there is none: never 0 */
    /* What the model makes of its spans, known from the first one on: enum work_marks, of those
     * with gradients and of those without; CUT_* or -1. */
    unsigned marks, eval_marks;
    int8_t cut;
    bool may_be_detail; /* of an optimizer (step model 1.4) */
    bool is_beside;     /* its spans lie beside the thread that recorded them */
    bool updates;       /* a function that gives new parameters, as a mark said */
    uint64_t count, failed;
    int64_t total_ns, self_ns; /* self: without what nests in it */
    struct sketch sketch;
};

struct model_names {
    struct model_name *name; /* [0] stands for names that are not known */
    uint32_t count, capacity;
    uint32_t *slots; /* open addressing, numbers + 1 */
    uint32_t slot_count;
    struct {
        uint32_t *number; /* of the process's own ids */
        uint32_t count;
    } * process;
    uint32_t processes;
};

/* 0 or SS_E_NOMEM, all of them. */
int model_names_init(struct model_names *names);
void model_names_release(struct model_names *names);
int model_names_add(struct model_names *names, uint32_t process, const struct ss_record *record);

/* Adds what was seen of each name of `from`, and says at its number which one it is in `names`. */
int model_names_merge(struct model_names *names, const struct model_names *from, uint32_t *number);

/* Functions with this text, or of this object, give new parameters. */
void model_names_update(struct model_names *names, struct ss_text function);
bool model_names_updates(const struct model_names *names, uint32_t owner);

/* Number of a process's name; 0 if it is not known. */
static inline uint32_t model_names_find(const struct model_names *names, uint32_t process,
                                        uint32_t id)
{
    return process < names->processes && id < names->process[process].count
               ? names->process[process].number[id]
               : 0;
}

#endif
