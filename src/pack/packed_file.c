#include "pack/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512 /* of st_blocks */ };

/* One file on its way from a form to the other. */
struct change {
    int dir, in, out;
    const char *name;
    char fresh[NAME_MAX + 16];
    struct stat status; /* of `in` */
    struct ss_file_header header;
};

bool packed_file_is(const struct ss_file_header *header)
{
    return memcmp(header->magic, SS_FILE_MAGIC, sizeof header->magic) == 0 &&
           header->min_reader == SS_PACKED_VERSION && (header->features & SS_FEATURE_PACKED);
}

void packed_file_undo_header(struct ss_file_header *header)
{
    header->version = SS_FORMAT_VERSION;
    header->min_reader = SS_FORMAT_MIN_READER;
    header->features &= ~(uint64_t)SS_FEATURE_PACKED;
    header->image_bytes = 0;
}

static int read_at(int fd, void *out, size_t size, uint64_t offset, size_t *got)
{
    *got = 0;
    while (*got < size) {
        const ssize_t n = pread(fd, (char *)out + *got, size - *got, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return 0;
}

static int write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* A read lease is given only on a file that no process has open for writing, in whichever namespace
 * that may live. Where there are no leases, as on network file systems, the file itself must say
 * that its recorder has ended. */
static bool has_writer(int fd, const struct ss_file_header *header)
{
    if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0)
        return errno == EAGAIN ||
               (header->state != SS_FILE_STOPPED && header->state != SS_FILE_EXITED);
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
}

/* What is packed is what the last writer left. */
static int read_state(struct change *change, size_t *got)
{
    *got = 0;
    if (fstat(change->in, &change->status) != 0)
        return errno;
    return read_at(change->in, &change->header, sizeof change->header, 0, got);
}

/* Whether someone has written to `in` since. */
static bool has_changed(const struct change *change)
{
    struct stat now;

    return has_writer(change->in, &change->header) || fstat(change->in, &now) != 0 ||
           now.st_size != change->status.st_size ||
           now.st_mtim.tv_sec != change->status.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != change->status.st_mtim.tv_nsec;
}

/* The new file is its owner's, and as open to others as the old one. */
static int take_over_owner(const struct change *change)
{
    const struct stat *status = &change->status;

    if ((status->st_uid != geteuid() || status->st_gid != getegid()) &&
        fchown(change->out, status->st_uid, status->st_gid) != 0)
        return errno;
    return fchmod(change->out, status->st_mode & 0777) == 0 ? 0 : errno;
}

/* Whether `in` is still the file of that name: another one may have replaced it before we had it
 * locked. */
static bool is_current(const struct change *change)
{
    struct stat now;

    return fstatat(change->dir, change->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           now.st_dev == change->status.st_dev && now.st_ino == change->status.st_ino;
}

/* 0 and PACKED_FILE_DONE if it can begin; then it is locked, and `fresh` is ours alone. */
static int begin(struct change *change, int dir, const char *name, bool pack,
                 enum packed_file_result *result)
{
    size_t got;

    *change = (struct change){.dir = dir, .in = -1, .out = -1, .name = name};
    *result = PACKED_FILE_WAS;
    snprintf(change->fresh, sizeof change->fresh, ".%s.packing", name);
    change->in = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (change->in < 0 || fstat(change->in, &change->status) != 0)
        return errno;
    if (!S_ISREG(change->status.st_mode))
        return 0;
    if (flock(change->in, LOCK_EX | LOCK_NB) != 0) {
        *result = PACKED_FILE_BUSY;
        return errno == EWOULDBLOCK ? 0 : errno;
    }
    int failed = read_state(change, &got);
    if (failed || got < sizeof change->header || !is_current(change) ||
        packed_file_is(&change->header) == pack)
        return failed;
    if (has_writer(change->in, &change->header)) {
        *result = PACKED_FILE_WRITTEN;
        return 0;
    }
    failed = read_state(change, &got); /* now it does not change any more */
    if (failed || got < sizeof change->header)
        return failed;
    (void)unlinkat(dir, change->fresh, 0); /* of one that was killed */
    change->out =
        openat(dir, change->fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (change->out < 0)
        return errno;
    *result = PACKED_FILE_DONE;
    return take_over_owner(change);
}

static uint64_t on_disk(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 ? (uint64_t)status.st_blocks * BLOCK : 0;
}

/* Puts the new file in place, or leaves the old one. */
static int end(struct change *change, int failed, struct packed_file_sizes *sizes)
{
    if (change->out >= 0) {
        if (!failed && fsync(change->out) != 0)
            failed = errno;
        *sizes = (struct packed_file_sizes){on_disk(change->in), on_disk(change->out)};
        if (!failed && has_changed(change))
            failed = EBUSY;
        if (!failed && renameat(change->dir, change->fresh, change->dir, change->name) != 0)
            failed = errno;
        if (failed)
            (void)unlinkat(change->dir, change->fresh, 0);
        else
            (void)fsync(change->dir);
        close(change->out);
    }
    if (change->in >= 0)
        close(change->in);
    return failed;
}

/* What the header of a packed file says more must be free in the one of this file. */
static bool can_be_packed(const struct change *change)
{
    const struct ss_file_header *const header = &change->header;

    return memcmp(header->magic, SS_FILE_MAGIC, sizeof header->magic) == 0 &&
           header->version == SS_FORMAT_VERSION && header->min_reader == SS_FORMAT_MIN_READER &&
           header->segment_bytes == SS_SEGMENT_BYTES && header->features == 0 &&
           header->image_bytes == 0 && (uint64_t)change->status.st_size <= SS_PACKED_IMAGE_MOST;
}

static int pack_segment(struct change *change, struct block_packer *packer, uint64_t segment,
                        uint64_t *end_offset)
{
    uint8_t bytes[SS_SEGMENT_BYTES];
    struct ss_packed_entry entry;
    size_t got;
    int failed = read_at(change->in, bytes, sizeof bytes, segment * SS_SEGMENT_BYTES, &got);

    if (failed)
        return failed;
    const uint8_t *const block = block_pack(packer, bytes, got, &entry);
    if (!block)
        return EBADMSG;
    entry.offset = entry.bytes > 0 ? *end_offset : 0;
    failed = write_at(change->out, block, entry.bytes, *end_offset);
    *end_offset += entry.bytes;
    return failed ? failed
                  : write_at(change->out, &entry, sizeof entry, packed_file_entry_offset(segment));
}

static int pack_content(struct change *change, struct block_packer *packer,
                        bool (*may_go_on)(void *context), void *context)
{
    const uint64_t image = (uint64_t)change->status.st_size;
    const uint64_t segments = packed_file_segments(image);
    uint64_t end_offset = packed_file_entry_offset(segments);
    struct ss_file_header header = change->header;
    int failed = 0;

    for (uint64_t k = 0; k < segments && !failed; k++)
        failed = may_go_on && !may_go_on(context) ? ECANCELED
                                                  : pack_segment(change, packer, k, &end_offset);
    header.version = header.min_reader = SS_PACKED_VERSION;
    header.features = SS_FEATURE_PACKED;
    header.image_bytes = image;
    return failed ? failed : write_at(change->out, &header, sizeof header, 0);
}

int packed_file_pack(struct block_packer *packer, int dir, const char *name,
                     bool (*may_go_on)(void *context), void *context,
                     enum packed_file_result *result, struct packed_file_sizes *sizes)
{
    struct change change;
    int failed = begin(&change, dir, name, true, result);

    *sizes = (struct packed_file_sizes){0, 0};
    if (!failed && change.out >= 0)
        failed =
            can_be_packed(&change) ? pack_content(&change, packer, may_go_on, context) : EBADMSG;
    return end(&change, failed, sizes);
}

/* A segment without a block is all zeros, if its index says nothing else. */
static int unpack_segment(struct change *change, struct block_unpacker *unpacker, uint64_t segment,
                          uint64_t image)
{
    uint8_t bytes[SS_SEGMENT_BYTES];
    const uint64_t offset = segment * SS_SEGMENT_BYTES;
    struct ss_packed_entry entry;
    size_t got;
    int failed = read_at(change->in, &entry, sizeof entry, packed_file_entry_offset(segment), &got);

    if (failed || got < sizeof entry || entry.bytes > SS_PACKED_BLOCK_MOST)
        return failed ? failed : EBADMSG;
    if (entry.bytes == 0)
        return block_unpack(unpacker, &entry, bytes) ? 0 : EBADMSG;
    failed = read_at(change->in, block_room(unpacker), entry.bytes, entry.offset, &got);
    if (failed || got < entry.bytes || !block_unpack(unpacker, &entry, bytes))
        return failed ? failed : EBADMSG;
    const uint64_t left = image - offset;
    return write_at(change->out, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes, offset);
}

static int unpack_content(struct change *change, struct block_unpacker *unpacker)
{
    const uint64_t image = change->header.image_bytes;
    int failed = 0;

    if (image > SS_PACKED_IMAGE_MOST)
        return EBADMSG;
    if (ftruncate(change->out, (off_t)image) != 0)
        return errno;
    for (uint64_t k = 0; k < packed_file_segments(image) && !failed; k++)
        failed = unpack_segment(change, unpacker, k, image);
    return failed;
}

int packed_file_unpack(struct block_unpacker *unpacker, int dir, const char *name,
                       enum packed_file_result *result, struct packed_file_sizes *sizes)
{
    struct change change;
    int failed = begin(&change, dir, name, false, result);

    *sizes = (struct packed_file_sizes){0, 0};
    if (!failed && change.out >= 0)
        failed = unpack_content(&change, unpacker);
    return end(&change, failed, sizes);
}
