/* The bytes of a trace, from a file, a gzip file or memory, a window of them at a time.
 *
 * Between at and end are bytes that have not been looked at. trace_input_fill() puts others there
 * when all of them are used up: a reader that wants to keep bytes copies them. */
#ifndef IMPORT_TRACE_INPUT_H
#define IMPORT_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stepscope/error.h"

struct trace_input {
    const uint8_t *at, *end;
    uint64_t offset;     /* of `end`, in the trace without its compression */
    uint64_t file_bytes; /* how large the file is; 0: not known */
    int error;           /* SS_E code of the first read that failed, 0: none */
    char why[96];        /* what that was, in words */
    bool ended;
    void (*progress)(void *context, double done); /* called now and then; NULL: never */
    void *context;
    unsigned pass, passes; /* which reading of all bytes this is, from 0, of how many; 0: of one */

    int fd;
    void *gzip; /* a gzFile */
    uint8_t *window;
    const uint8_t *data; /* what is in memory, instead of a file */
};

/* 0, or an SS_E code with a sentence. Release it in either case. */
int trace_input_open(struct trace_input *input, const char *path, struct ss_error *error);
/* The bytes stay the caller's. */
void trace_input_memory(struct trace_input *input, const void *data, size_t size);
void trace_input_release(struct trace_input *input);

/* Begins again, with the next pass. false: the file can be read only once, as a pipe, and `error`
 * is set. */
bool trace_input_rewind(struct trace_input *input);

/* false: there are no more, or `error` is set. */
bool trace_input_fill(struct trace_input *input);

/* Where the next byte is. */
static inline uint64_t trace_input_offset(const struct trace_input *input)
{
    return input->offset - (uint64_t)(input->end - input->at);
}

/* The next byte, or -1. */
static inline int trace_input_byte(struct trace_input *input)
{
    return input->at < input->end || trace_input_fill(input) ? *input->at++ : -1;
}

/* The next byte, which stays, or -1. */
static inline int trace_input_peek(struct trace_input *input)
{
    return input->at < input->end || trace_input_fill(input) ? *input->at : -1;
}

/* Passes over `count` bytes; false if there are fewer. */
bool trace_input_skip(struct trace_input *input, uint64_t count);

/* Copies them; false if there are fewer. */
bool trace_input_read(struct trace_input *input, void *out, size_t size);

#endif
