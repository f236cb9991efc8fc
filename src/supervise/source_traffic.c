/* Bytes to and from the disks and networks of the machine. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervise/proc_text.h"
#include "supervise/sources.h"

enum { SECTOR = 512 };

/* Whole disks with hardware below them: partitions, volumes and loops would count twice. */
static void find_disks(struct source_traffic *source)
{
    DIR *dir = opendir("/sys/block");
    struct dirent *entry;
    char path[64 + DISK_NAME_SIZE];

    source->looked = dir || !proc_error_is_passing(errno);
    while (dir && source->disk_count < DISKS_MOST && (entry = readdir(dir))) {
        const size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length >= DISK_NAME_SIZE)
            continue;
        snprintf(path, sizeof path, "/sys/block/%.*s/device", DISK_NAME_SIZE,
                 entry->d_name);
        if (access(path, F_OK) == 0)
            memcpy(source->disk[source->disk_count++], entry->d_name, length + 1);
    }
    if (dir)
        closedir(dir);
}

static void read_disks(struct source_traffic *source, struct sample_sink *sink)
{
    uint64_t read = 0, written = 0, one_read, one_written;
    char text[PROC_TEXT_SIZE];
    bool found = false;

    if (!source->looked)
        find_disks(source);
    if (!source->looked)
        return;
    if (source->disk_count &&
        proc_file_read(&source->disks, "/proc/diskstats", text, sizeof text))
        for (size_t i = 0; i < source->disk_count; i++)
            if (proc_text_disk(text, source->disk[i], &one_read, &one_written)) {
                read += one_read;
                written += one_written;
                found = true;
            }
    if (found) {
        sample_value(sink, SS_COUNTER_ID_DISK_READ, 0, (double)read * SECTOR);
        sample_value(sink, SS_COUNTER_ID_DISK_WRITE, 0, (double)written * SECTOR);
        return;
    }
    const enum ss_system_state missing = proc_file_state(&source->disks);
    sample_missing(sink, SS_COUNTER_ID_DISK_READ, missing);
    sample_missing(sink, SS_COUNTER_ID_DISK_WRITE, missing);
}

static void read_network(struct source_traffic *source, struct sample_sink *sink)
{
    char text[PROC_TEXT_SIZE];
    uint64_t received, sent;

    if (proc_file_read(&source->network, "/proc/net/dev", text, sizeof text) &&
        proc_text_network(text, &received, &sent)) {
        sample_value(sink, SS_COUNTER_ID_NET_RECEIVED, 0, (double)received);
        sample_value(sink, SS_COUNTER_ID_NET_SENT, 0, (double)sent);
        return;
    }
    const enum ss_system_state missing = proc_file_state(&source->network);
    sample_missing(sink, SS_COUNTER_ID_NET_RECEIVED, missing);
    sample_missing(sink, SS_COUNTER_ID_NET_SENT, missing);
}

void source_traffic_read(void *state, struct sample_sink *sink)
{
    read_disks(state, sink);
    read_network(state, sink);
}
