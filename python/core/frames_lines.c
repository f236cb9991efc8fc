#include "frames_lines.h"

#include <stdbool.h>
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

/* Entry by entry through a table. */
struct walk {
    enum layout_lines format;
    const unsigned char *table;
    size_t bytes, at;
    int64_t line;       /* what the next change counts from */
    int64_t start, end; /* of the entry, in units */
};

/* 0: its instructions have no line. */
static int line_or_none(int64_t line, bool has_line)
{
    return has_line && line > 0 && line <= INT32_MAX ? (int)line : 0;
}

static int read_pair(struct walk *walk)
{
    const unsigned char *pair = walk->table + walk->at;
    const int change = (signed char)pair[1];
    walk->line += change == PAIR_NO_LINE ? 0 : change;
    walk->end += pair[0] / UNIT_BYTES;
    walk->at += 2;
    return line_or_none(walk->line, change != PAIR_NO_LINE);
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

static int read_location(struct walk *walk)
{
    const unsigned char first = walk->table[walk->at++];
    const int code = first >> 3 & 15;
    walk->end += (first & 7) + 1;
    walk->line += line_change(code, walk->table + walk->at, walk->bytes - walk->at);
    while (walk->at < walk->bytes && !(walk->table[walk->at] & ENTRY_MARK)) {
        walk->at++;
    }
    return line_or_none(walk->line, code <= ENTRY_LONG);
}

/* False: there are no more. */
static bool next_entry(struct walk *walk, int *line)
{
    const bool is_pairs = walk->format == LAYOUT_LINES_PAIRS;
    if (walk->at + is_pairs >= walk->bytes) {
        return false;
    }
    walk->start = walk->end;
    *line = is_pairs ? read_pair(walk) : read_location(walk);
    return true;
}

int lines_find(const struct lines_table *table, int unit)
{
    struct walk walk = {
        table->format, table->data, table->bytes, 0, table->first_line, 0, 0};
    int line;
    while (unit >= 0 && next_entry(&walk, &line)) {
        if (unit < walk.end) {
            return line;
        }
    }
    return 0;
}

int lines_last(const struct lines_table *table, int first, int end)
{
    struct walk walk = {
        table->format, table->data, table->bytes, 0, table->first_line, 0, 0};
    int line, last = 0;
    while (next_entry(&walk, &line) && walk.start < end) {
        last = walk.end > first && line > last ? line : last;
    }
    return last;
}
