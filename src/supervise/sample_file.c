#include "supervise/sample_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "read/counter_table.h"
#include "read/liveness.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"

enum {
    SAMPLES_LANE = 1,
    UNITS_PER_SEGMENT = SS_SEGMENT_BYTES / SS_UNIT,
    FIRST_UNIT = SS_SEGMENT_HEADER_BYTES / SS_UNIT,
    WAITING_MOST = 512
};
static const int64_t retry_after_ns = 1000000000;
static const uint64_t least_bytes = 2 * SS_SEGMENT_BYTES;

struct sample_file {
    int fd;
    uint64_t most_segments, segments; /* with the directory */
    uint32_t unit;                    /* next free one in the last segment */
    uint32_t control_unit;            /* the same of the control lane */
    int64_t full_until_ns;            /* nothing is written before that time: there was no room */
    uint64_t beats, lost_records;
    size_t waiting; /* of what follows: put, and not written yet */
    struct ss_rec_point record[WAITING_MOST];
};

static bool is_full(const struct sample_file *file)
{
    return file->full_until_ns > now_ns();
}

static bool is_at_cap(const struct sample_file *file)
{
    return file->segments == file->most_segments && file->unit == UNITS_PER_SEGMENT;
}

static bool write_at(const struct sample_file *file, uint64_t offset, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        const ssize_t done = pwrite(file->fd, at, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return true;
}

#define WRITE_HEADER(file, field, value)                                                           \
    ((void)write_at(file, offsetof(struct ss_file_header, field), value, sizeof *(value)))

static size_t lane_offset(uint32_t number)
{
    return (size_t)SS_BLOCK_BYTES * (1 + number);
}

/* As zeros, where a filter allows no call for it. */
static bool allocate(int fd, off_t at)
{
    static const char zeros[SS_SEGMENT_BYTES];
    const int failed =
        risky_call_kills(RISKY_FALLOCATE) ? EPERM : posix_fallocate(fd, at, SS_SEGMENT_BYTES);

    return failed == 0 || ((failed == EPERM || failed == ENOSYS) &&
                           pwrite(fd, zeros, sizeof zeros, at) == (ssize_t)sizeof zeros);
}

/* Space is allocated before it is used: a full disk shows here. Going over RLIMIT_FSIZE would send
 * a signal. */
static bool add_segment(struct sample_file *file)
{
    const uint64_t at = file->segments * SS_SEGMENT_BYTES;
    struct rlimit limit;

    if (file->segments == file->most_segments ||
        (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < at + SS_SEGMENT_BYTES) ||
        !allocate(file->fd, (off_t)at))
        return false;
    file->segments++;
    return true;
}

/* How many units. */
static uint32_t fill_names(struct ss_lane_block *control)
{
    uint8_t *at = control->records;

    for (unsigned id = 0; id < SS_COUNTER_IDS; id++) {
        struct ss_rec_name *name = (struct ss_rec_name *)(void *)at;
        const size_t bytes = strlen(counter_table[id].text);
        const size_t units = (offsetof(struct ss_rec_name, text) + bytes + SS_UNIT - 1) / SS_UNIT;
        name->head = (struct ss_head){
            .kind = SS_KIND_NAME, .units = (uint8_t)units, .name = (uint16_t)(id + 1)};
        name->a_bytes = (uint16_t)bytes;
        memcpy(at + offsetof(struct ss_rec_name, text), counter_table[id].text, bytes);
        at += units * SS_UNIT;
    }
    return (uint32_t)((size_t)(at - control->records) / SS_UNIT);
}

static void fill_header(const struct sample_file *file, struct ss_file_header *header,
                        int64_t start_ns)
{
    struct host host = {0};

    host_init(&host);
    header->version = SS_FORMAT_VERSION;
    header->min_reader = SS_FORMAT_MIN_READER;
    header->segment_bytes = SS_SEGMENT_BYTES;
    header->block_bytes = SS_BLOCK_BYTES;
    header->inline_offset = SS_INLINE_OFFSET;
    header->clock = SS_CLOCK_RAW;
    header->process_kind = SS_PROCESS_SUPERVISOR;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->process_start = proc_start_of(getpid());
    memcpy(header->boot_id, host.boot_id, sizeof header->boot_id);
    (void)!getrandom(header->file_id, sizeof header->file_id, GRND_NONBLOCK);
    header->rank = -1;
    header->cap_bytes = file->most_segments * SS_SEGMENT_BYTES;
    header->start_raw_ns = start_ns;
    header->start_ticks = (uint64_t)start_ns;
    header->start_realtime_ns = now_of(CLOCK_REALTIME) - (now_raw_ns() - start_ns);
    header->ticks_per_s = 1000000000;
    header->state = SS_FILE_OPEN;
    header->segments = file->segments;
}

/* The magic goes last: a file is whole, or it is none yet. */
static bool write_directory(struct sample_file *file, int64_t start_ns)
{
    const size_t size = lane_offset(SAMPLES_LANE + 1);
    uint8_t *directory = calloc(1, size);

    if (!directory)
        return false;
    fill_header(file, (struct ss_file_header *)(void *)directory, start_ns);
    for (uint32_t number = SS_CONTROL_LANE; number <= SAMPLES_LANE; number++) {
        struct ss_lane_block *lane =
            (struct ss_lane_block *)(void *)(directory + lane_offset(number));
        lane->magic = SS_LANE_MAGIC;
        lane->lane = number;
        if (number == SAMPLES_LANE)
            lane->tid = (uint32_t)getpid();
        else
            file->control_unit = fill_names(lane);
    }
    const bool done = write_at(file, 0, directory, size);
    free(directory);
    if (done)
        sample_file_beat(file);
    return done && write_at(file, 0, SS_FILE_MAGIC, strlen(SS_FILE_MAGIC));
}

static bool name_file(char *name, size_t size)
{
    uint64_t random = 0;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    const int length =
        snprintf(name, size, "s-%ld-%llu-%016llx" SS_FILE_SUFFIX, (long)getpid(),
                 (unsigned long long)proc_start_of(getpid()), (unsigned long long)random);
    return length > 0 && (size_t)length < size;
}

struct sample_file *sample_file_make(int dir, uint64_t most_bytes, int64_t start_ns)
{
    struct sample_file *file = calloc(1, sizeof *file);
    char name[128];

    if (!file || !name_file(name, sizeof name)) {
        free(file);
        return NULL;
    }
    if (most_bytes < least_bytes)
        most_bytes = least_bytes;
    file->most_segments = most_bytes / SS_SEGMENT_BYTES;
    file->unit = UNITS_PER_SEGMENT;
    file->fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->fd >= 0 && add_segment(file) && write_directory(file, start_ns))
        return file;
    if (file->fd >= 0) {
        close(file->fd);
        unlinkat(dir, name, 0);
    }
    free(file);
    return NULL;
}

/* The lease goes last: until then the segment has no owner. */
static bool begin_segment(struct sample_file *file, uint64_t first_ticks)
{
    struct ss_segment_header header = {.magic = SS_SEGMENT_MAGIC,
                                       .kind = SS_SEGMENT_RECORDS,
                                       .lane = SAMPLES_LANE,
                                       .first_ticks = first_ticks};
    const uint64_t at = file->segments * SS_SEGMENT_BYTES, lease = 1;

    if (!add_segment(file))
        return false;
    header.seq = (uint32_t)file->segments - 1;
    if (!write_at(file, at, &header, sizeof header) ||
        !write_at(file, at + offsetof(struct ss_segment_header, lease), &lease, sizeof lease))
        return false;
    file->unit = FIRST_UNIT;
    WRITE_HEADER(file, segments, &file->segments);
    return true;
}

/* Into the last segment. A zero head ends it for a reader: that of the first record goes last, so
 * that all of them appear at once. */
static bool write_records(struct sample_file *file, struct ss_rec_point *record, size_t count)
{
    const uint64_t at = (file->segments - 1) * SS_SEGMENT_BYTES + (uint64_t)file->unit * SS_UNIT;
    const struct ss_head head = record->head;

    record->head = (struct ss_head){0};
    if (!write_at(file, at, record, count * sizeof *record) ||
        !write_at(file, at, &head, sizeof head))
        return false;
    file->unit += (uint32_t)count;
    return true;
}

void sample_file_flush(struct sample_file *file)
{
    size_t done = 0;

    while (done < file->waiting && !is_full(file)) {
        if (file->unit == UNITS_PER_SEGMENT && !begin_segment(file, file->record[done].ticks))
            break;
        const size_t room = UNITS_PER_SEGMENT - file->unit;
        const size_t left = file->waiting - done;
        const size_t count = left < room ? left : room;
        if (!write_records(file, file->record + done, count))
            break;
        done += count;
    }
    if (done < file->waiting && !is_full(file)) /* at the cap there is never room again */
        file->full_until_ns = is_at_cap(file) ? INT64_MAX : now_ns() + retry_after_ns;
    if (done < file->waiting) {
        file->lost_records += file->waiting - done;
        (void)write_at(file,
                       lane_offset(SAMPLES_LANE) + offsetof(struct ss_lane_block, lost_records),
                       &file->lost_records, sizeof file->lost_records);
    }
    file->waiting = 0;
}

void sample_file_put(struct sample_file *file, enum ss_counter_id counter,
                     enum ss_system_state state, uint64_t subject, int64_t time_ns, double value)
{
    if (file->waiting == WAITING_MOST)
        sample_file_flush(file);
    struct ss_rec_point *record = &file->record[file->waiting++];
    *record = (struct ss_rec_point){.head = {.kind = SS_KIND_SYSTEM,
                                             .units = 1,
                                             .name = (uint16_t)(counter + 1),
                                             .flags = (uint16_t)state},
                                    .ticks = (uint64_t)time_ns,
                                    .subject = subject};
    memcpy(&record->value, &value, sizeof value);
}

/* Its head goes last, as that of samples. */
void sample_file_note(struct sample_file *file, const char *key, const char *text)
{
    enum { UNITS = 3, TEXTS = UNITS * SS_UNIT - offsetof(struct ss_rec_name, text) };
    union {
        struct ss_rec_name record;
        uint8_t bytes[UNITS * SS_UNIT];
    } info = {.bytes = {0}};
    const size_t keys = strlen(key), texts = strlen(text);
    const uint64_t at = lane_offset(SS_CONTROL_LANE) + offsetof(struct ss_lane_block, records) +
                        (uint64_t)file->control_unit * SS_UNIT;

    if (keys + texts > TEXTS ||
        (file->control_unit + UNITS) * SS_UNIT > sizeof((struct ss_lane_block *)NULL)->records)
        return;
    info.record.a_bytes = (uint16_t)keys;
    info.record.b_bytes = (uint16_t)texts;
    memcpy(info.bytes + offsetof(struct ss_rec_name, text), key, keys);
    memcpy(info.bytes + offsetof(struct ss_rec_name, text) + keys, text, texts);
    const struct ss_head head = {.kind = SS_KIND_INFO, .units = UNITS};
    if (write_at(file, at, info.bytes, sizeof info.bytes) && write_at(file, at, &head, sizeof head))
        file->control_unit += UNITS;
}

void sample_file_beat(struct sample_file *file)
{
    const int64_t now = now_raw_ns();
    const struct {
        uint64_t ticks;
        int64_t raw_ns;
    } beat = {(uint64_t)now, now};

    file->beats++;
    (void)write_at(file, offsetof(struct ss_file_header, beat) + (file->beats & 1) * sizeof beat,
                   &beat, sizeof beat);
    WRITE_HEADER(file, beats, &file->beats);
}

double sample_file_used(const struct sample_file *file)
{
    const double whole = (double)(file->most_segments - 1) * UNITS_PER_SEGMENT;
    const double filled = (double)(file->segments - 1) * UNITS_PER_SEGMENT;

    return is_full(file) ? 1 : (filled + file->unit - UNITS_PER_SEGMENT) / whole;
}

void sample_file_end(struct sample_file *file)
{
    if (!file)
        return;
    const uint64_t end_ticks = (uint64_t)now_raw_ns();
    const uint32_t state = SS_FILE_STOPPED;
    sample_file_flush(file);
    WRITE_HEADER(file, end_ticks, &end_ticks);
    WRITE_HEADER(file, state, &state);
    close(file->fd);
    free(file);
}
