/* The processes of a model. Supervisors among them recorded a machine, which is no part of the
 * training. */
#ifndef MODEL_PROCESSES_H
#define MODEL_PROCESSES_H

#include "model/model_state.h"

/* NULL: no memory. */
struct model_process_facts *model_process_at(struct model *model, uint32_t process);

/* No clock has run for 36 years: such a time is damage, and sums over it would be more than a
 * number holds. */
static inline bool model_is_possible(int64_t time_ns)
{
    const int64_t most_ns = INT64_C(1) << 60;
    return time_ns >= -most_ns && time_ns <= most_ns;
}

bool model_is_supervisor(const struct model *model, uint32_t process);
void model_feed_supervisor(struct model *model, uint32_t process, const struct ss_record *record);

/* Whether two processes ran on one machine: of old runs it is not known. */
enum model_likeness { MODEL_OTHER, MODEL_MAYBE, MODEL_SAME };
enum model_likeness model_same_machine(const struct model *model, uint32_t a, uint32_t b);

#endif
