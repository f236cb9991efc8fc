#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void json_init(struct json *json, struct sink *out)
{
    json->out = out;
    json->depth = 0;
    json->filled[0] = false;
}

static void begin_value(struct json *json, const char *key)
{
    if (json->filled[json->depth])
        sink_write(json->out, ",", 1);
    json->filled[json->depth] = true;
    if (key) {
        sink_write(json->out, "\"", 1);
        sink_text(json->out, key);
        sink_write(json->out, "\":", 2);
    }
}

static void begin_group(struct json *json, const char *key, const char *bracket)
{
    assert(json->depth < JSON_MAX_DEPTH);
    begin_value(json, key);
    sink_text(json->out, bracket);
    json->filled[++json->depth] = false;
}

static void end_group(struct json *json, const char *bracket)
{
    assert(json->depth > 0);
    json->depth--;
    sink_text(json->out, bracket);
}

void json_begin_object(struct json *json, const char *key)
{
    begin_group(json, key, "{");
}

void json_end_object(struct json *json)
{
    end_group(json, "}");
}

void json_begin_array(struct json *json, const char *key)
{
    begin_group(json, key, "[");
}

void json_end_array(struct json *json)
{
    end_group(json, "]");
}

static void write_escaped(struct sink *out, uint32_t character)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *found = memchr(plain, (int)character, sizeof plain - 1);

    if (found)
        sink_printf(out, "\\%c", letters[found - plain]);
    else
        sink_printf(out, "\\u%04x", (unsigned)character);
}

/* DEL and the C1 controls are legal in JSON, but not wanted on a terminal. */
static bool needs_escape(uint32_t character)
{
    return character < 0x20 || character == '"' || character == '\\' ||
           (character >= 0x7f && character <= 0x9f);
}

void json_bytes(struct json *json, const char *key, const char *data, size_t size)
{
    size_t written = 0;
    size_t at = 0;

    begin_value(json, key);
    sink_write(json->out, "\"", 1);
    while (at < size) {
        uint32_t character;
        size_t bytes = utf8_next(data + at, size - at, &character);
        bool valid = character != UTF8_REPLACEMENT;
        if (!valid || needs_escape(character)) {
            sink_write(json->out, data + written, at - written);
            written = at + bytes;
            if (valid)
                write_escaped(json->out, character);
            else
                sink_write(json->out, "\xef\xbf\xbd", 3);
        }
        at += bytes;
    }
    if (at > written)
        sink_write(json->out, data + written, at - written);
    sink_write(json->out, "\"", 1);
}

void json_string(struct json *json, const char *key, const char *text)
{
    json_bytes(json, key, text, strlen(text));
}

/* By hand: numbers are most of what is written, and printf takes four times as long. */
static void write_digits(struct sink *out, uint64_t value, bool negative)
{
    char digits[24];
    char *first = digits + sizeof digits;

    do
        *--first = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    if (negative)
        *--first = '-';
    sink_write(out, first, (size_t)(digits + sizeof digits - first));
}

void json_int(struct json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    write_digits(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    write_digits(json->out, value, false);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    sink_text(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    sink_text(json->out, "null");
}

void json_double(struct json *json, const char *key, double value)
{
    char text[32];
    int digits = 15;

    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    char *comma = strchr(text, ','); /* the program around us may have set a locale */
    if (comma)
        *comma = '.';
    begin_value(json, key);
    sink_text(json->out, text);
}

void json_end_line(struct json *json)
{
    assert(json->depth == 0);
    sink_write(json->out, "\n", 1);
    json->filled[0] = false;
}
