#include "model/processes.h"

#include <stdlib.h>
#include <string.h>

#include "model/thread.h"
#include "stepscope/counters.h"

struct model_process_facts *model_process_at(struct model *model, uint32_t process)
{
    if (process >= model->process_count) {
        struct model_process_facts *grown =
            realloc(model->processes, (process + 1) * sizeof *grown);
        if (!grown) {
            model->error = SS_E_NOMEM;
            return NULL;
        }
        memset(grown + model->process_count, 0,
               (process + 1 - model->process_count) * sizeof *grown);
        model->processes = grown;
        model->process_count = process + 1;
    }
    return &model->processes[process];
}

void model_process(struct model *model, uint32_t process, const struct ss_process *facts)
{
    struct model_process_facts *known = model_process_at(model, process);
    if (known && model_is_possible(facts->start_ns) && model_is_possible(facts->end_ns)) {
        known->facts = *facts;
        known->known = true;
    }
}

bool model_is_supervisor(const struct model *model, uint32_t process)
{
    return process < model->process_count && model->processes[process].known &&
           model->processes[process].facts.kind == SS_PROCESS_SUPERVISOR;
}

static const uint8_t *machine_of(const struct model *model, uint32_t process)
{
    static const uint8_t not_known[sizeof model->processes->facts.boot_id];
    const uint8_t *id = process < model->process_count && model->processes[process].known
                            ? model->processes[process].facts.boot_id
                            : not_known;
    return memcmp(id, not_known, sizeof not_known) != 0 ? id : NULL;
}

enum model_likeness model_same_machine(const struct model *model, uint32_t a, uint32_t b)
{
    const uint8_t *one = machine_of(model, a), *other = machine_of(model, b);
    return !one || !other                                                    ? MODEL_MAYBE
           : memcmp(one, other, sizeof model->processes->facts.boot_id) == 0 ? MODEL_SAME
                                                                             : MODEL_OTHER;
}

/* On the machine of the one that looked. */
static uint32_t process_of_pid(const struct model *model, uint32_t looker, uint32_t pid)
{
    for (uint32_t i = model->process_count; i-- > 0;)
        if (model->processes[i].known && model->processes[i].facts.pid == pid &&
            !model_is_supervisor(model, i) && model_same_machine(model, i, looker) != MODEL_OTHER)
            return i;
    return UINT32_MAX;
}

static bool has_thread(const struct model *model, uint32_t process, uint32_t tid)
{
    for (uint32_t i = 0; i < model->lane_count; i++) {
        const struct thread *thread = model->lanes[i];
        if (thread && thread->process == process && thread->tid == tid)
            return true;
    }
    return false;
}

static void feed_system(struct model *model, uint32_t process, const struct ss_record *record)
{
    const int counter = resources_sample(&model->resources, process, record);
    if (counter == SS_COUNTER_ID_THREAD_STATE && record->flags == SS_SYSTEM_VALUE) {
        const uint32_t pid = (uint32_t)(record->subject >> 32);
        const uint32_t tid = (uint32_t)record->subject;
        const uint32_t found = process_of_pid(model, process, pid);
        const double state = record->u.value;
        if (found != UINT32_MAX && state >= 0 && state < HOT_STATES &&
            has_thread(model, found, tid))
            hot_state(&model->hot, found, tid, pid == tid, record->time_ns, (unsigned)state);
    }
}

void model_feed_supervisor(struct model *model, uint32_t process, const struct ss_record *record)
{
    if (record->kind == SS_KIND_SYSTEM)
        feed_system(model, process, record);
    else if (record->kind == SS_KIND_NAME)
        resources_name(&model->resources, process, record);
}
