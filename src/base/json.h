/* Writes JSON, one value after the other, into a sink.
 *
 * Every value takes the key that it has in the object around it, or NULL in an array and at the
 * top. Keys are our own words: ASCII without quotes or backslashes. Errors stay in the sink. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sink.h"

enum { JSON_MAX_DEPTH = 32 };

struct json {
    struct sink *out;
    unsigned depth;
    bool filled[JSON_MAX_DEPTH + 1]; /* the object or array at this depth has a value already */
};

void json_init(struct json *json, struct sink *out);

void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);

/* Any bytes: control characters are escaped, what is not UTF-8 becomes U+FFFD (base/text.h). */
void json_bytes(struct json *json, const char *key, const char *data, size_t size);
void json_string(struct json *json, const char *key, const char *text);
void json_int(struct json *json, const char *key, int64_t value);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* In as few digits, 15 to 17, as read back equal; NaN and infinities, which JSON lacks, as null. */
void json_double(struct json *json, const char *key, double value);

/* Ends a line: for one value a line. The next value starts afresh. */
void json_end_line(struct json *json);

#endif
