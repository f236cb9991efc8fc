#include "support/synth.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the next record of a lane goes. */
struct synth_lane {
    size_t at, end; /* offsets; at == end: into a new segment */
    size_t segment; /* offset of its newest segment, 0: none */
    uint32_t seq;
    bool made;
};

struct synth {
    uint8_t *bytes;
    size_t size, capacity;
    uint64_t leases;
    struct synth_lane *lanes;
    uint32_t lane_count;
    size_t *directories; /* offsets, by number */
    uint32_t directory_count;
};

static void *resize(void *old, size_t size)
{
    void *const new = realloc(old, size);

    if (!new)
        abort();
    return new;
}

static size_t add_segment(struct synth *synth)
{
    const size_t at = (synth->size + SS_SEGMENT_BYTES - 1) / SS_SEGMENT_BYTES * SS_SEGMENT_BYTES;
    const size_t size = at + SS_SEGMENT_BYTES;

    if (size > synth->capacity) {
        synth->capacity = 2 * size;
        synth->bytes = resize(synth->bytes, synth->capacity);
    }
    memset(synth->bytes + synth->size, 0, size - synth->size);
    synth->size = size;
    return at;
}

static struct ss_segment_header *segment_at(struct synth *synth, size_t at)
{
    return (struct ss_segment_header *)(void *)(synth->bytes + at);
}

/* Directories are made in the order of their numbers, as the recorder does. */
static size_t directory(struct synth *synth, uint32_t number)
{
    while (synth->directory_count <= number) {
        const uint32_t next = synth->directory_count;
        const size_t at = next == 0 ? 0 : add_segment(synth);
        synth->directories = resize(synth->directories, (next + 1) * sizeof *synth->directories);
        synth->directories[next] = at;
        synth->directory_count++;
        if (next > 0)
            *segment_at(synth, at) =
                (struct ss_segment_header){.magic = SS_SEGMENT_MAGIC,
                                           .kind = SS_SEGMENT_DIRECTORY,
                                           .lane = next * SS_BLOCKS_PER_SEGMENT,
                                           .lease = ++synth->leases};
    }
    return synth->directories[number];
}

static size_t block_offset(struct synth *synth, uint32_t lane)
{
    return directory(synth, lane / SS_BLOCKS_PER_SEGMENT) +
           (1 + lane % SS_BLOCKS_PER_SEGMENT) * SS_BLOCK_BYTES;
}

static struct synth_lane *lane_of(struct synth *synth, uint32_t number)
{
    if (number >= synth->lane_count) {
        synth->lanes = resize(synth->lanes, (number + 1) * sizeof *synth->lanes);
        memset(synth->lanes + synth->lane_count, 0,
               (number + 1 - synth->lane_count) * sizeof *synth->lanes);
        synth->lane_count = number + 1;
    }
    struct synth_lane *const lane = &synth->lanes[number];
    if (!lane->made) {
        const size_t block = block_offset(synth, number);
        const struct ss_lane_block fresh = {.magic = SS_LANE_MAGIC, .lane = number};
        memcpy(synth->bytes + block, &fresh, sizeof fresh);
        *lane = (struct synth_lane){
            .at = block + SS_INLINE_OFFSET, .end = block + SS_BLOCK_BYTES, .made = true};
    }
    return lane;
}

struct synth *synth_new(void)
{
    struct synth *const synth = resize(NULL, sizeof *synth);

    *synth = (struct synth){0};
    add_segment(synth);
    *synth_header(synth) = (struct ss_file_header){.version = SS_FORMAT_VERSION,
                                                   .min_reader = SS_FORMAT_MIN_READER,
                                                   .segment_bytes = SS_SEGMENT_BYTES,
                                                   .block_bytes = SS_BLOCK_BYTES,
                                                   .inline_offset = SS_INLINE_OFFSET,
                                                   .clock = SS_CLOCK_RAW,
                                                   .pid = 4711,
                                                   .parent_pid = 1,
                                                   .rank = -1,
                                                   .start_ticks = 1000,
                                                   .start_raw_ns = 1000,
                                                   .start_realtime_ns = 5000,
                                                   .ticks_per_s = 1000000000,
                                                   .state = SS_FILE_EXITED,
                                                   .end_ticks = 1000000};
    memcpy(synth_header(synth)->magic, SS_FILE_MAGIC, 8);
    lane_of(synth, SS_CONTROL_LANE);
    return synth;
}

void synth_free(struct synth *synth)
{
    free(synth->bytes);
    free(synth->lanes);
    free(synth->directories);
    free(synth);
}

struct ss_file_header *synth_header(struct synth *synth)
{
    return (struct ss_file_header *)(void *)synth->bytes;
}

struct ss_lane_block *synth_block(struct synth *synth, uint32_t lane)
{
    lane_of(synth, lane);
    return (struct ss_lane_block *)(void *)(synth->bytes + block_offset(synth, lane));
}

struct ss_segment_header *synth_segment(struct synth *synth, uint32_t lane)
{
    const size_t at = lane_of(synth, lane)->segment;

    return at ? segment_at(synth, at) : NULL;
}

void synth_next_segment(struct synth *synth, uint32_t lane)
{
    struct synth_lane *const l = lane_of(synth, lane);

    l->at = l->end;
}

void synth_skip_segments(struct synth *synth, uint32_t lane, uint32_t gap)
{
    synth_next_segment(synth, lane);
    lane_of(synth, lane)->seq += gap;
}

void synth_free_segment(struct synth *synth)
{
    const size_t at = add_segment(synth);

    *segment_at(synth, at) = (struct ss_segment_header){.magic = SS_SEGMENT_MAGIC};
}

static void take_segment(struct synth *synth, uint32_t number)
{
    const size_t at = add_segment(synth);
    struct synth_lane *const lane = lane_of(synth, number);

    *lane = (struct synth_lane){.at = at + SS_SEGMENT_HEADER_BYTES,
                                .end = at + SS_SEGMENT_BYTES,
                                .segment = at,
                                .seq = lane->seq + 1,
                                .made = true};
    *segment_at(synth, at) = (struct ss_segment_header){.magic = SS_SEGMENT_MAGIC,
                                                        .kind = SS_SEGMENT_RECORDS,
                                                        .lane = number,
                                                        .seq = lane->seq,
                                                        .lease = ++synth->leases};
}

uint8_t *synth_record(struct synth *synth, uint32_t lane, const struct ss_head *head,
                      const void *rest, size_t size)
{
    const size_t bytes = (size_t)head->units * SS_UNIT;
    struct synth_lane *l = lane_of(synth, lane);

    if (bytes > l->end - l->at)
        take_segment(synth, lane);
    l = lane_of(synth, lane);
    uint8_t *const at = synth->bytes + l->at;
    memcpy(at, head, sizeof *head);
    memcpy(at + sizeof *head, rest, size);
    l->at += bytes;
    return at;
}

/* A struct of format.h that begins with its head. */
static uint8_t *add(struct synth *synth, uint32_t lane, const struct ss_head *head, size_t size)
{
    return synth_record(synth, lane, head, head + 1, size - sizeof *head);
}

uint8_t *synth_full_span(struct synth *synth, uint32_t lane, const struct ss_rec_span *span)
{
    return add(synth, lane, &span->head, sizeof *span);
}

uint8_t *synth_span(struct synth *synth, uint32_t lane, uint16_t name, uint64_t start, uint64_t end)
{
    const struct ss_rec_span span = {
        {.kind = SS_KIND_SPAN, .units = 1, .name = name}, start, end, 0};

    return synth_full_span(synth, lane, &span);
}

uint8_t *synth_window(struct synth *synth, uint32_t lane, unsigned kind, uint64_t start,
                      uint64_t end, int64_t arg)
{
    const struct ss_rec_span span = {{.kind = (uint8_t)kind, .units = 1}, start, end, arg};

    return synth_full_span(synth, lane, &span);
}

uint8_t *synth_point(struct synth *synth, uint32_t lane, unsigned kind, uint16_t name,
                     uint64_t ticks, uint64_t value)
{
    const struct ss_rec_point point = {
        {.kind = (uint8_t)kind, .units = 1, .name = name}, ticks, value, 0};

    return add(synth, lane, &point.head, sizeof point);
}

uint8_t *synth_counter(struct synth *synth, uint32_t lane, uint16_t name, uint64_t ticks,
                       double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return synth_point(synth, lane, SS_KIND_COUNTER, name, ticks, bits);
}

uint8_t *synth_system(struct synth *synth, uint32_t lane, uint16_t name, uint64_t ticks,
                      double value, uint64_t subject, unsigned state)
{
    struct ss_rec_point point = {
        {.kind = SS_KIND_SYSTEM, .units = 1, .name = name, .flags = (uint16_t)state},
        ticks,
        0,
        subject};

    memcpy(&point.value, &value, sizeof value);
    return add(synth, lane, &point.head, sizeof point);
}

/* The records that end with texts: `fields` up to offset 24, then a and b. */
static uint8_t *add_texts(struct synth *synth, uint32_t lane, const void *fields, const char *a,
                          const char *b)
{
    const size_t a_bytes = strlen(a), b_bytes = strlen(b);
    uint8_t record[SS_MAX_UNITS * SS_UNIT] = {0};
    struct ss_rec_text *const text = (struct ss_rec_text *)(void *)record;

    memcpy(record, fields, offsetof(struct ss_rec_text, text));
    text->head.units =
        (uint8_t)((offsetof(struct ss_rec_text, text) + a_bytes + b_bytes + SS_UNIT - 1) / SS_UNIT);
    text->a_bytes = (uint16_t)a_bytes;
    text->b_bytes = (uint16_t)b_bytes;
    memcpy(record + offsetof(struct ss_rec_text, text), a, a_bytes);
    memcpy(record + offsetof(struct ss_rec_text, text) + a_bytes, b, b_bytes);
    return add(synth, lane, &text->head, (size_t)text->head.units * SS_UNIT);
}

uint8_t *synth_text(struct synth *synth, uint32_t lane, unsigned kind, uint16_t name,
                    uint64_t ticks, uint32_t id, const char *a, const char *b)
{
    const struct ss_rec_text text = {
        .head = {.kind = (uint8_t)kind, .name = name}, .ticks = ticks, .id = id};

    return add_texts(synth, lane, &text, a, b);
}

uint8_t *synth_name(struct synth *synth, uint16_t id, const char *text, unsigned stage,
                    unsigned role, unsigned scope, const char *object)
{
    const struct ss_rec_name name = {.head = {.kind = SS_KIND_NAME, .name = id},
                                     .stage = (uint8_t)stage,
                                     .role = (uint8_t)role,
                                     .scope = (uint8_t)scope};

    return add_texts(synth, SS_CONTROL_LANE, &name, text, object);
}

uint8_t *synth_info(struct synth *synth, const char *key, const char *value)
{
    const struct ss_rec_name info = {.head = {.kind = SS_KIND_INFO}};

    return add_texts(synth, SS_CONTROL_LANE, &info, key, value);
}

uint8_t *synth_frame(struct synth *synth, uint32_t lane, uint32_t id, uint32_t line,
                     const char *function, const char *file)
{
    const struct ss_rec_frame frame = {.head = {.kind = SS_KIND_FRAME}, .id = id, .line = line};

    return add_texts(synth, lane, &frame, function, file);
}

uint8_t *synth_plan(struct synth *synth, uint32_t lane, uint64_t ticks, const uint64_t plan[4])
{
    const struct ss_rec_plan record = {
        {.kind = SS_KIND_PLAN, .units = 2}, ticks, plan[0], plan[1], plan[2], plan[3], {0}};

    return add(synth, lane, &record.head, sizeof record);
}

uint8_t *synth_calibration(struct synth *synth, uint64_t ticks, int64_t raw_ns, int64_t realtime_ns)
{
    const struct ss_rec_calibration record = {
        {.kind = SS_KIND_CALIBRATION, .units = 2}, ticks, raw_ns, realtime_ns, 40, {0}};

    return add(synth, SS_CONTROL_LANE, &record.head, sizeof record);
}

uint8_t *synth_sample(struct synth *synth, uint32_t lane, uint64_t ticks, uint32_t tid,
                      const uint32_t *frames, uint16_t count)
{
    const size_t start = offsetof(struct ss_rec_sample, frame), size = count * sizeof *frames;
    uint8_t record[SS_MAX_UNITS * SS_UNIT] = {0};
    struct ss_rec_sample *const sample = (struct ss_rec_sample *)(void *)record;

    sample->head.kind = SS_KIND_SAMPLE;
    sample->head.units = (uint8_t)((start + size + SS_UNIT - 1) / SS_UNIT);
    sample->ticks = ticks;
    sample->tid = tid;
    sample->frames = count;
    memcpy(record + start, frames, size);
    return add(synth, lane, &sample->head, (size_t)sample->head.units * SS_UNIT);
}

void synth_open(struct synth *synth, uint32_t lane, uint16_t name, uint64_t start)
{
    struct ss_lane_block *const block = synth_block(synth, lane);
    const uint32_t depth = block->depth++;

    block->open[depth + 1] = (struct ss_open_span){
        start, {.kind = SS_KIND_SPAN, .units = 1, .name = name, .depth = (uint8_t)depth}};
}

void synth_beat(struct synth *synth, uint64_t ticks, int64_t raw_ns)
{
    struct ss_file_header *const header = synth_header(synth);

    header->beat[(header->beats + 1) & 1].ticks = ticks;
    header->beat[(header->beats + 1) & 1].raw_ns = raw_ns;
    header->beats++;
}

void synth_give_up(struct synth *synth, uint32_t lane, uint32_t seq)
{
    for (size_t at = SS_SEGMENT_BYTES; at < synth->size; at += SS_SEGMENT_BYTES) {
        struct ss_segment_header *const segment = segment_at(synth, at);
        if (segment->kind != SS_SEGMENT_RECORDS || segment->lane != lane || segment->seq != seq)
            continue;
        memset(segment, 0, SS_SEGMENT_BYTES);
        synth_header(synth)->reused_segments++;
    }
}

uint8_t *synth_bytes(struct synth *synth)
{
    return synth->bytes;
}

size_t synth_size(const struct synth *synth)
{
    return synth->size;
}

void synth_cut(struct synth *synth, size_t size)
{
    synth->size = size;
}

void synth_trim(struct synth *synth)
{
    const size_t last = (synth->size - 1) / SS_SEGMENT_BYTES * SS_SEGMENT_BYTES;
    const struct ss_segment_header *const segment = segment_at(synth, last);
    const bool records = last > 0 && segment->kind == SS_SEGMENT_RECORDS;
    const size_t unit = records ? SS_UNIT : SS_BLOCK_BYTES;
    size_t size = synth->size;

    while (size > 0 && synth->bytes[size - 1] == 0)
        size--;
    size = (size + unit - 1) / unit * unit;
    if (records && size < synth->size)
        size += SS_UNIT; /* the zero head that ends the segment */
    synth->size = size;
}

struct ss_blob synth_blob(struct synth *synth, const char *name)
{
    return (struct ss_blob){name, synth->bytes, synth->size};
}

int synth_write(struct synth *synth, const char *dir, const char *name)
{
    char path[4096];
    size_t done = 0;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    while (done < synth->size) {
        const ssize_t put = pwrite(fd, synth->bytes + done, synth->size - done, (off_t)done);
        if (put < 0)
            break;
        done += (size_t)put;
    }
    const bool good = done == synth->size && ftruncate(fd, (off_t)done) == 0;
    return close(fd) == 0 && good ? 0 : -1;
}
