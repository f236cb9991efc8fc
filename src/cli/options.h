/* The words of a command line: the options of a command, as a table that both the parser and the
 * help text read, and "did you mean" for unknown words. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "stepscope/error.h"

/* Given as --name, --name=VALUE or --name VALUE; with a letter also as -l, -lVALUE or -l VALUE. */
struct cli_option {
    const char *name;     /* without dashes; NULL ends a table */
    char letter;          /* 0: none */
    const char *argument; /* what the help calls its value; NULL: it has none */
    const char *help;
    bool *is_given;     /* set to true; may be NULL */
    const char **value; /* set to the value; NULL without one */

    /* For options that may be given several times: called for each value. 0, or SS_E_INVALID with a
     * sentence. NULL: `value` is enough. */
    int (*take)(const char *value, struct ss_error *error);
};

enum { OPTIONS_HELP = 1 };

/* Sets the targets of the options among `words` and moves the operands to the front, `*count` of
 * them. "--" ends the options. 0, OPTIONS_HELP if there was --help or -h, or SS_E_INVALID with a
 * sentence. */
int options_parse(const struct cli_option *options, int *count, char **words,
                  struct ss_error *error);

/* The same, but the first operand ends the options too: it begins a command that has its own. */
int options_parse_leading(const struct cli_option *options, int *count, char **words,
                          struct ss_error *error);

/* The word of a list that comes nearest to a mistyped one. */
struct suggestion {
    const char *word;
    size_t size;
    const char *best; /* NULL: nothing is near enough */
    size_t distance;
};

struct suggestion suggest_start(const char *word, size_t size);
void suggest_try(struct suggestion *suggestion, const char *candidate);

/* Letters to insert, delete, replace or swap with their neighbour to get from a to b. Words of
 * more than 32 bytes are infinitely far (SIZE_MAX). */
size_t suggest_distance(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
