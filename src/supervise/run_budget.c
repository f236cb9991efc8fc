#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/quantity.h"
#include "base/risky_calls.h"
#include "read/array.h"
#include "stepscope/format.h"
#include "supervise/now.h"
#include "supervise/supervise_parts.h"

enum {
    PAGE = 4096,
    LOOPS_FIRST = 64,  /* threads with a loop that are asked for at first */
    FIRST_KEPT = 8,    /* processes */
    NEWEST_KEPT = 16,  /* of those that may be folded */
    FILES_MOST = 4096, /* of those that may be folded */
    TRIES_MOST = 5,    /* to trim a file: not every file system has leases */
    HEADROOM_PART = 8, /* of the budget is freed at once */
    BLOCK = 512        /* of st_blocks */
};
static const int64_t longest_trim_ns = 50000000;
static const uint64_t default_budget = UINT64_C(1) << 30;

struct budget_file {
    uint64_t bytes; /* on the disk; of one that has ended */
    uint8_t tries;
    bool is_trimmed, is_folded;
    bool may_live; /* a process has it open for writing */
};

void run_budget_init(struct run_budget *budget, int dir)
{
    const uint64_t wanted = size_parse(secure_getenv("STEPSCOPE_RUN_CAP"));

    *budget = (struct run_budget){.dir = dir, .most_bytes = wanted ? wanted : default_budget};
}

void run_budget_release(struct run_budget *budget)
{
    free(budget->files);
    *budget = (struct run_budget){.dir = -1};
}

static int open_file(const struct run_budget *budget, const char *name, int flags)
{
    return openat(budget->dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

enum writer { WRITER_NONE, WRITER_LIVES, WRITER_UNKNOWN };

/* A read lease is given only on a file that no process has open or mapped for writing, in
 * whichever namespace that may live: cutting off a page that is mapped would kill it. */
static enum writer find_writer(const struct run_budget *budget, const char *name)
{
    const int fd = open_file(budget, name, O_RDONLY);
    enum writer writer = WRITER_UNKNOWN;

    if (fd < 0)
        return writer;
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        writer = WRITER_NONE;
        (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    } else if (errno == EAGAIN) {
        writer = WRITER_LIVES;
    }
    close(fd);
    return writer;
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

struct zero_run {
    off_t start, end;
};

/* Gives the run back to the file system, since holes read as zeros, and begins another. */
static void punch(int fd, struct zero_run *zeros, off_t next)
{
    if (zeros->end > zeros->start && !risky_call_kills(RISKY_FALLOCATE))
        (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, zeros->start,
                        zeros->end - zeros->start);
    zeros->start = zeros->end = next;
}

/* A segment is used from its beginning on, so what follows its last byte is free. */
static size_t used_bytes(const unsigned char *segment, size_t size)
{
    while (size > 0 && is_zero(segment + (size - 1) / PAGE * PAGE, (size - 1) % PAGE + 1))
        size = (size - 1) / PAGE * PAGE;
    return size;
}

/* How much of the segment at `at` is used, in a file of `size` bytes; all of it if not all of it
 * can be read. */
static size_t used_of_segment(int fd, off_t at, off_t size)
{
    static unsigned char segment[SS_SEGMENT_BYTES];
    const off_t there = size - at < SS_SEGMENT_BYTES ? size - at : SS_SEGMENT_BYTES;
    const ssize_t got = pread(fd, segment, (size_t)there, at);

    return got != there ? sizeof segment : used_bytes(segment, (size_t)got);
}

/* Cuts off the segments behind the last one that is used, and punches out the ends of the others. A
 * call of the kernel for each page would take seconds on a slow disk. */
static void trim_content(int fd)
{
    struct stat status;
    struct zero_run zeros = {0, 0};

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    off_t size = status.st_size;
    while (size > SS_SEGMENT_BYTES &&
           used_of_segment(fd, (size - 1) / SS_SEGMENT_BYTES * SS_SEGMENT_BYTES, size) == 0)
        size = (size - 1) / SS_SEGMENT_BYTES * SS_SEGMENT_BYTES;
    if (size < status.st_size && ftruncate(fd, size) != 0)
        return;
    for (off_t at = 0; at < size; at += SS_SEGMENT_BYTES) {
        const off_t used = (off_t)used_of_segment(fd, at, size);
        const off_t from = at + (used + PAGE - 1) / PAGE * PAGE;
        if (used > 0)
            punch(fd, &zeros, from);
        zeros.end = at + SS_SEGMENT_BYTES < size ? at + SS_SEGMENT_BYTES : size;
    }
    punch(fd, &zeros, size);
}

static void trim(const struct run_budget *budget, struct budget_file *file, const char *name)
{
    const enum writer writer = find_writer(budget, name);

    file->tries++;
    file->may_live = writer != WRITER_UNKNOWN;
    if (writer != WRITER_NONE)
        return;
    const int fd = open_file(budget, name, O_RDWR);
    if (fd < 0)
        return;
    trim_content(fd);
    close(fd);
    file->may_live = false;
    file->is_trimmed = true;
}

static uint64_t bytes_on_disk(const struct run_budget *budget, const char *name)
{
    struct stat status;

    if (fstatat(budget->dir, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return (uint64_t)status.st_blocks * BLOCK;
}

static bool make_room(struct run_budget *budget, size_t count)
{
    struct budget_file *files = array_grow(budget->files, &budget->capacity, sizeof *files, count);

    if (!files)
        return false;
    budget->files = files;
    budget->count = count;
    return true;
}

/* Of all that ended since the last look, as many as there is time for: signals wait for us. Returns
 * what the files of the run take. */
static uint64_t trim_ended(struct run_budget *budget, struct ss_run *run)
{
    const int64_t until_ns = now_ns() + longest_trim_ns;
    uint64_t total = 0;

    budget->is_late = false;
    for (size_t i = 0; i < budget->count; i++) {
        struct budget_file *const file = &budget->files[i];
        const struct ss_process *const process = ss_run_process(run, i);
        if (process->end == SS_END_LIVE) {
            total += process->file_bytes;
            continue;
        }
        const bool is_due = !file->is_folded && !file->is_trimmed && file->tries < TRIES_MOST;
        budget->is_late |= is_due && now_ns() >= until_ns;
        if (is_due && !budget->is_late) {
            trim(budget, file, process->file);
            file->bytes = bytes_on_disk(budget, process->file);
            if (file->is_trimmed)
                run_note_no_writer(run, i);
        }
        total += file->is_folded ? 0 : file->tries ? file->bytes : process->file_bytes;
    }
    return total;
}

/* Processes that hold training loops, by pid; the first one is that which the report is about. */
struct loop_holders {
    struct model_loop_thread *loops;
    size_t count;
    uint32_t first_pid;
};

static int compare_pids(const void *a, const void *b)
{
    const uint32_t pa = ((const struct model_loop_thread *)a)->pid;
    const uint32_t pb = ((const struct model_loop_thread *)b)->pid;

    return (pa > pb) - (pa < pb);
}

/* False: no memory. */
static bool find_holders(struct loop_holders *holders, const struct model *model)
{
    *holders = (struct loop_holders){0};
    for (size_t most = LOOPS_FIRST;; most *= 2) {
        struct model_loop_thread *const loops = realloc(holders->loops, most * sizeof *loops);
        if (!loops) {
            free(holders->loops);
            return false;
        }
        holders->loops = loops;
        holders->count = model_loop_threads(model, loops, most);
        if (holders->count < most)
            break;
    }
    if (holders->count > 0)
        holders->first_pid = holders->loops[0].pid;
    qsort(holders->loops, holders->count, sizeof holders->loops[0], compare_pids);
    return true;
}

static bool holds_loop(const struct loop_holders *holders, uint32_t pid)
{
    const struct model_loop_thread wanted = {.pid = pid};

    return bsearch(&wanted, holders->loops, holders->count, sizeof wanted, compare_pids) != NULL;
}

/* Has it ended for certain? Where files have no leases, a process that said so has. */
static bool is_over(const struct budget_file *file, const struct ss_process *process)
{
    const bool said_so = process->end == SS_END_EXITED || process->end == SS_END_STOPPED;

    return file->tries > 0 && (file->is_trimmed || (said_so && !file->may_live));
}

/* Those that may be folded, oldest first, with or without a loop; returns how many there are. */
static size_t find_foldable(const struct run_budget *budget, const struct ss_run *run,
                            const struct loop_holders *holders, bool with_loop, size_t *found)
{
    size_t count = 0;

    for (size_t i = FIRST_KEPT; i < budget->count; i++) {
        const struct budget_file *const file = &budget->files[i];
        const uint32_t pid = run_pid(run, i);
        if (!file->is_folded && is_over(file, ss_run_process(run, i)) && run_is_training(run, i) &&
            fold_is_possible(run, i) && holds_loop(holders, pid) == with_loop &&
            !(with_loop && pid == holders->first_pid))
            found[count++] = i;
    }
    return count;
}

static bool note_folded(const struct run_budget *budget, const struct ss_run *run)
{
    struct buf text = {0};

    fold_write(&text, run);
    const bool is_noted = small_file_write_at(budget->dir, RUN_FOLDED_FILE, &text) == SS_E_OK;
    buf_release(&text);
    return is_noted;
}

/* The counts are written first: a file that is counted and still there is better than one that is
 * missing without a word. Returns what the run takes then. */
static uint64_t fold_oldest(struct run_budget *budget, struct ss_run *run, const size_t *found,
                            size_t count, uint64_t total)
{
    const uint64_t wanted = budget->most_bytes - budget->most_bytes / HEADROOM_PART;
    size_t end = 0;

    while (end + NEWEST_KEPT < count && (total > wanted || count - end > FILES_MOST)) {
        struct budget_file *const file = &budget->files[found[end]];
        fold_process(run, found[end++], file->bytes);
        file->is_folded = true;
        total -= file->bytes < total ? file->bytes : total;
    }
    const bool is_noted = end == 0 || note_folded(budget, run);
    for (size_t i = 0; i < end; i++)
        (void)unlinkat(budget->dir, ss_run_process(run, found[i])->file, 0);
    if (!is_noted) /* now there is room on the disk */
        (void)note_folded(budget, run);
    return total;
}

/* Workers and the like first; processes that trained only if the run is too large without. */
static uint64_t fold(struct run_budget *budget, struct ss_run *run, const struct model *model,
                     uint64_t total)
{
    size_t *const found = malloc(budget->count * sizeof *found);
    struct loop_holders holders;

    if (found && find_holders(&holders, model)) {
        for (int with_loop = 0; with_loop < 2; with_loop++)
            if (total > budget->most_bytes || budget->count > FILES_MOST) {
                const size_t count = find_foldable(budget, run, &holders, with_loop == 1, found);
                total = fold_oldest(budget, run, found, count, total);
            }
        free(holders.loops);
    }
    free(found);
    return total;
}

/* Each process that lives may take its part of half of what is left: so all of them together never
 * take more than there is, however they grow until the next look. */
static void grant_rest(const struct run_budget *budget, const struct ss_run *run, uint64_t total,
                       struct keeper *keeper)
{
    const uint64_t left = budget->most_bytes > total ? budget->most_bytes - total : 0;
    size_t live = 1;

    for (size_t i = 0; i < budget->count; i++)
        live += ss_run_process(run, i)->end == SS_END_LIVE;
    for (size_t i = 0; i < budget->count; i++) {
        const struct ss_process *const process = ss_run_process(run, i);
        if (process->end == SS_END_LIVE)
            keeper_grant(keeper, process->file, process->file_bytes + left / 2 / live);
    }
    keeper_note_left(keeper, left);
}

bool run_budget_keep(struct run_budget *budget, struct ss_run *run, const struct model *model,
                     struct keeper *keeper)
{
    if (!make_room(budget, ss_run_processes(run)))
        return true;
    uint64_t total = trim_ended(budget, run);
    budget->is_over = total > budget->most_bytes || budget->count > FILES_MOST;
    if (model && budget->is_over && !budget->is_late)
        total = fold(budget, run, model, total);
    grant_rest(budget, run, total, keeper);
    return !budget->is_late;
}
