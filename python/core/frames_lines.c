#include "frames_lines.h"

#include <stdint.h>

enum {
    UNIT_BYTES = 2,
    PAIR_NO_LINE = -128,
    ENTRY_MARK = 0x80,    /* of the first byte of each entry, and of no other */
    ENTRY_SAME_LINE = 10, /* and the two after it: 1 and 2 lines on */
    ENTRY_TWO_ON = 12,
    ENTRY_NO_COLUMNS = 13,
    ENTRY_LONG = 14,
    VARINT_MORE = 0x40,
    VARINT_BITS = 6
};

static int find_in_pairs(const unsigned char *table, size_t bytes, int64_t line,
                         int64_t offset)
{
    int64_t end = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        const int change = (signed char)table[i + 1];
        line += change == PAIR_NO_LINE ? 0 : change;
        end += table[i];
        if (offset < end) {
            return change == PAIR_NO_LINE || line < 0 ? 0 : (int)line;
        }
    }
    return 0;
}

/* The signed number at the start of the bytes: six bits each, the sign is the lowest one. */
static int64_t read_signed(const unsigned char *data, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && i < 5; i++) {
        value |= (uint64_t)(data[i] & (VARINT_MORE - 1)) << (VARINT_BITS * i);
        if (!(data[i] & VARINT_MORE)) {
            break;
        }
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_change(int code, const unsigned char *data, size_t bytes)
{
    if (code == ENTRY_NO_COLUMNS || code == ENTRY_LONG) {
        return read_signed(data, bytes);
    }
    return code >= ENTRY_SAME_LINE && code <= ENTRY_TWO_ON ? code - ENTRY_SAME_LINE : 0;
}

static int find_in_locations(const unsigned char *table, size_t bytes, int64_t line,
                             int unit)
{
    int64_t end = 0;
    for (size_t i = 0; i < bytes;) {
        const int code = table[i] >> 3 & 15;
        end += (table[i] & 7) + 1;
        i++;
        line += line_change(code, table + i, bytes - i);
        if (unit < end) {
            return code > ENTRY_LONG || line < 0 || line > INT32_MAX ? 0 : (int)line;
        }
        while (i < bytes && !(table[i] & ENTRY_MARK)) {
            i++;
        }
    }
    return 0;
}

int lines_find(enum layout_lines format, const unsigned char *table, size_t bytes,
               int first_line, int unit)
{
    if (unit < 0) {
        return 0;
    }
    return format == LAYOUT_LINES_PAIRS
               ? find_in_pairs(table, bytes, first_line, (int64_t)unit * UNIT_BYTES)
               : find_in_locations(table, bytes, first_line, unit);
}
