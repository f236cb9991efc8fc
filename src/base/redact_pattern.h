/* What the user asked to hide besides what the rules find: the POSIX extended regular expression of
 * STEPSCOPE_REDACT, compiled at its first use. One that cannot be compiled hides everything.
 *
 * The C library takes a lock of its own and memory for each search: callers hold a lock that a fork
 * waits for, and no event is recorded with a search unless there is an expression. */
#ifndef BASE_REDACT_PATTERN_H
#define BASE_REDACT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define REDACT_VARIABLE "STEPSCOPE_REDACT"

/* 0, or SS_E_INVALID with a sentence. */
struct ss_error;
int redact_pattern_check(const char *pattern, struct ss_error *error);

bool redact_pattern_is_set(void);

/* The next match of `size` > 0 bytes from *at on: its place in *at and its length; 0: none. `text`
 * ends in NUL at or behind text[size]. */
size_t redact_pattern_find(const char *text, size_t size, size_t *at);

/* The next use compiles it again: after a fork that waited for no lock, or when the variable may
 * have changed. What was compiled stays, since a thread may be using it. */
void redact_pattern_forget(void);
void redact_pattern_look_again(void);

#endif
