#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

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
        return (struct lead){2, 0x0f, byte == 0xe0 ? 0xa0 : 0x80,
                             byte == 0xed ? 0x9f : 0xbf};
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
