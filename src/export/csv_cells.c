#include "export/csv_cells.h"

#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

void csv_cells(struct csv_row *row, const char *cells, size_t size)
{
    if (row->filled)
        sink_write(row->out, ",", 1);
    row->filled = true;
    sink_write(row->out, cells, size);
}

void csv_word(struct csv_row *row, const char *word)
{
    csv_cells(row, word, strlen(word));
}

void csv_empty(struct csv_row *row)
{
    csv_cells(row, "", 0);
}

/* printf() would take longer than all the rest of a row. */
void csv_int(struct csv_row *row, int64_t value)
{
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        *--at = '-';
    csv_cells(row, at, (size_t)(digits + sizeof digits - at));
}

void csv_end(struct csv_row *row)
{
    sink_write(row->out, "\n", 1);
    row->filled = false;
}

/* The wide forms are the same to some spreadsheets. */
static bool begins_formula(uint32_t character)
{
    static const uint32_t risky[] = {'=', '+', '-', '@', 0xff0b, 0xff0d, 0xff1d, 0xff20};

    for (size_t i = 0; i < sizeof risky / sizeof risky[0]; i++)
        if (character == risky[i])
            return true;
    return false;
}

static bool parts_cells(uint32_t character)
{
    return character == ',' || character == ';' || character == '"' || character == '\'';
}

void csv_quote(struct buf *out, struct ss_text text)
{
    struct buf safe = {0};
    uint32_t character;
    bool at_begin = true, quoted;

    text_safe(&safe, text.data, text.size);
    quoted = safe.size > 0 &&
             (memchr(safe.data, ',', safe.size) || memchr(safe.data, '"', safe.size) ||
              memchr(safe.data, ';', safe.size));
    if (quoted)
        buf_add(out, "\"", 1);
    for (size_t i = 0, bytes; i < safe.size; i += bytes) {
        bytes = utf8_next(safe.data + i, safe.size - i, &character);
        if (at_begin && begins_formula(character))
            buf_add(out, "'", 1);
        if (character == '"')
            buf_add(out, "\"", 1);
        buf_add(out, safe.data + i, bytes);
        /* blanks that a program takes off make what follows the beginning */
        at_begin = parts_cells(character) || (at_begin && character == ' ');
    }
    if (quoted)
        buf_add(out, "\"", 1);
    out->failed = out->failed || safe.failed;
    buf_release(&safe);
}
