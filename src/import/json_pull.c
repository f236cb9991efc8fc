#include "import/json_pull.h"

#include <string.h>

void pull_init(struct pull *pull, struct trace_input *input)
{
    memset(pull, 0, offsetof(struct pull, text));
    pull->input = input;
    pull->want_value = true;
}

static enum pull_token wrong(struct pull *pull, const char *what)
{
    if (!pull->wrong) {
        pull->wrong = what;
        pull->wrong_offset = trace_input_offset(pull->input);
    }
    return PULL_WRONG;
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static int byte_after_space(struct pull *pull)
{
    struct trace_input *input = pull->input;

    do {
        const uint8_t *at = input->at;
        while (at < input->end && is_space(*at))
            at++;
        input->at = at;
    } while (input->at == input->end && trace_input_fill(input));
    return trace_input_byte(input);
}

static void add(struct pull *pull, const uint8_t *data, size_t size)
{
    const size_t room = PULL_TEXT_BYTES - pull->size;

    if (size > room)
        size = room;
    memcpy(pull->text + pull->size, data, size);
    pull->size += size;
}

static void add_byte(struct pull *pull, int byte)
{
    const uint8_t one = (uint8_t)byte;

    add(pull, &one, 1);
}

static int hex_digit(int byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* As UTF-8; half of a surrogate pair as U+FFFD: nothing that we look for needs them. */
static void add_code_point(struct pull *pull, unsigned code)
{
    if (code >= 0xd800 && code < 0xe000)
        code = 0xfffd;
    if (code < 0x80) {
        add_byte(pull, (int)code);
    } else if (code < 0x800) {
        add_byte(pull, (int)(0xc0 | code >> 6));
        add_byte(pull, (int)(0x80 | (code & 0x3f)));
    } else {
        add_byte(pull, (int)(0xe0 | code >> 12));
        add_byte(pull, (int)(0x80 | (code >> 6 & 0x3f)));
        add_byte(pull, (int)(0x80 | (code & 0x3f)));
    }
}

static bool take_escape(struct pull *pull)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    const int byte = trace_input_byte(pull->input);
    unsigned code = 0;

    if (byte < 0)
        return false;
    if (byte != 'u') {
        const char *known = strchr(from, byte);
        add_byte(pull, byte != 0 && known ? to[known - from] : byte);
        return true;
    }
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(trace_input_peek(pull->input));
        if (digit < 0)
            break;
        code = code << 4 | (unsigned)digit;
        trace_input_byte(pull->input);
    }
    add_code_point(pull, code);
    return true;
}

/* Not 0 if one of the eight bytes is `byte`. */
static uint64_t has_byte(uint64_t eight, uint8_t byte)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t zero_there = eight ^ ones * byte;

    return (zero_there - ones) & ~zero_there & ones << 7;
}

/* The first quote or backslash, or the end. Most of a trace is texts: eight bytes at a time. */
static const uint8_t *plain_end(const uint8_t *at, const uint8_t *end)
{
    uint64_t eight;

    for (; end - at >= 8; at += 8) {
        memcpy(&eight, at, sizeof eight);
        if (has_byte(eight, '"') || has_byte(eight, '\\'))
            break;
    }
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* What follows the opening quote. */
static bool take_string(struct pull *pull)
{
    struct trace_input *input = pull->input;

    pull->size = 0;
    while (input->at < input->end || trace_input_fill(input)) {
        const uint8_t *end = plain_end(input->at, input->end);
        add(pull, input->at, (size_t)(end - input->at));
        input->at = end;
        if (end == input->end)
            continue;
        if (*input->at++ == '"') {
            pull->text[pull->size] = '\0';
            return true;
        }
        if (!take_escape(pull))
            break;
    }
    return wrong(pull, "unterminated string") != PULL_WRONG;
}

static bool pass_string(struct pull *pull)
{
    struct trace_input *input = pull->input;

    while (input->at < input->end || trace_input_fill(input)) {
        input->at = plain_end(input->at, input->end);
        if (input->at == input->end)
            continue;
        if (*input->at++ == '"')
            return true;
        if (trace_input_byte(input) < 0)
            break;
    }
    return wrong(pull, "unterminated string") != PULL_WRONG;
}

static bool is_word(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '+' || byte == '.';
}

static enum pull_token take_word(struct pull *pull, int byte)
{
    if (!is_word(byte))
        return wrong(pull, byte < 0 ? "the file is truncated" : "value missing");
    pull->size = 0;
    add_byte(pull, byte);
    do {
        const uint8_t *at = pull->input->at, *end = pull->input->end;
        while (at < end && is_word(*at))
            at++;
        add(pull, pull->input->at, (size_t)(at - pull->input->at));
        pull->input->at = at;
    } while (pull->input->at == pull->input->end && trace_input_fill(pull->input));
    pull->text[pull->size] = '\0';
    return PULL_WORD;
}

static bool in_object(const struct pull *pull)
{
    const unsigned at = pull->depth - 1;

    return pull->depth > 0 && pull->is_object[at / 8] >> at % 8 & 1;
}

static enum pull_token begin(struct pull *pull, bool object)
{
    const unsigned at = pull->depth;

    if (at == PULL_MAX_DEPTH)
        return wrong(pull, "nested too deep");
    pull->is_object[at / 8] =
        (uint8_t)((pull->is_object[at / 8] & ~(1u << at % 8)) | (unsigned)object << at % 8);
    pull->depth++;
    pull->filled = false;
    pull->want_value = !object;
    return object ? PULL_BEGIN_OBJECT : PULL_BEGIN_ARRAY;
}

static enum pull_token end(struct pull *pull, bool object)
{
    pull->depth--;
    pull->filled = true;
    pull->want_value = pull->depth == 0 ? false : !in_object(pull);
    return object ? PULL_END_OBJECT : PULL_END_ARRAY;
}

static enum pull_token take_value(struct pull *pull, int byte)
{
    if (byte == '{' || byte == '[')
        return begin(pull, byte == '{');
    pull->filled = true;
    pull->want_value = pull->depth > 0 && !in_object(pull);
    if (byte == '"')
        return take_string(pull) ? PULL_STRING : PULL_WRONG;
    return take_word(pull, byte);
}

static enum pull_token take_key(struct pull *pull, int byte)
{
    if (byte != '"')
        return wrong(pull, byte < 0 ? "the file is truncated" : "key missing");
    if (!take_string(pull))
        return PULL_WRONG;
    if (byte_after_space(pull) != ':')
        return wrong(pull, "colon missing after a key");
    pull->want_value = true;
    return PULL_KEY;
}

enum pull_token pull_next(struct pull *pull)
{
    if (pull->wrong)
        return PULL_WRONG;
    int byte = byte_after_space(pull);
    if (pull->depth == 0)
        return pull->want_value ? take_value(pull, byte)
               : byte < 0 && pull->input->error == 0
                   ? PULL_END
                   : wrong(pull, "data after the end of the trace");
    const bool object = in_object(pull);
    if (object && pull->want_value)
        return take_value(pull, byte);
    if (byte == (object ? '}' : ']'))
        return end(pull, object);
    if (pull->filled) {
        if (byte != ',')
            return wrong(pull, byte < 0 ? "the file is truncated" : "comma missing");
        byte = byte_after_space(pull);
        if (byte == (object ? '}' : ']')) /* some writers leave a comma there */
            return end(pull, object);
    }
    return object ? take_key(pull, byte) : take_value(pull, byte);
}

/* Brackets only are counted: what is inside was written by the same writer. */
static bool pass_nested(struct pull *pull)
{
    struct trace_input *input = pull->input;
    unsigned depth = 1;

    while (depth > 0) {
        const int byte = trace_input_byte(input);
        if (byte < 0)
            return wrong(pull, "the file is truncated") != PULL_WRONG;
        if (byte == '"' && !pass_string(pull))
            return false;
        if (byte == '{' || byte == '[')
            depth++;
        else if (byte == '}' || byte == ']')
            depth--;
    }
    return true;
}

bool pull_skip(struct pull *pull)
{
    if (pull->wrong)
        return false;
    if (!in_object(pull) || !pull->want_value)
        return pull_leave(pull, pull_next(pull));
    const int byte = byte_after_space(pull);
    pull->filled = true;
    pull->want_value = false;
    if (byte == '"')
        return pass_string(pull);
    if (byte == '{' || byte == '[')
        return pass_nested(pull);
    return take_word(pull, byte) != PULL_WRONG;
}

bool pull_leave(struct pull *pull, enum pull_token token)
{
    if (token == PULL_WRONG)
        return false;
    if (token != PULL_BEGIN_OBJECT && token != PULL_BEGIN_ARRAY)
        return true;
    if (!pass_nested(pull))
        return false;
    end(pull, token == PULL_BEGIN_OBJECT);
    return true;
}

bool pull_is(const struct pull *pull, const char *text)
{
    return strcmp(pull->text, text) == 0;
}
