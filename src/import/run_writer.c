#include "import/run_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LANE = 1, TEXT_MOST = 2000 };

static void write_at(struct run_writer *writer, const void *data, size_t size, uint64_t offset)
{
    const uint8_t *from = data;

    while (size > 0 && writer->os_error == 0) {
        const ssize_t done = pwrite(writer->fd, from, size, (off_t)offset);
        if (done < 0 && errno != EINTR)
            writer->os_error = errno;
        if (done <= 0)
            continue;
        from += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
}

int run_writer_open(struct run_writer *writer, int dir, const struct run_writer_process *process)
{
    char name[96];

    *writer = (struct run_writer){
        .fd = -1, .segments = 1, .used = SS_SEGMENT_HEADER_BYTES, .process = *process};
    snprintf(name, sizeof name, "p-%" PRIu32 "-%" PRIu32 "-%016" PRIx32 SS_FILE_SUFFIX,
             process->pid, process->number, process->number);
    writer->segment = calloc(1, SS_SEGMENT_BYTES);
    if (!writer->segment)
        return writer->os_error = ENOMEM;
    writer->fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (writer->fd < 0)
        writer->os_error = errno;
    return writer->os_error;
}

/* A full segment, or the last one. */
static void write_segment(struct run_writer *writer, uint8_t *segment, uint32_t lane, uint32_t seq)
{
    const struct ss_segment_header header = {
        .magic = SS_SEGMENT_MAGIC,
        .kind = SS_SEGMENT_RECORDS,
        .lane = lane,
        .seq = seq,
        .lease = writer->segments,
        .first_ticks = (uint64_t)writer->process.start_ns,
    };

    memcpy(segment, &header, sizeof header);
    write_at(writer, segment, SS_SEGMENT_BYTES, (uint64_t)writer->segments++ * SS_SEGMENT_BYTES);
}

static void flush_lane(struct run_writer *writer)
{
    if (writer->used == SS_SEGMENT_HEADER_BYTES)
        return;
    write_segment(writer, writer->segment, LANE, ++writer->lane_seq);
    memset(writer->segment, 0, SS_SEGMENT_BYTES);
    writer->used = SS_SEGMENT_HEADER_BYTES;
}

static void put(struct run_writer *writer, const void *record, size_t size)
{
    if (!writer->segment)
        return;
    if (writer->used + size > SS_SEGMENT_BYTES)
        flush_lane(writer);
    memcpy(writer->segment + writer->used, record, size);
    writer->used += size;
    writer->records++;
}

/* The record behind `head`, padded to whole units, with two texts at its end. */
static void add_texts(struct buf *out, void *record, size_t size, const char *a, const char *b)
{
    struct ss_head *head = record;
    const size_t a_bytes = strnlen(a, TEXT_MOST), b_bytes = strnlen(b, TEXT_MOST);
    const size_t bytes = size + a_bytes + b_bytes;
    const size_t units = (bytes + SS_UNIT - 1) / SS_UNIT;

    head->units = (uint8_t)units;
    buf_add(out, record, size);
    buf_add(out, a, a_bytes);
    buf_add(out, b, b_bytes);
    buf_add_repeated(out, '\0', units * SS_UNIT - bytes);
}

uint16_t run_writer_name(struct run_writer *writer, const char *text, const char *object,
                         enum ss_stage stage, enum ss_role role)
{
    struct ss_rec_name record = {
        .head = {.kind = SS_KIND_NAME},
        .stage = (uint8_t)stage,
        .role = (uint8_t)role,
        .a_bytes = (uint16_t)strnlen(text, TEXT_MOST),
        .b_bytes = (uint16_t)strnlen(object, TEXT_MOST),
    };

    if (writer->names == UINT16_MAX)
        return 0;
    record.head.name = ++writer->names;
    add_texts(&writer->control, &record, offsetof(struct ss_rec_name, text), text, object);
    return record.head.name;
}

void run_writer_info(struct run_writer *writer, const char *key, const char *value)
{
    struct ss_rec_name record = {
        .head = {.kind = SS_KIND_INFO},
        .a_bytes = (uint16_t)strnlen(key, TEXT_MOST),
        .b_bytes = (uint16_t)strnlen(value, TEXT_MOST),
    };

    add_texts(&writer->control, &record, offsetof(struct ss_rec_name, text), key, value);
}

void run_writer_thread(struct run_writer *writer, uint32_t tid, const char *name)
{
    struct ss_rec_text record = {
        .head = {.kind = SS_KIND_THREAD_BEGIN},
        .ticks = (uint64_t)writer->process.start_ns,
        .id = tid,
        .a_bytes = (uint16_t)strnlen(name, TEXT_MOST),
    };
    struct buf out = {0};

    add_texts(&out, &record, offsetof(struct ss_rec_text, text), name, "");
    if (out.failed)
        writer->os_error = ENOMEM;
    else
        put(writer, out.data, out.size);
    buf_release(&out);
}

void run_writer_span(struct run_writer *writer, const struct ss_rec_span *span)
{
    put(writer, span, sizeof *span);
}

void run_writer_point(struct run_writer *writer, enum ss_kind kind, uint16_t name, int64_t at_ns)
{
    const struct ss_rec_point record = {
        .head = {.kind = (uint8_t)kind, .units = 1, .name = name},
        .ticks = (uint64_t)at_ns,
    };

    put(writer, &record, sizeof record);
}

static void fill_header(const struct run_writer *writer, struct ss_file_header *header)
{
    const struct run_writer_process *process = &writer->process;

    memcpy(header->magic, SS_FILE_MAGIC, sizeof header->magic);
    header->version = SS_FORMAT_VERSION;
    header->min_reader = SS_FORMAT_MIN_READER;
    header->segment_bytes = SS_SEGMENT_BYTES;
    header->block_bytes = SS_BLOCK_BYTES;
    header->inline_offset = SS_INLINE_OFFSET;
    header->clock = SS_CLOCK_RAW;
    header->process_kind = SS_PROCESS_TRAINING;
    header->pid = process->pid;
    header->process_start = process->number;
    memcpy(header->file_id, &process->number, sizeof process->number);
    header->rank = process->rank;
    header->world = process->world;
    header->cap_bytes = (uint64_t)writer->segments * SS_SEGMENT_BYTES;
    header->start_ticks = (uint64_t)process->start_ns;
    header->start_raw_ns = process->start_ns;
    header->start_realtime_ns = process->realtime_ns;
    header->ticks_per_s = 1000000000;
    header->state = SS_FILE_EXITED;
    header->end_ticks = (uint64_t)process->end_ns;
    header->segments = writer->segments;
}

/* Names go into the control lane's block as long as they fit, the others into segments. */
static size_t fill_block(const struct buf *control, uint8_t *records, size_t room)
{
    size_t size = 0;

    while (size < control->size) {
        const struct ss_head *head = (const struct ss_head *)(const void *)(control->data + size);
        if (size + head->units * (size_t)SS_UNIT > room)
            break;
        size += head->units * (size_t)SS_UNIT;
    }
    if (size > 0)
        memcpy(records, control->data, size);
    return size;
}

static void write_control(struct run_writer *writer, uint8_t *first)
{
    struct ss_lane_block *block = (struct ss_lane_block *)(void *)(first + SS_BLOCK_BYTES);
    struct buf rest = writer->control;

    for (uint32_t lane = 0; lane <= LANE; lane++) {
        block[lane].magic = SS_LANE_MAGIC;
        block[lane].lane = lane;
        block[lane].owners = 1;
    }
    size_t done = fill_block(&rest, block[0].records, sizeof block[0].records);
    for (uint32_t seq = 1; done < writer->control.size; seq++) {
        memset(writer->segment, 0, SS_SEGMENT_BYTES);
        rest.data = writer->control.data + done;
        rest.size = writer->control.size - done;
        done += fill_block(&rest, writer->segment + SS_SEGMENT_HEADER_BYTES,
                           SS_SEGMENT_BYTES - SS_SEGMENT_HEADER_BYTES);
        write_segment(writer, writer->segment, SS_CONTROL_LANE, seq);
    }
}

static void write_all(struct run_writer *writer)
{
    flush_lane(writer);
    uint8_t *first = calloc(1, SS_SEGMENT_BYTES);
    if (!first || writer->control.failed) {
        writer->os_error = ENOMEM;
        free(first);
        return;
    }
    write_control(writer, first);
    fill_header(writer, (struct ss_file_header *)(void *)first);
    write_at(writer, first, SS_SEGMENT_BYTES, 0);
    free(first);
}

int run_writer_finish(struct run_writer *writer)
{
    if (writer->os_error == 0)
        write_all(writer);
    if (writer->fd >= 0 && close(writer->fd) != 0 && writer->os_error == 0)
        writer->os_error = errno;
    writer->fd = -1;
    buf_release(&writer->control);
    free(writer->segment);
    writer->segment = NULL;
    return writer->os_error;
}
