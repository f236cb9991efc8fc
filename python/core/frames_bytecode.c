/* Line tables and `for` loops, read from copies of a code object's bytes. */
#define Py_BUILD_CORE 1
#include <Python.h>

/* The tables are defined in this file, under names of our own, and no part of what we export. */
#undef PyAPI_DATA
#define PyAPI_DATA(type) extern type
#define _PyOpcode_Caches own_opcode_caches
#define _PyOpcode_Deopt own_opcode_base
#if defined(__has_include)
#if PY_VERSION_HEX >= 0x030d0000
#if __has_include(<internal/pycore_opcode_metadata.h>)
#define HAS_TABLES 1
#define NEED_OPCODE_METADATA 1
#include <internal/pycore_opcode_metadata.h>
#endif
#elif PY_VERSION_HEX >= 0x030b0000
#if __has_include(<internal/pycore_opcode.h>)
#define HAS_TABLES 1
#define NEED_OPCODE_TABLES 1
#include <internal/pycore_opcode.h>
#endif
#endif
#endif
#include <opcode.h>
#include <stdbool.h>
#include <stdint.h>

#include "frames_bytecode.h"

/* What the instructions of this version are, as far as finding loops in them goes. From its own
 * headers, none of the numbers is written by hand. */

enum opcode_kind {
    OPCODE_PLAIN,
    OPCODE_FOR,     /* gets the next item of a `for` */
    OPCODE_EXTENDS, /* has the upper bits of the next one's argument */
    OPCODE_UNKNOWN  /* stands for another one: nothing is known from here on */
};

/* Numbers from here on are put in place of others while the script is traced. */
#ifdef MIN_INSTRUMENTED_OPCODE
enum { FIRST_STAND_IN = MIN_INSTRUMENTED_OPCODE };
#else
enum { FIRST_STAND_IN = 256 };
#endif

/* The instruction that a faster form of it stands for. */
static int base_of(unsigned char opcode)
{
#ifdef HAS_TABLES
    return own_opcode_base[opcode];
#else
    return opcode;
#endif
}

static bool is_stand_in(int opcode)
{
#ifdef ENTER_EXECUTOR
    if (opcode == ENTER_EXECUTOR)
        return true;
#endif
    return opcode >= FIRST_STAND_IN;
}

static enum opcode_kind opcode_kind(unsigned char opcode)
{
#if PY_VERSION_HEX >= 0x030b0000 && !defined(HAS_TABLES)
    return OPCODE_UNKNOWN;
#endif
    if (is_stand_in(opcode))
        return OPCODE_UNKNOWN;
    switch (base_of(opcode)) {
    case FOR_ITER:
        return OPCODE_FOR;
    case EXTENDED_ARG:
        return OPCODE_EXTENDS;
    default:
        return OPCODE_PLAIN;
    }
}

/* Units after it that belong to it and are no instructions. */
static unsigned opcode_caches(unsigned char opcode)
{
#ifdef HAS_TABLES
    return own_opcode_caches[base_of(opcode)];
#else
    (void)opcode;
    return 0;
#endif
}

/* Loops. */

enum { UNIT_BYTES = 2, ARGUMENT_BITS = 8 };

/* The body goes up to where the loop jumps when there is no further item. */
static struct code_loop loop_at(size_t first, size_t body, uint32_t argument, size_t units)
{
    const size_t end = argument < units - body ? body + argument : units;
    return (struct code_loop){(int)first, (int)body, (int)end};
}

size_t loops_find(const unsigned char *instructions, size_t bytes, struct code_loop *loops,
                  size_t most)
{
    const size_t units = bytes / UNIT_BYTES;
    size_t count = 0, first = 0; /* where the instruction begins, with what extends it */
    uint32_t argument = 0;
    for (size_t unit = 0, next; unit < units; unit = next) {
        const unsigned char opcode = instructions[unit * UNIT_BYTES];
        const enum opcode_kind kind = opcode_kind(opcode);
        next = unit + 1 + opcode_caches(opcode);
        if (kind == OPCODE_UNKNOWN || next > units)
            break;
        argument = argument << ARGUMENT_BITS | instructions[unit * UNIT_BYTES + 1];
        if (kind == OPCODE_FOR) {
            if (count < most)
                loops[count] = loop_at(first, next, argument, units);
            count++;
        }
        first = kind == OPCODE_EXTENDS ? first : next;
        argument = kind == OPCODE_EXTENDS ? argument : 0;
    }
    return count;
}

/* Lines. */

enum {
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
        if (!(data[i] & VARINT_MORE))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_change(int code, const unsigned char *data, size_t bytes)
{
    if (code == ENTRY_NO_COLUMNS || code == ENTRY_LONG)
        return read_signed(data, bytes);
    return code >= ENTRY_SAME_LINE && code <= ENTRY_TWO_ON ? code - ENTRY_SAME_LINE : 0;
}

static int read_location(struct walk *walk)
{
    const unsigned char first = walk->table[walk->at++];
    const int code = first >> 3 & 15;
    walk->end += (first & 7) + 1;
    walk->line += line_change(code, walk->table + walk->at, walk->bytes - walk->at);
    while (walk->at < walk->bytes && !(walk->table[walk->at] & ENTRY_MARK))
        walk->at++;
    return line_or_none(walk->line, code <= ENTRY_LONG);
}

/* False: there are no more. */
static bool next_entry(struct walk *walk, int *line)
{
    const bool is_pairs = walk->format == LAYOUT_LINES_PAIRS;
    if (walk->at + is_pairs >= walk->bytes)
        return false;
    walk->start = walk->end;
    *line = is_pairs ? read_pair(walk) : read_location(walk);
    return true;
}

int lines_find(const struct lines_table *table, int unit)
{
    struct walk walk = {table->format, table->data, table->bytes, 0, table->first_line, 0, 0};
    int line;
    while (unit >= 0 && next_entry(&walk, &line))
        if (unit < walk.end)
            return line;
    return 0;
}

int lines_last(const struct lines_table *table, int first, int end)
{
    struct walk walk = {table->format, table->data, table->bytes, 0, table->first_line, 0, 0};
    int line, last = 0;
    while (next_entry(&walk, &line) && walk.start < end)
        last = walk.end > first && line > last ? line : last;
    return last;
}
