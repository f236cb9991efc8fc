#include "read/liveness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const ss_ns longest_silence_ns = 5000000000;

/* A small file of /proc as a string; false if there is none. */
static bool read_small(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    const ssize_t got = read(fd, out, size - 1);
    close(fd);
    if (got <= 0)
        return false;
    out[got] = '\0';
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 36 characters with dashes to 16 bytes; a kernel without it has the boot id 0. */
static void read_boot_id(uint8_t id[16])
{
    char text[64];
    size_t digits = 0;

    memset(id, 0, 16);
    if (!read_small("/proc/sys/kernel/random/boot_id", text, sizeof text))
        return;
    for (const char *c = text; *c && digits < 32; c++) {
        const int digit = hex_digit(*c);
        if (digit < 0)
            continue;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | digit);
        digits++;
    }
}

void host_init(struct host *host)
{
    host->known = true;
    read_boot_id(host->boot_id);
    host_update(host);
}

void host_update(struct host *host)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    host->now_ns = now.tv_sec * (ss_ns)1000000000 + now.tv_nsec;
}

enum presence { GONE, STOPPED, PRESENT };

/* Is there a process of this pid and start time? Fields 3, 20 and 22 of /proc/PID/stat; the second,
 * the name, may hold spaces and parentheses. A zombie with other threads is only a main thread that
 * ended before them. */
static enum presence look_for(const struct ss_file_header *header)
{
    char path[32], stat[1024];
    const char *field[23] = {0};

    snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)header->pid);
    if (!read_small(path, stat, sizeof stat))
        return GONE;
    const char *at = strrchr(stat, ')');
    for (int i = 3; at && i <= 22; i++) {
        at = strchr(at, ' ');
        field[i] = at ? ++at : NULL;
    }
    if (!field[22])
        return GONE;
    const char state = field[3][0];
    const bool other_threads = strtoul(field[20], NULL, 10) > 1;
    if (strtoull(field[22], NULL, 10) != header->process_start || (state == 'Z' && !other_threads))
        return GONE;
    return state == 'T' || state == 't' ? STOPPED : PRESENT;
}

static bool is_silent(const struct ss_file_header *header, ss_ns now_ns)
{
    const ss_ns beat =
        header->beats ? header->beat[header->beats & 1].raw_ns : header->start_raw_ns;
    ss_ns age;

    if (__builtin_sub_overflow(now_ns, beat, &age))
        return beat < 0;
    return age >= longest_silence_ns;
}

enum ss_process_end liveness_of(const struct ss_file_header *header, const struct host *host)
{
    if (header->state == SS_FILE_STOPPED)
        return SS_END_STOPPED;
    if (header->state == SS_FILE_EXITED)
        return SS_END_EXITED;
    if (!host->known || memcmp(header->boot_id, host->boot_id, sizeof host->boot_id) != 0)
        return SS_END_UNKNOWN;

    const enum presence presence = look_for(header);
    const bool silent = presence != STOPPED && !header->paused && is_silent(header, host->now_ns);
    const bool gone = presence == GONE;
    const bool dead = host->patient ? gone && silent : gone || silent;
    return dead ? SS_END_KILLED : SS_END_LIVE;
}
