/* The commands of a sweep: the same one with the values of its parameters in place of `{}` or
 * `{name}`, each combination once. */
#ifndef EXPERIMENT_VARIANTS_H
#define EXPERIMENT_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/rounds.h"
#include "stepscope/error.h"

enum { VARIANTS_MOST = ROUNDS_ARMS_MOST, VARIANT_PARAMETERS_MOST = 4 };

struct variant_parameter {
    char *name; /* "": stands for {} */
    char *values[VARIANTS_MOST];
    size_t count;
    bool is_threads; /* the value of variables, not of a word of the command */
};

struct variant {
    char *label; /* "32", "64, 0.1" */
    char **command;
    char **environment; /* "NAME=VALUE" of parameters that are variables; ends with NULL */
    const char *first;  /* value of the first parameter */
};

struct variants {
    struct variant_parameter parameters[VARIANT_PARAMETERS_MOST];
    size_t parameter_count;
    struct variant variant[VARIANTS_MOST];
    size_t count;
};

/* Adds "16,32,64", or "name=16,32,64" if `may_be_named`. Each value once. 0, SS_E_NOMEM, or
 * SS_E_INVALID with a sentence. */
int variants_add(struct variants *variants, const char *text, bool may_be_named,
                 struct ss_error *error);

/* The same as the first of the parameters, unnamed. */
int variants_add_first(struct variants *variants, const char *text, struct ss_error *error);

/* What numeric libraries take a number of threads from. */
enum { VARIANT_THREAD_NAMES = 4 };
extern const char *const variant_thread_names[VARIANT_THREAD_NAMES];

/* A parameter that is the number of threads, in all these variables. */
int variants_add_threads(struct variants *variants, const char *text, struct ss_error *error);

/* One variant with these variables, "NAME=VALUE", ended by NULL, and the command as it is. Not
 * together with parameters. 0 or SS_E. */
int variants_add_environment(struct variants *variants, const char *label,
                             const char *const *environment, char *const *command,
                             struct ss_error *error);

/* Makes all combinations. SS_E_INVALID: a parameter is not in the command, a placeholder has no
 * values, or there are more than VARIANTS_MOST. */
int variants_make(struct variants *variants, char *const *command, struct ss_error *error);
void variants_release(struct variants *variants);

#endif
