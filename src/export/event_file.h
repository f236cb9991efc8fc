/* A file of TensorBoard events. Each is framed as in a TFRecord file, numbers little-endian:
 *
 *     u64 length | u32 checksum of it | bytes | u32 checksum of them      (masked CRC-32C)
 *
 * What is added waits in memory and is written with one system call, so that the file ends with a
 * whole event also if the process is killed. If that fails, the file is cut back to what it was and
 * the events are given up: the disk may have room again next time. A file that was removed
 * in between, with or without its directory, is made again. */
#ifndef EXPORT_EVENT_FILE_H
#define EXPORT_EVENT_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "export/event_message.h"

struct event_file {
    char *dir;
    const char *host; /* part of its name; must outlive it */
    mode_t most_mode; /* what the umask allows beyond that is taken away; 0666 at first */
    bool is_hidden;   /* TensorBoard sees it only after event_file_publish() */
    char *path;       /* as it is called now; NULL: not made yet */
    int64_t first_ns; /* wall time of its first event */
    int fd;           /* -1: not open */
    unsigned made;    /* files made, each after the one before was removed */
    off_t size;       /* of whole events */
    struct buf waiting;
    uint64_t given_up; /* writes that failed */
    int os_error;      /* of the first of them */
};

/* 0 or SS_E_NOMEM. Nothing is made before there is something to write. */
int event_file_init(struct event_file *file, const char *dir, const char *host, bool is_hidden);
void event_file_release(struct event_file *file);

/* Adds an event to those that wait. */
void event_file_add(struct event_file *file, const struct event *event);

/* Writes them, in a file that is made if need be. */
void event_file_flush(struct event_file *file);

/* Shows a hidden file under its true name, or removes it. 0 or an errno. */
int event_file_publish(struct event_file *file);
void event_file_discard(struct event_file *file);

/* Is this the name of a file that we wrote? */
bool event_file_is_ours(const char *name);

#endif
