/* Reads JSON token by token, out of a window of its bytes: memory does not grow with the file.
 *
 * As lenient as writers of traces need it: raw control characters in strings, escapes that are
 * none, and words such as Infinity for numbers pass. Structure is checked, and what is wrong is
 * said with its place. */
#ifndef IMPORT_JSON_PULL_H
#define IMPORT_JSON_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/trace_input.h"

enum { PULL_TEXT_BYTES = 4096, PULL_MAX_DEPTH = 512 };

enum pull_token {
    PULL_WRONG, /* `wrong` says what; so do all calls from now on */
    PULL_END,   /* the value at the top is complete, and nothing follows */
    PULL_BEGIN_OBJECT,
    PULL_END_OBJECT,
    PULL_BEGIN_ARRAY,
    PULL_END_ARRAY,
    PULL_KEY,
    PULL_STRING,
    PULL_WORD /* a number, true, false, null: its text */
};

struct pull {
    struct trace_input *input;
    const char *wrong;
    uint64_t wrong_offset;
    unsigned depth;
    bool want_value, filled; /* a key was read; the object or array has something already */
    uint8_t is_object[PULL_MAX_DEPTH / 8];
    size_t size;
    char text[PULL_TEXT_BYTES + 1]; /* of a key, string or word; longer ones are cut */
};

void pull_init(struct pull *pull, struct trace_input *input);

enum pull_token pull_next(struct pull *pull);

/* Passes over the value of the key that was just read, or the next one of an array. false: wrong.
 */
bool pull_skip(struct pull *pull);

/* Passes over the rest of the object or array that `token` began, if it did. false: wrong. */
bool pull_leave(struct pull *pull, enum pull_token token);

/* The key, string or word is this. */
bool pull_is(const struct pull *pull, const char *text);

#endif
