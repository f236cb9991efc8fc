#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 64 };

void buf_init(struct buf *buf)
{
    *buf = (struct buf){0};
}

void buf_release(struct buf *buf)
{
    free(buf->data);
    buf_init(buf);
}

void buf_reset(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

char *buf_reserve(struct buf *buf, size_t more)
{
    if (buf->failed)
        return NULL;
    if (more < buf->capacity - buf->size)
        return buf->data + buf->size;

    size_t wanted = buf->size + more + 1; /* and the final 0 */
    size_t capacity = buf->capacity < SMALLEST ? SMALLEST : buf->capacity;
    while (wanted > more && capacity < wanted && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    char *data = wanted > more && capacity >= wanted ? realloc(buf->data, capacity) : NULL;
    if (!data) {
        buf->failed = true;
        return NULL;
    }
    buf->data = data;
    buf->capacity = capacity;
    return data + buf->size;
}

void buf_grown(struct buf *buf, size_t more)
{
    buf->size += more;
    buf->data[buf->size] = '\0';
}

void buf_add(struct buf *buf, const void *data, size_t size)
{
    if (size == 0)
        return;
    char *place = buf_reserve(buf, size);
    if (!place)
        return;
    memcpy(place, data, size);
    buf_grown(buf, size);
}

void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_add_repeated(struct buf *buf, char byte, size_t count)
{
    char *place = buf_reserve(buf, count);
    if (!place)
        return;
    memset(place, byte, count);
    buf_grown(buf, count);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list arguments;

    if (!buf_reserve(buf, SMALLEST))
        return;
    size_t room = buf->capacity - buf->size;
    va_start(arguments, format);
    int size = vsnprintf(buf->data + buf->size, room, format, arguments);
    va_end(arguments);
    if (size >= 0 && (size_t)size >= room && buf_reserve(buf, (size_t)size)) {
        room = buf->capacity - buf->size;
        va_start(arguments, format);
        size = vsnprintf(buf->data + buf->size, room, format, arguments);
        va_end(arguments);
    }
    if (size < 0 || (size_t)size >= room) {
        buf->failed = true;
        buf->data[buf->size] = '\0';
        return;
    }
    buf->size += (size_t)size;
}

const char *buf_text(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}
