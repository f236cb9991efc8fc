#include "diagnose/other_programs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stepscope/counters.h"

static const double cores_least = 0.05;

/* Anybody may call a program anything. */
static void copy_name(char out[OTHER_PROGRAM_NAME], struct ss_text name)
{
    size_t size = name.size < OTHER_PROGRAM_NAME ? name.size : OTHER_PROGRAM_NAME - 1;

    for (size_t i = 0; i < size; i++)
        out[i] = name.data[i] > ' ' && name.data[i] <= '~' ? name.data[i] : '_';
    out[size] = '\0';
}

static void put(struct other_program_use out[OTHER_PROGRAMS_MOST], size_t *count,
                const struct other_program_use *program)
{
    size_t at = *count;

    if (*count < OTHER_PROGRAMS_MOST)
        ++*count;
    else if (out[--at].cores >= program->cores)
        return;
    for (; at > 0 && out[at - 1].cores < program->cores; at--)
        out[at] = out[at - 1];
    out[at] = *program;
}

size_t other_programs_of(const struct snapshot *snapshot, const struct ss_run *run,
                         struct other_program_use out[OTHER_PROGRAMS_MOST])
{
    const struct snap_resources *resources = &snapshot->resources;
    const double passed_ns = (double)(resources->end_ns - resources->begin_ns);
    size_t count = 0;

    for (size_t i = 0; i < resources->count; i++) {
        const struct snap_resource *row = &resources->rows[i];
        struct other_program_use program;
        char key[32];
        if (row->counter != SS_COUNTER_ID_OTHER_CPU || !(passed_ns > 0) ||
            !(row->in_loop >= cores_least * passed_ns))
            continue;
        snprintf(key, sizeof key, "other.%" PRIu64, row->subject);
        const struct ss_text name = ss_run_info(run, resources->watcher, key);
        if (name.size == 0)
            continue;
        copy_name(program.name, name);
        program.cores = row->in_loop / passed_ns;
        put(out, &count, &program);
    }
    return count;
}
