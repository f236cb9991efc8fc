#include "model/parts.h"

#include <string.h>

/* Spans come in the order of their ends, so a new one can only reach back into the last ones. */
void overlay_add(struct model_process_facts *process, int64_t start_ns, int64_t end_ns)
{
    process->overlay_count++;
    while (process->overlays > 0 &&
           process->overlay[process->overlays - 1].end_ns >= start_ns) {
        const struct overlay *last = &process->overlay[--process->overlays];
        start_ns = last->start_ns < start_ns ? last->start_ns : start_ns;
        end_ns = last->end_ns > end_ns ? last->end_ns : end_ns;
    }
    if (process->overlays == OVERLAYS_KEPT) {
        memmove(process->overlay, process->overlay + 1,
                (OVERLAYS_KEPT - 1) * sizeof process->overlay[0]);
        process->overlays--;
    }
    process->overlay[process->overlays++] = (struct overlay){start_ns, end_ns};
}

int64_t overlay_take(struct model_process_facts *process, int64_t start_ns,
                     int64_t end_ns)
{
    int64_t total = 0;
    int kept = 0;
    for (int i = 0; i < process->overlays; i++) {
        struct overlay o = process->overlay[i];
        int64_t from = o.start_ns > start_ns ? o.start_ns : start_ns;
        int64_t to = o.end_ns < end_ns ? o.end_ns : end_ns;
        total += to > from ? to - from : 0;
        if (o.end_ns > end_ns) {
            process->overlay[kept++] = o;
        }
    }
    process->overlays = kept;
    return total;
}
