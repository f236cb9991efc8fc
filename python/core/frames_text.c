#include "core.h"

#include "frames_text.h"

#include "base/utf8.h"
#include "frames_memory.h"
#include <stdlib.h>

static uint32_t character_at(const unsigned char *data, unsigned kind, size_t index)
{
    uint32_t character = 0;
    memcpy(&character, data + index * kind, kind);
    const bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
    return is_surrogate || character > 0x10ffff || character == 0 ? UTF8_REPLACEMENT
                                                                  : character;
}

/* `kind` is the size of a character, and so is its number in PyUnicode. */
static char *encode(const unsigned char *data, unsigned kind, size_t length, size_t most)
{
    char *out = malloc(most + 1);
    size_t used = 0;
    for (size_t i = 0; out && i < length && used + UTF8_MAX_BYTES <= most; i++) {
        used += utf8_put(out + used, character_at(data, kind, i));
    }
    if (out) {
        out[used] = '\0';
    }
    return out;
}

char *text_copy(uintptr_t object, size_t most, struct text_place *place)
{
    PyCompactUnicodeObject head;
    if (!memory_read(object, &head, sizeof(PyASCIIObject))) {
        return NULL;
    }
    const PyASCIIObject *text = &head._base;
    const unsigned kind = text->state.kind;
    if (text->ob_base.ob_type != &PyUnicode_Type || !text->state.compact ||
        text->length < 0 || (kind != 1 && kind != 2 && kind != 4)) {
        return NULL;
    }
    const size_t length = (size_t)text->length < most ? (size_t)text->length : most;
    place->address = object + (text->state.ascii ? sizeof(PyASCIIObject)
                                                 : sizeof(PyCompactUnicodeObject));
    place->bytes = length * kind;
    unsigned char *data = malloc(place->bytes + 1);
    char *out = NULL;
    if (data && memory_read(place->address, data, place->bytes)) {
        out = encode(data, kind, length, most + UTF8_MAX_BYTES);
    }
    free(data);
    return out;
}

unsigned char *text_copy_bytes(uintptr_t object, size_t most, struct text_place *place)
{
    PyBytesObject head;
    const size_t before = offsetof(PyBytesObject, ob_sval);
    if (!memory_read(object, &head, before) ||
        head.ob_base.ob_base.ob_type != &PyBytes_Type || head.ob_base.ob_size < 0 ||
        (size_t)head.ob_base.ob_size > most) {
        return NULL;
    }
    place->address = object + before;
    place->bytes = (size_t)head.ob_base.ob_size;
    unsigned char *out = malloc(place->bytes + 1);
    if (out && !memory_read(place->address, out, place->bytes)) {
        free(out);
        out = NULL;
    }
    return out;
}
