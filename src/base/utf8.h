/* Reads and writes UTF-8 that may be anything. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xfffdu

enum { UTF8_MAX_BYTES = 4 };

/* Takes the first character of `size` > 0 bytes and returns how many bytes it was. Bytes that are
 * not UTF-8 give UTF8_REPLACEMENT, once for each maximal subpart (the longest start of a valid
 * sequence, or one byte): what Unicode recommends and Python's "replace" does. */
size_t utf8_next(const char *data, size_t size, uint32_t *character);

/* Bytes of a text, at most `max`; a text that is longer is cut between two characters. */
size_t utf8_cut(const char *text, size_t max);

/* Writes a character and returns how many bytes it took. */
size_t utf8_put(char out[UTF8_MAX_BYTES], uint32_t character);

#endif
