#include "base/text.h"

#include <stdbool.h>
#include <string.h>

struct range {
    uint32_t first, last;
};

/* Invisible characters, and those that change the direction or the shaping of what follows. */
static const struct range hidden[] = {
    {0x00ad, 0x00ad}, {0x034f, 0x034f},   {0x061c, 0x061c},   {0x115f, 0x1160},
    {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

/* Blocks of marks that sit on the letter before them. */
static const struct range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x0670, 0x0670}, {0x06d6, 0x06dc}, {0x06df, 0x06e4}, {0x06e7, 0x06e8}, {0x06ea, 0x06ed},
    {0x0900, 0x0902}, {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0951, 0x0957},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff}, {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

static const struct range wide[] = {
    {0x1100, 0x115e},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},   {0x2705, 0x2705},
    {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2753, 0x2755},
    {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},
    {0x3041, 0x3247},   {0x3250, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff01, 0xff60},
    {0xffe0, 0xffe6},   {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7f0}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd}};

/* Marks on one letter that still look like writing. */
enum { MOST_MARKS = 4 };

static bool in(const struct range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count && ranges[i].first <= character; i++)
        if (character <= ranges[i].last)
            return true;
    return false;
}
#define IN(ranges, character) in(ranges, sizeof(ranges) / sizeof(ranges)[0], character)

unsigned text_columns(uint32_t character)
{
    if (character < 0x300)
        return 1;
    return IN(combining, character) ? 0 : IN(wide, character) ? 2 : 1;
}

static uint32_t safe(uint32_t character)
{
    if (character >= 0x20 && character < 0x7f)
        return character;
    if (character == '\t' || character == '\n' || character == '\r' || character == 0xa0)
        return ' ';
    if (character < 0xa0 || IN(hidden, character))
        return UTF8_REPLACEMENT;
    if ((character >= 0xe000 && character <= 0xf8ff) || character >= 0xf0000 ||
        (character & 0xfffe) == 0xfffe)
        return UTF8_REPLACEMENT; /* private use, and no characters at all */
    return character;
}

/* One safe character after the other. */
struct walk {
    const char *data;
    size_t size;
    unsigned marks; /* so far on this letter; starts full: a mark needs a letter */
    uint32_t character;
    unsigned columns;
};

static struct walk walk_start(const char *data, size_t size)
{
    return (struct walk){.data = data, .size = size, .marks = MOST_MARKS};
}

static bool walk_next(struct walk *walk)
{
    if (walk->size == 0)
        return false;
    size_t bytes = utf8_next(walk->data, walk->size, &walk->character);
    walk->data += bytes;
    walk->size -= bytes;
    walk->character = safe(walk->character);
    walk->columns = text_columns(walk->character);
    if (walk->columns == 0 && walk->marks >= MOST_MARKS) {
        walk->character = UTF8_REPLACEMENT;
        walk->columns = 1;
        return true;
    }
    walk->marks = walk->columns == 0 ? walk->marks + 1 : 0;
    return true;
}

size_t text_width(const char *data, size_t size)
{
    struct walk walk = walk_start(data, size);
    size_t width = 0;

    while (walk_next(&walk))
        width += walk.columns;
    return width;
}

/* Appends characters as long as they fit into `columns`. */
static void add(struct buf *out, const char *data, size_t size, size_t columns)
{
    struct walk walk = walk_start(data, size);
    size_t used = 0;

    while (walk_next(&walk) && used + walk.columns <= columns) {
        char bytes[UTF8_MAX_BYTES];
        buf_add(out, bytes, utf8_put(bytes, walk.character));
        used += walk.columns;
    }
}

void text_safe(struct buf *out, const char *data, size_t size)
{
    add(out, data, size, SIZE_MAX);
}

void text_fit(struct buf *out, const char *data, size_t size, size_t columns)
{
    static const char dots[] = "...";
    size_t dots_columns = columns < 3 ? columns : 3;

    if (text_width(data, size) <= columns) {
        add(out, data, size, columns);
        return;
    }
    add(out, data, size, columns - dots_columns);
    buf_add(out, dots, dots_columns);
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t word_bytes(const char *data, size_t size)
{
    size_t bytes = 0;

    while (bytes < size && !memchr(" \t\n\r", data[bytes], 4))
        bytes++;
    return bytes;
}

/* Whether the word ends as a number does: "12.3", "(1,000", "steps\xa0" "12". */
static bool ends_in_number(const char *word, size_t size)
{
    size_t start = size;

    if (size == 0 || !is_digit(word[size - 1]))
        return false;
    while (start > 0 && (is_digit(word[start - 1]) || memchr(".,", word[start - 1], 2)))
        start--;
    while (start > 0 && memchr("(<+-", word[start - 1], 4))
        start--;
    return start == 0 || word[start - 1] == TEXT_NO_BREAK[1];
}

static bool is_one_of(const char *word, size_t size, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == size && memcmp(word, list[i], size) == 0)
            return true;
    return false;
}

/* Whether the word is a unit, with whatever punctuation behind it: "ms", "%):", "steps/s,". */
static bool is_unit(const char *word, size_t size)
{
    static const char *const units[] = {
        "%",       "ns",    "us",    "ms",     "s",       "min",     "h",         "d",     "B",
        "KB",      "MB",    "GB",    "TB",     "PB",      "EB",      "k",         "M",     "G",
        "T",       "P",     "E",     "Hz",     "MHz",     "GHz",     "ppm",       "W",     "C",
        "step",    "steps", "span",  "spans",  "record",  "records", "byte",      "bytes", "sample",
        "samples", "core",  "cores", "thread", "threads", "process", "processes", "loop",  "loops"};
    size_t end = 0;

    while (end < size && !memchr(",;:.)/", word[end], 6))
        end++;
    return is_one_of(word, end, units, sizeof units / sizeof units[0]);
}

/* Whether the word is a unit that a smaller one may follow: "4 min 12 s". */
static bool has_smaller_unit(const char *word, size_t size)
{
    static const char *const units[] = {"min", "h", "d"};

    return is_one_of(word, size, units, sizeof units / sizeof units[0]);
}

void text_keep_units(struct buf *out, const char *data, size_t size)
{
    bool after_number = false;

    while (size > 0) {
        const size_t bytes = word_bytes(data, size);
        const size_t rest = size - bytes;
        const char *next = rest > 1 ? data + bytes + 1 : "";
        const size_t next_bytes = rest > 1 ? word_bytes(next, rest - 1) : 0;
        const bool is_number = ends_in_number(data, bytes);
        buf_add(out, data, bytes);
        if (rest > 0 && data[bytes] == ' ' &&
            ((is_number && is_unit(next, next_bytes)) ||
             (after_number && has_smaller_unit(data, bytes) && ends_in_number(next, next_bytes))))
            buf_add_text(out, TEXT_NO_BREAK);
        else
            buf_add(out, data + bytes, rest > 0);
        after_number = is_number;
        data += bytes + (rest > 0);
        size = rest > 0 ? rest - 1 : 0;
    }
}

/* Splits a word that is wider than a line; returns the columns of its last line. */
static size_t add_word(struct buf *out, struct walk walk, size_t indent, size_t columns,
                       size_t used)
{
    while (walk_next(&walk)) {
        char bytes[UTF8_MAX_BYTES];
        if (used + walk.columns > columns && used > indent) {
            buf_add(out, "\n", 1);
            buf_add_repeated(out, ' ', indent);
            used = indent;
        }
        buf_add(out, bytes, utf8_put(bytes, walk.character));
        used += walk.columns;
    }
    return used;
}

void text_wrap(struct buf *out, const char *text, size_t length, size_t indent, size_t columns)
{
    struct buf kept = {0};
    size_t used = indent;
    bool line_has_word = false;

    text_keep_units(&kept, text, length);
    const char *data = buf_text(&kept);
    size_t size = kept.size;

    while (size > 0) {
        size_t bytes = word_bytes(data, size);
        if (bytes > 0) {
            size_t width = text_width(data, bytes);
            if (line_has_word && used + 1 + width > columns) {
                buf_add(out, "\n", 1);
                buf_add_repeated(out, ' ', indent);
                used = indent;
            } else if (line_has_word) {
                buf_add(out, " ", 1);
                used++;
            }
            used = add_word(out, walk_start(data, bytes), indent, columns, used);
            line_has_word = true;
        }
        data += bytes;
        size -= bytes;
        if (size > 0) {
            data++;
            size--;
        }
    }
    out->failed |= kept.failed;
    buf_release(&kept);
}

/* How a sequence goes on after its first byte. Only the second byte has limits of its own: they
 * keep out overlong forms, surrogates and what lies beyond U+10FFFF. */
struct lead {
    unsigned char more;
    unsigned char bits; /* of the character, in the first byte */
    unsigned char second_low, second_high;
};

static struct lead lead_of(unsigned char byte)
{
    if (byte < 0x80)
        return (struct lead){0, 0x7f, 0, 0};
    if (byte < 0xc2 || byte > 0xf4)
        return (struct lead){0, 0, 0, 0};
    if (byte < 0xe0)
        return (struct lead){1, 0x1f, 0x80, 0xbf};
    if (byte < 0xf0)
        return (struct lead){2, 0x0f, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
    return (struct lead){3, 0x07, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
}

size_t utf8_next(const char *data, size_t size, uint32_t *character)
{
    const unsigned char *bytes = (const unsigned char *)data;
    struct lead lead = lead_of(bytes[0]);
    uint32_t value = bytes[0] & lead.bits;

    for (size_t i = 1; i <= lead.more; i++) {
        unsigned char low = i == 1 ? lead.second_low : 0x80;
        unsigned char high = i == 1 ? lead.second_high : 0xbf;
        if (i == size || bytes[i] < low || bytes[i] > high) {
            *character = UTF8_REPLACEMENT;
            return i;
        }
        value = value << 6 | (bytes[i] & 0x3fu);
    }
    *character = lead.bits ? value : UTF8_REPLACEMENT;
    return lead.more + 1u;
}

static bool goes_on(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t utf8_cut(const char *text, size_t max)
{
    size_t size = strnlen(text, max + 1);

    if (size <= max)
        return size;
    size = max;
    while (size > 0 && max - size < UTF8_MAX_BYTES - 1 && goes_on(text[size]))
        size--;
    /* What is no UTF-8 has no characters to keep whole. */
    return goes_on(text[size]) ? max : size;
}

size_t utf8_put(char out[UTF8_MAX_BYTES], uint32_t character)
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    uint32_t mark = 0xff00u >> (more + 1) & 0xffu; /* as many leading ones as bytes */
    out[0] = (char)(mark | character >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80u | (character >> 6 * (more - i) & 0x3fu));
    return more + 1;
}
