/* Threads do not know each other across processes, so they move over as they are; only numbers of
 * names, processes and lanes change. Everything that is summed up is a sum of integers. */
#include <stdlib.h>
#include <string.h>

#include "model/loop_data.h"
#include "model/model_state.h"
#include "model/thread.h"

struct move {
    struct model *to;
    const uint32_t *number;    /* of each name, in `to` */
    uint32_t processes, lanes; /* that `to` had before */
};

static void move_loop(const struct move *move, struct loop *loop)
{
    loop->process += move->processes;
    loop->lane += move->lanes;
    loop->name = move->number[loop->name];
    for (uint32_t i = 0; i < loop->calls.count; i++)
        loop->calls.row[i].name = move->number[loop->calls.row[i].name];
    layers_forget_names(loop->layers);
}

static void move_thread(const struct move *move, struct thread *thread)
{
    thread->model = move->to;
    thread->hot_threads = 0;
    thread->process += move->processes;
    thread->lane += move->lanes;
    for (struct loop *loop = thread_loops(thread); loop; loop = loop->next)
        move_loop(move, loop);
}

static void move_threads(const struct move *move, struct model *from)
{
    struct model *to = move->to;
    for (uint32_t i = 0; i < from->lane_count; i++) {
        if (from->lanes[i])
            move_thread(move, from->lanes[i]);
        to->lanes[to->lane_count++] = from->lanes[i];
        from->lanes[i] = NULL;
    }
    while (from->ended) {
        struct thread *thread = from->ended;
        from->ended = thread->next;
        move_thread(move, thread);
        thread->next = to->ended;
        to->ended = thread;
    }
}

static bool make_process_room(struct model *to, uint32_t more)
{
    struct model_process_facts *grown =
        realloc(to->processes, ((size_t)to->process_count + more + 1) * sizeof *grown);
    if (!grown)
        return false;
    to->processes = grown;
    return true;
}

static bool make_lane_room(struct model *to, uint32_t more)
{
    struct thread **grown =
        realloc(to->lanes, ((size_t)to->lane_count + more + 1) * sizeof(struct thread *));
    if (!grown)
        return false;
    to->lanes = grown;
    return true;
}

static void add_sums(struct model *to, const struct model *from)
{
    if (from->records) {
        to->first_ns = to->records && to->first_ns < from->first_ns ? to->first_ns : from->first_ns;
        to->last_ns = to->records && to->last_ns > from->last_ns ? to->last_ns : from->last_ns;
    }
    to->records += from->records;
    to->spans += from->spans;
    to->lost_records += from->lost_records;
    to->gaps += from->gaps;
    to->orphan_spans += from->orphan_spans;
    to->forgotten_loops += from->forgotten_loops;
    to->negative_ns += from->negative_ns;
    to->error = to->error ? to->error : from->error;
}

int model_merge(struct model *to, struct model *from)
{
    uint32_t *number = calloc(from->names.count, sizeof *number);
    if (number && make_process_room(to, from->process_count) &&
        make_lane_room(to, from->lane_count) &&
        model_names_merge(&to->names, &from->names, number) == SS_E_OK) {
        const struct move move = {to, number, to->process_count, to->lane_count};
        if (from->process_count) {
            memcpy(to->processes + to->process_count, from->processes,
                   from->process_count * sizeof *to->processes);
        }
        to->process_count += from->process_count;
        from->process_count = 0;
        move_threads(&move, from);
        add_sums(to, from);
        hot_merge(&to->hot, &from->hot, move.processes);
        resources_merge(&to->resources, &from->resources, move.processes);
    } else {
        to->error = SS_E_NOMEM;
    }
    free(number);
    model_free(from);
    return to->error;
}
