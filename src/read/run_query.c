/* What a run says about itself: processes, lanes, names, infos, losses, open spans. */
#include <stdio.h>
#include <stdlib.h>

#include "read/lane_reader.h"
#include "read/run.h"

bool ss_run_is_live(const struct ss_run *run)
{
    for (size_t i = 0; i < run->file_count; i++)
        if (run->files[i]->info.end == SS_END_LIVE)
            return true;
    return false;
}

size_t ss_run_processes(const struct ss_run *run)
{
    return run->file_count;
}

const struct ss_process *ss_run_process(const struct ss_run *run, size_t index)
{
    return index < run->file_count ? &run->files[index]->info : NULL;
}

bool run_is_training(const struct ss_run *run, size_t process)
{
    return run->files[process]->info.kind != SS_PROCESS_SUPERVISOR;
}

uint32_t run_process_number(const struct ss_run *run, size_t process)
{
    return process < run->file_count ? run->files[process]->order : 0;
}

uint32_t run_pid(const struct ss_run *run, size_t process)
{
    return process < run->file_count ? run->files[process]->info.pid : 0;
}

size_t run_training_processes(const struct ss_run *run)
{
    size_t count = 0;

    for (size_t i = 0; i < run->file_count; i++)
        count += run_is_training(run, i);
    return count;
}

size_t run_first_training(const struct ss_run *run)
{
    for (size_t i = 0; i < run->file_count; i++)
        if (run_is_training(run, i))
            return i;
    return SIZE_MAX;
}

size_t ss_run_lanes(const struct ss_run *run)
{
    return run->lane_count;
}

const struct ss_lane *ss_run_lane(const struct ss_run *run, size_t index)
{
    return index < run->lane_count ? &run->lanes[index]->info : NULL;
}

size_t ss_run_losses(const struct ss_run *run)
{
    return run->losses.count;
}

const struct ss_loss *ss_run_loss(const struct ss_run *run, size_t index)
{
    return index < run->losses.count ? &run->losses.items[index] : NULL;
}

/* "(name 17)" and its like, made when first asked for; the same for all processes. */
enum { MISSING_PER_PAGE = 64 };

struct missing_name {
    struct ss_name_info info;
    char text[16];
};

struct missing_names {
    struct missing_name *pages[SS_MAX_NAMES / MISSING_PER_PAGE];
};

struct missing_names *missing_names_new(void)
{
    return calloc(1, sizeof(struct missing_names));
}

void missing_names_free(struct missing_names *missing)
{
    for (size_t i = 0; missing && i < SS_MAX_NAMES / MISSING_PER_PAGE; i++)
        free(missing->pages[i]);
    free(missing);
}

static const struct ss_name_info *missing_name(struct missing_names *missing, uint32_t id)
{
    static const struct ss_name_info some = {.text = {"(name)", 6}, .object = {"", 0}};

    if (id >= SS_MAX_NAMES)
        return &some;
    struct missing_name **const page = &missing->pages[id / MISSING_PER_PAGE];
    if (!*page)
        *page = calloc(MISSING_PER_PAGE, sizeof **page);
    if (!*page)
        return &some;
    struct missing_name *const name = &(*page)[id % MISSING_PER_PAGE];
    const int size = snprintf(name->text, sizeof name->text, "(name %u)", (unsigned)id);
    name->info.text = (struct ss_text){name->text, (size_t)size};
    name->info.object = (struct ss_text){"", 0};
    return &name->info;
}

const struct ss_name_info *ss_run_name(const struct ss_run *run, size_t process, uint32_t id)
{
    static const struct ss_name_info unnamed = {.text = {"(unnamed)", 9}, .object = {"", 0}};

    if (id == 0)
        return &unnamed;
    if (process < run->file_count) {
        const struct catalog *const catalog = &run->files[process]->catalog;
        if (id < catalog->name_count && catalog->names[id].text.data)
            return &catalog->names[id];
    }
    return missing_name(run->missing, id);
}

static const struct manifest *facts_of(const struct ss_run *run, size_t process)
{
    static const struct manifest none;

    if (process == SIZE_MAX)
        return &run->manifest;
    return process < run->file_count ? &run->files[process]->catalog.infos : &none;
}

struct ss_text ss_run_info(const struct ss_run *run, size_t process, const char *key)
{
    return manifest_find(facts_of(run, process), key);
}

bool ss_run_info_at(const struct ss_run *run, size_t process, size_t index, struct ss_text *key,
                    struct ss_text *value)
{
    const struct manifest *const facts = facts_of(run, process);

    if (index >= facts->count)
        return false;
    *key = facts->items[index].key;
    *value = facts->items[index].value;
    return true;
}

/* Reads a lane to its end, to know its last span; the next time only what is new. */
struct lane_tail {
    struct lane_reader reader;
};

enum { TAIL_BUFFER_BYTES = 65536 };

static bool read_tail(struct run_lane *lane)
{
    uint8_t *const buffer = malloc(TAIL_BUFFER_BYTES);

    if (buffer && !lane->tail) {
        lane->tail = malloc(sizeof *lane->tail);
        if (lane->tail)
            lane_reader_init(&lane->tail->reader, lane, NULL, TAIL_BUFFER_BYTES);
    }
    if (buffer && lane->tail) {
        lane_reader_refreshed(&lane->tail->reader);
        lane->tail->reader.walk.buffer = buffer;
        while (lane_reader_next_record(&lane->tail->reader))
            ;
        lane_walk_forget_view(&lane->tail->reader.walk);
    }
    free(buffer);
    return buffer && lane->tail;
}

size_t ss_run_open_spans(struct ss_run *run, size_t lane, struct ss_record *out, size_t max)
{
    struct ss_open_span stack[SS_STACK_DEPTH];

    if (lane >= run->lane_count || !read_tail(run->lanes[lane]))
        return 0;
    struct lane_reader *const reader = &run->lanes[lane]->tail->reader;
    size_t count = lane_reader_open_spans(reader, stack);
    if (count > max)
        count = max;
    for (size_t i = 0; i < count; i++)
        lane_reader_close_span(reader, &stack[i], &out[i]);
    return count;
}
