#include "import/wire_pull.h"

#include <string.h>

enum { VARINT_MOST = 10, FIELD_MOST = (1 << 29) - 1 };

void wire_init(struct wire *wire, struct trace_input *input)
{
    const bool is_known = input->data || (!input->gzip && input->file_bytes > 0);
    const uint64_t end = input->data ? input->offset : input->file_bytes;

    *wire = (struct wire){.input = input, .end = {is_known ? end : UINT64_MAX}};
}

static bool wrong(struct wire *wire, const char *what)
{
    if (!wire->wrong) {
        wire->wrong = what;
        wire->wrong_offset = trace_input_offset(wire->input);
    }
    return false;
}

static bool take_varint(struct wire *wire, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < VARINT_MOST; i++) {
        const int byte = trace_input_byte(wire->input);
        if (byte < 0)
            return wrong(wire, "the file is truncated");
        value |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return wrong(wire, "number too long");
}

static bool take_fixed(struct wire *wire, size_t size)
{
    uint8_t bytes[8] = {0};

    if (!trace_input_read(wire->input, bytes, size))
        return wrong(wire, "the file is truncated");
    wire->number = 0;
    for (size_t i = 0; i < size; i++)
        wire->number |= (uint64_t)bytes[i] << 8 * i;
    return true;
}

static bool take_length(struct wire *wire)
{
    if (!take_varint(wire, &wire->number))
        return false;
    const uint64_t at = trace_input_offset(wire->input), end = wire->end[wire->depth];
    if (at > end || wire->number > end - at)
        return wrong(wire, "length past the end of what is around it");
    wire->left = wire->number;
    return true;
}

static bool take_value(struct wire *wire)
{
    switch (wire->type) {
    case WIRE_VARINT:
        return take_varint(wire, &wire->number);
    case WIRE_FIXED64:
        return take_fixed(wire, 8);
    case WIRE_BYTES:
        return take_length(wire);
    case WIRE_FIXED32:
        return take_fixed(wire, 4);
    }
    return wrong(wire, "field of an unknown type");
}

/* Whether a field begins here; at its end the message is left. */
static bool is_more(struct wire *wire)
{
    if (wire->depth == 0)
        return trace_input_peek(wire->input) >= 0;
    if (trace_input_offset(wire->input) < wire->end[wire->depth])
        return true;
    wire->depth--;
    return false;
}

bool wire_next(struct wire *wire)
{
    uint64_t key;

    if (wire->wrong)
        return false;
    if (wire->left > 0 && !trace_input_skip(wire->input, wire->left))
        return wrong(wire, "the file is truncated");
    wire->left = 0;
    if (!is_more(wire) || !take_varint(wire, &key))
        return false;
    if (key >> 3 == 0 || key >> 3 > FIELD_MOST)
        return wrong(wire, "field without a number");
    wire->field = (uint32_t)(key >> 3);
    wire->type = (enum wire_type)(key & 7);
    if (!take_value(wire))
        return false;
    if (trace_input_offset(wire->input) > wire->end[wire->depth])
        return wrong(wire, "value past the end of what is around it");
    return true;
}

bool wire_enter(struct wire *wire)
{
    if (wire->wrong || wire->type != WIRE_BYTES)
        return false;
    if (wire->depth + 1 == WIRE_MAX_DEPTH)
        return wrong(wire, "nested too deep");
    wire->end[++wire->depth] = trace_input_offset(wire->input) + wire->left;
    wire->left = 0;
    return true;
}

size_t wire_text(struct wire *wire, char *out, size_t size)
{
    size_t length = 0;

    if (!wire->wrong && wire->type == WIRE_BYTES) {
        length = wire->left < size - 1 ? (size_t)wire->left : size - 1;
        wire->left -= length;
        if (!trace_input_read(wire->input, out, length)) {
            wrong(wire, "the file is truncated");
            length = 0;
        }
    }
    out[length] = '\0';
    return length;
}
