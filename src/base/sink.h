/* Where output goes: a file descriptor or a buffer, behind one small buffer of its own.
 *
 * The first error stays; after it, writing does nothing. Check once, at the end, with
 * sink_flush(). Nothing is written before the buffer is full or flushed. */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

struct sink {
    int fd; /* -1: to `target` */
    struct buf *target;
    int error;      /* first SS_E code, 0: none */
    int os_error;   /* errno of it, 0: none */
    uint64_t bytes; /* taken so far, written or still waiting */
    size_t waiting;
    char buffer[16384];
};

/* `fd` and `target` stay the caller's. */
void sink_init_fd(struct sink *sink, int fd);
void sink_init_buf(struct sink *sink, struct buf *target);

void sink_write(struct sink *sink, const void *data, size_t size);
void sink_text(struct sink *sink, const char *text);
void sink_printf(struct sink *sink, const char *format, ...) ATTR_PRINTF(2, 3);

/* Makes the sink fail, if it has not yet: for a producer that has run out of memory. */
void sink_fail(struct sink *sink, int error, int os_error);

/* Makes all sinks of the process fail from now on: memory ran out somewhere, so what would be
 * written may be wrong. Any thread. */
void sink_refuse_all(void);
/* For those who write without a sink: what they have is not to be kept. */
bool sink_refuses_all(void);

/* Writes what is waiting. 0, or the first SS_E code. */
int sink_flush(struct sink *sink);

#endif
