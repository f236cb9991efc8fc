/* Reads protocol buffers field by field, out of a window of their bytes: memory does not grow with
 * the file, and what is wrong is said with its place.
 *
 *     while (wire_next(wire))
 *         if (wire->field == 1 && wire_enter(wire))
 *             while (wire_next(wire))
 *                 ...
 *
 * What a caller does not take of a field is passed over. After the first mistake nothing follows:
 * look at `wrong` once, at the end. */
#ifndef IMPORT_WIRE_PULL_H
#define IMPORT_WIRE_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/trace_input.h"

enum { WIRE_MAX_DEPTH = 16 };

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire {
    struct trace_input *input;
    const char *wrong;
    uint64_t wrong_offset;
    uint64_t end[WIRE_MAX_DEPTH]; /* of the messages around, that of the file first */
    unsigned depth;

    uint32_t field; /* what was read last */
    enum wire_type type;
    uint64_t number; /* its value; of bytes how many there are */
    uint64_t left;   /* bytes of it that were not taken */
};

void wire_init(struct wire *wire, struct trace_input *input);

/* The next field of the innermost message; false at its end, which leaves it. */
bool wire_next(struct wire *wire);

/* The field is a message: its fields are next. false: it is none. */
bool wire_enter(struct wire *wire);

/* Copies bytes and a 0; what does not fit is cut. The number of bytes copied. */
size_t wire_text(struct wire *wire, char *out, size_t size);

#endif
