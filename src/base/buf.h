/* A growing row of bytes. After the first allocation that fails, `failed` stays set and nothing
 * more is added: check it once, at the end. {0} is an empty buffer. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct buf {
    char *data; /* size bytes and a 0, or NULL before the first byte */
    size_t size;
    size_t capacity;
    bool failed;
};

void buf_init(struct buf *buf);
void buf_release(struct buf *buf);

/* Forgets the bytes and the failure, keeps the memory. */
void buf_reset(struct buf *buf);

/* Makes room for `more` bytes and gives their place, NULL if that fails; they count after
 * buf_grown(). */
char *buf_reserve(struct buf *buf, size_t more);
void buf_grown(struct buf *buf, size_t more);

void buf_add(struct buf *buf, const void *data, size_t size);
void buf_add_text(struct buf *buf, const char *text);
void buf_add_repeated(struct buf *buf, char byte, size_t count);
void buf_printf(struct buf *buf, const char *format, ...) ATTR_PRINTF(2, 3);

/* The bytes as a string that ends with 0; valid until the next change. */
const char *buf_text(const struct buf *buf);

#endif
