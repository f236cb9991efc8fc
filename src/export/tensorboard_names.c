#include <stdlib.h>
#include <string.h>

#include "base/own_counters.h"
#include "export/tensorboard_parts.h"
#include "report/report_parts.h"

static const double ns_per_ms = 1e6, least_share = 0.001;

static const char *const own_counters[] = {
    OWN_COUNTER_SAMPLES,     OWN_COUNTER_MINOR_FAULTS, OWN_COUNTER_MAJOR_FAULTS, OWN_COUNTER_CPU,
    OWN_COUNTER_SAMPLER_CPU, OWN_COUNTER_DISCARDED,    OWN_COUNTER_LAYERS};

void board_names_release(struct board_names *names)
{
    free(names->rows);
    *names = (struct board_names){0};
}

static bool make_room(struct board_names *names)
{
    if (names->count < names->capacity)
        return true;
    const size_t capacity = names->capacity ? 2 * names->capacity : 32;
    struct board_name *grown = realloc(names->rows, capacity * sizeof *grown);
    if (grown) {
        names->rows = grown;
        names->capacity = capacity;
    }
    return grown != NULL;
}

/* They are few, and come in the same order each time: the search starts behind the last one. */
static struct board_name *find(struct board_names *names, uint32_t process, uint16_t name)
{
    size_t of_process = 0;

    for (size_t i = 1; i <= names->count; i++) {
        const size_t at = (names->hint + i) % names->count;
        if (names->rows[at].process != process)
            continue;
        of_process++;
        if (names->rows[at].name == name) {
            names->hint = at;
            return &names->rows[at];
        }
    }
    if (of_process >= BOARD_NAMES_MOST || !make_room(names))
        return NULL;
    names->hint = names->count++;
    names->rows[names->hint] = (struct board_name){.process = process, .name = name};
    return &names->rows[names->hint];
}

void board_names_take(struct board_names *names, uint32_t process, const struct ss_record *record)
{
    struct board_name *row = find(names, process, record->name);

    if (!row)
        return;
    row->last_ns = record->time_ns;
    if (record->kind == SS_KIND_COUNTER) {
        row->value = record->u.value;
        row->is_fresh = true;
    } else {
        row->calls++;
        row->time_ns += record->end_ns - record->start_ns;
    }
}

static bool is_own(struct ss_text text)
{
    for (size_t i = 0; i < sizeof own_counters / sizeof own_counters[0]; i++)
        if (text.size == strlen(own_counters[i]) &&
            memcmp(text.data, own_counters[i], text.size) == 0)
            return true;
    return false;
}

static void write_row(const struct board_name *row, const struct ss_run *run, struct event *event)
{
    const struct ss_name_info *info = ss_run_name(run, row->process, row->name);
    struct buf name = {0};

    report_name(&name, info->text, info->object, info->scope);
    if (row->calls > 0) {
        buf_add_text(&name, " ms");
        event_scalar(event, "callbacks", buf_text(&name),
                     (double)row->time_ns / (double)row->calls / ns_per_ms);
    } else if (!is_own(info->text)) {
        event_scalar(event, "metrics", buf_text(&name), row->value);
    }
    buf_release(&name);
}

/* Of the time of the steps too little for a curve, so far. */
static bool is_tiny(struct board_name *row, const struct board_steps *steps)
{
    row->is_shown |= row->calls > 0 && (double)row->time_ns >= least_share * (double)steps->time_ns;
    return row->calls > 0 && !row->is_shown;
}

void board_names_write(struct board_names *names, const struct ss_run *run, uint32_t process,
                       int64_t until_ns, const struct board_steps *steps, struct event *event)
{
    int64_t tiny_ns = 0;

    for (size_t i = 0; i < names->count; i++) {
        struct board_name *row = &names->rows[i];
        if (row->process != process || row->last_ns >= until_ns ||
            (!row->is_fresh && row->calls == 0))
            continue;
        if (is_tiny(row, steps))
            tiny_ns += row->time_ns;
        else
            write_row(row, run, event);
        row->is_fresh = false;
        row->calls = 0;
        row->time_ns = 0;
    }
    if (tiny_ns > 0 && steps->count > 0)
        event_scalar(event, "callbacks", "others below 0.1 percent ms per step",
                     (double)tiny_ns / (double)steps->count / ns_per_ms);
}
