#include "read/process_file.h"

#include <stdlib.h>

/* How far records may be ahead of the last sign of life: the helper may be held up. */
static const uint64_t slack_s = 3600;

static bool is_process_file(const struct ss_file_header *header)
{
    return memcmp(header->magic, SS_FILE_MAGIC, sizeof header->magic) == 0 &&
           header->segment_bytes == SS_SEGMENT_BYTES && header->block_bytes == SS_BLOCK_BYTES &&
           header->inline_offset == SS_INLINE_OFFSET;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void update_range(struct process_file *file)
{
    const struct ss_file_header *const header = &file->header;
    uint64_t latest = larger(header->end_ticks, header->start_ticks);
    uint64_t slack;

    latest = larger(latest, larger(header->beat[0].ticks, header->beat[1].ticks));
    if (header->beats == 0 || header->paused ||
        __builtin_mul_overflow(header->ticks_per_s, slack_s, &slack) ||
        __builtin_add_overflow(latest, slack, &latest))
        latest = UINT64_MAX;
    file->range = (struct tick_range){header->start_ticks, latest};
}

static void read_header_again(struct process_file *file)
{
    struct ss_file_header header;

    if (source_read(&file->source, 0, &header, sizeof header) == sizeof header &&
        is_process_file(&header))
        file->header = header;
}

bool process_file_look_again(struct process_file *file)
{
    const uint64_t latest = file->range.latest;

    if (!file->may_change)
        return false;
    read_header_again(file);
    update_range(file);
    return file->range.latest > latest;
}

uint64_t process_file_death(const struct process_file *file)
{
    const struct ss_file_header *const header = &file->header;

    if (header->state == SS_FILE_STOPPED || header->state == SS_FILE_EXITED)
        return header->end_ticks;
    return header->beats ? header->beat[header->beats & 1].ticks : header->start_ticks;
}

void process_file_lose(struct process_file *file, enum ss_loss_kind kind, uint64_t offset,
                       uint64_t bytes)
{
    const uint64_t left = file->source.size > offset ? file->source.size - offset : 0;
    const struct ss_loss loss = {.kind = kind,
                                 .process = file->index,
                                 .offset = offset,
                                 .bytes = bytes < left ? bytes : left,
                                 .file = file->name};

    losses_add(file->losses, &loss);
}

static int open_source(struct process_file *file, const struct ss_blob *blob,
                       struct file_pool *pool)
{
    if (!blob)
        return source_open(&file->source, pool, file->name);
    return source_init_memory(&file->source, pool, blob->data, blob->size);
}

/* Reads the header for the first time. 0, or SS_E and the kind of the loss. */
static int read_header(struct process_file *file, enum ss_loss_kind *loss)
{
    struct ss_file_header *const header = &file->header;

    *loss = SS_LOSS_TRUNCATED;
    if (source_read(&file->source, 0, header, sizeof *header) != sizeof *header)
        return SS_E_DAMAGED;
    *loss = SS_LOSS_HEADER;
    if (!is_process_file(header))
        return SS_E_DAMAGED;
    *loss = SS_LOSS_FILE;
    if (header->min_reader > SS_FORMAT_VERSION)
        return SS_E_VERSION;
    return 0;
}

static struct process_file *new_file(const char *name)
{
    const size_t size = strlen(name) + 1;
    struct process_file *const file = calloc(1, sizeof *file);

    if (!file)
        return NULL;
    file->source.fd = -1;
    file->name = malloc(size);
    if (!file->name) {
        free(file);
        return NULL;
    }
    memcpy(file->name, name, size);
    return file;
}

struct process_file *process_file_open(const char *name, const struct ss_blob *blob,
                                       struct file_pool *pool, struct losses *losses, int *code)
{
    struct process_file *const file = new_file(name);
    enum ss_loss_kind loss = SS_LOSS_FILE;

    if (!file) {
        *code = SS_E_NOMEM;
        return NULL;
    }
    file->losses = losses;
    *code = open_source(file, blob, pool);
    if (*code == SS_E_DAMAGED)
        loss = SS_LOSS_TRUNCATED;
    if (*code == 0)
        *code = read_header(file, &loss);
    if (*code != 0)
        losses_add(losses, &(struct ss_loss){loss, UINT32_MAX, 0, file->source.stored_size, name});
    else
        *code = timeline_init(&file->timeline, &file->header);
    if (*code == 0)
        return file;
    process_file_close(file);
    return NULL;
}

void process_file_close(struct process_file *file)
{
    source_close(&file->source);
    lane_table_release(file);
    segment_index_release(file);
    catalog_release(&file->catalog);
    timeline_release(&file->timeline);
    free(file->name);
    free(file);
}

static void fill_times(struct process_file *file)
{
    const struct timeline *const timeline = &file->timeline;
    struct ss_process *const info = &file->info;
    struct timeline_line line = {0};

    info->start_ns = timeline_ns(timeline, file->header.start_ticks, &line);
    info->end_ns = timeline_ns(timeline, process_file_death(file), &line);
    if (info->end_ns < info->start_ns)
        info->end_ns = info->start_ns;
    info->ticks_per_s = timeline_ticks_per_s(timeline);
    info->clock_jump_ns = timeline->jump_ns;
    info->clock_drift_ppm = timeline->drift_ppm;
    info->clock_suspect = timeline_is_suspect(timeline);
}

static void fill_info(struct process_file *file)
{
    const struct ss_file_header *const header = &file->header;
    struct ss_process *const info = &file->info;

    info->file = file->name;
    info->pid = header->pid;
    info->parent_pid = header->parent_pid;
    info->kind = header->process_kind;
    info->clock = header->clock;
    info->rank = header->rank;
    info->world = header->world;
    info->start_realtime_ns = header->start_realtime_ns;
    info->cap_bytes = header->cap_bytes;
    info->file_bytes = file->source.stored_size;
    info->unpacked_bytes = file->source.size;
    info->span_cost_ps = header->span_cost_ps;
    info->helper_cpu_ns = header->helper_cpu_ns;
    info->recorder_error = header->error;
    if (!header->error && header->copy == SS_COPY_BEHIND &&
        (info->end == SS_END_KILLED || info->end == SS_END_UNKNOWN))
        info->recorder_error = SS_E_BEHIND;
    info->lanes = (uint32_t)file->lane_count;
    info->names = file->catalog.name_count;
    info->calibrations = file->catalog.calibrations;
    info->reused_records = header->reused_records;
    memcpy(info->reused_by_stage, header->reused_by_stage, sizeof info->reused_by_stage);
    info->lost_names = header->lost_names;
    info->lost_threads = header->lost_threads;
    info->pool_empty = header->pool_empty;
    memcpy(info->boot_id, header->boot_id, sizeof info->boot_id);
}

static int read_contents(struct process_file *file, bool all_again)
{
    const struct ss_file_header *const header = &file->header;
    int code = segment_index_refresh(file, all_again);

    if (code == 0)
        code = catalog_refresh(file);
    if (code == 0 && header->beats > 0)
        code = timeline_set_beat(&file->timeline, header->beat[header->beats & 1].ticks,
                                 header->beat[header->beats & 1].raw_ns);
    return code;
}

/* The header comes first: when it says that the process has ended, all else is there. */
int process_file_refresh(struct process_file *file, const struct host *host)
{
    const bool was_live = file->generation > 0 && file->info.end == SS_END_LIVE;
    int code;

    if (file->complete)
        return 0;
    if (file->generation > 0) {
        source_update(&file->source);
        read_header_again(file);
    }
    file->generation++;
    update_range(file);
    file->info.end = liveness_of(&file->header, host);
    if (file->source.is_packed && file->info.end == SS_END_LIVE)
        file->info.end = SS_END_KILLED;
    file->may_change = !file->source.stored && !file->source.is_packed &&
                       file->info.end != SS_END_STOPPED && file->info.end != SS_END_EXITED;

    const bool ended_now = was_live && file->info.end != SS_END_LIVE;
    const bool all_again = ended_now || file->header.reused_segments != file->reused_seen ||
                           file->header.copy != file->copy_seen;
    code = read_contents(file, all_again);
    if (code == 0) {
        file->reused_seen = file->header.reused_segments;
        file->copy_seen = file->header.copy;
    }
    fill_info(file);
    fill_times(file);
    file->complete = code == 0 && (!file->may_change || file->has_no_writer);
    return code;
}
