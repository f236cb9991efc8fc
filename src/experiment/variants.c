#include "experiment/variants.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

const char *const variant_thread_names[VARIANT_THREAD_NAMES] = {
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"};

static int no_memory(struct ss_error *error)
{
    return error_set(error, SS_E_NOMEM, "%s", ss_error_text(SS_E_NOMEM));
}

static bool has_value(const struct variant_parameter *parameter, const char *value)
{
    for (size_t i = 0; i < parameter->count; i++)
        if (strcmp(parameter->values[i], value) == 0)
            return true;
    return false;
}

static int add_value(struct variant_parameter *parameter, const char *value, size_t size,
                     struct ss_error *error)
{
    char *const copy = strndup(value, size);

    if (!copy)
        return no_memory(error);
    if (size == 0 || has_value(parameter, copy)) {
        int failed = size == 0 ? error_set(error, SS_E_INVALID, "a value is empty.")
                               : error_set(error, SS_E_INVALID, "'%s' is given twice.", copy);
        free(copy);
        return failed;
    }
    if (parameter->count == VARIANTS_MOST) {
        free(copy);
        return error_set(error, SS_E_INVALID, "there are more than %d values.", VARIANTS_MOST);
    }
    parameter->values[parameter->count++] = copy;
    return 0;
}

static int add_values(struct variant_parameter *parameter, const char *list, struct ss_error *error)
{
    for (const char *at = list;; at++) {
        const size_t size = strcspn(at, ",");
        const int failed = add_value(parameter, at, size, error);
        at += size;
        if (failed || *at == '\0')
            return failed;
    }
}

static struct variant_parameter *new_parameter(struct variants *variants, const char *name,
                                               size_t size, struct ss_error *error)
{
    for (size_t i = 0; i < variants->parameter_count; i++) {
        const char *other = variants->parameters[i].name;
        if (strlen(other) == size && strncmp(other, name, size) == 0) {
            error_set(error, SS_E_INVALID, "values of {%.*s} are given twice.", (int)size, name);
            return NULL;
        }
    }
    if (variants->parameter_count == VARIANT_PARAMETERS_MOST) {
        error_set(error, SS_E_INVALID, "there are more than %d parameters.",
                  VARIANT_PARAMETERS_MOST);
        return NULL;
    }
    struct variant_parameter *parameter = &variants->parameters[variants->parameter_count];
    parameter->name = strndup(name, size);
    if (!parameter->name) {
        no_memory(error);
        return NULL;
    }
    variants->parameter_count++;
    return parameter;
}

int variants_add(struct variants *variants, const char *text, bool may_be_named,
                 struct ss_error *error)
{
    const char *equals = may_be_named ? strchr(text, '=') : NULL;
    struct variant_parameter *parameter =
        new_parameter(variants, text, equals ? (size_t)(equals - text) : 0, error);

    return parameter ? add_values(parameter, equals ? equals + 1 : text, error) : error->code;
}

int variants_add_first(struct variants *variants, const char *text, struct ss_error *error)
{
    const int failed = variants_add(variants, text, false, error);

    if (failed)
        return failed;
    const size_t last = variants->parameter_count - 1;
    const struct variant_parameter added = variants->parameters[last];
    memmove(&variants->parameters[1], &variants->parameters[0],
            last * sizeof variants->parameters[0]);
    variants->parameters[0] = added;
    return 0;
}

int variants_add_threads(struct variants *variants, const char *text, struct ss_error *error)
{
    const char *const name = variant_thread_names[0];
    struct variant_parameter *parameter = new_parameter(variants, name, strlen(name), error);

    if (!parameter)
        return error->code;
    parameter->is_threads = true;
    int failed = add_values(parameter, text, error);
    for (size_t i = 0; i < parameter->count && !failed; i++) {
        char *end = NULL;
        if (strtol(parameter->values[i], &end, 10) < 1 || *end != '\0')
            failed = error_set(error, SS_E_INVALID, "--threads takes numbers, not '%s'.",
                               parameter->values[i]);
    }
    return failed;
}

/* Length of "{name}" at the start of a text; 0: there is none. */
static size_t placeholder_size(const struct variant_parameter *parameter, const char *text)
{
    const size_t size = strlen(parameter->name);

    if (parameter->is_threads || text[0] != '{' || strncmp(text + 1, parameter->name, size) != 0 ||
        text[size + 1] != '}')
        return 0;
    return size + 2;
}

static bool is_used(const struct variant_parameter *parameter, char *const *command)
{
    for (; *command; command++)
        for (const char *at = strchr(*command, '{'); at; at = strchr(at + 1, '{'))
            if (placeholder_size(parameter, at) > 0)
                return true;
    return parameter->is_threads;
}

/* One word with the values in place. NULL: no memory. */
static char *fill_word(const struct variants *variants, const char *word, const size_t *choice)
{
    struct buf out = {0};

    while (*word) {
        size_t taken = 0;
        for (size_t p = 0; p < variants->parameter_count && taken == 0; p++) {
            taken = placeholder_size(&variants->parameters[p], word);
            if (taken > 0)
                buf_add_text(&out, variants->parameters[p].values[choice[p]]);
        }
        if (taken == 0) {
            buf_add(&out, word, 1);
            taken = 1;
        }
        word += taken;
    }
    char *const filled = out.failed ? NULL : strdup(buf_text(&out));
    buf_release(&out);
    return filled;
}

static char *label_of(const struct variants *variants, const size_t *choice)
{
    struct buf out = {0};

    for (size_t p = 0; p < variants->parameter_count; p++)
        buf_printf(&out, "%s%s", p ? ", " : "", variants->parameters[p].values[choice[p]]);
    return out.failed ? NULL : out.data;
}

static bool fill_environment(const struct variants *variants, const size_t *choice,
                             struct variant *variant)
{
    size_t count = 0;

    variant->environment = calloc(VARIANT_THREAD_NAMES + 1, sizeof variant->environment[0]);
    for (size_t p = 0; variant->environment && p < variants->parameter_count; p++) {
        const struct variant_parameter *const parameter = &variants->parameters[p];
        for (size_t i = 0; parameter->is_threads && i < VARIANT_THREAD_NAMES; i++) {
            struct buf entry = {0};
            buf_printf(&entry, "%s=%s", variant_thread_names[i], parameter->values[choice[p]]);
            variant->environment[count++] = entry.data;
            if (entry.failed)
                return false;
        }
    }
    return variant->environment;
}

static bool fill(const struct variants *variants, char *const *command, const size_t *choice,
                 struct variant *variant)
{
    size_t words = 0;
    bool filled = true;

    while (command[words])
        words++;
    variant->command = calloc(words + 1, sizeof variant->command[0]);
    for (size_t i = 0; variant->command && i < words; i++) {
        variant->command[i] = fill_word(variants, command[i], choice);
        filled = filled && variant->command[i];
    }
    variant->label = label_of(variants, choice);
    variant->first = variants->parameters[0].values[choice[0]];
    return filled && variant->command && variant->label &&
           fill_environment(variants, choice, variant);
}

/* The next combination: the last parameter changes first. False: that was the last one. */
static bool next_choice(const struct variants *variants, size_t *choice)
{
    for (size_t p = variants->parameter_count; p > 0; p--) {
        if (++choice[p - 1] < variants->parameters[p - 1].count)
            return true;
        choice[p - 1] = 0;
    }
    return false;
}

int variants_make(struct variants *variants, char *const *command, struct ss_error *error)
{
    size_t choice[VARIANT_PARAMETERS_MOST] = {0};

    if (variants->parameter_count == 0)
        return error_set(error, SS_E_INVALID, "there is nothing to vary.");
    for (size_t p = 0; p < variants->parameter_count; p++)
        if (!is_used(&variants->parameters[p], command))
            return error_set(error, SS_E_INVALID, "the command has no {%s} to put values into.",
                             variants->parameters[p].name);
    do {
        if (variants->count == VARIANTS_MOST)
            return error_set(error, SS_E_INVALID, "there are more than %d combinations.",
                             VARIANTS_MOST);
        if (!fill(variants, command, choice, &variants->variant[variants->count++]))
            return no_memory(error);
    } while (next_choice(variants, choice));
    return 0;
}

static char **copy_words(const char *const *words)
{
    size_t count = 0;

    while (words[count])
        count++;
    char **copy = calloc(count + 1, sizeof copy[0]);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = strdup(words[i]);
    return copy;
}

int variants_add_environment(struct variants *variants, const char *label,
                             const char *const *environment, char *const *command,
                             struct ss_error *error)
{
    if (variants->count == VARIANTS_MOST)
        return error_set(error, SS_E_INVALID, "there are more than %d variants.", VARIANTS_MOST);
    struct variant *const variant = &variants->variant[variants->count++];
    *variant = (struct variant){.label = strdup(label),
                                .command = copy_words((const char *const *)command),
                                .environment = copy_words(environment),
                                .first = ""};
    return variant->label && variant->command && variant->environment ? 0 : no_memory(error);
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

void variants_release(struct variants *variants)
{
    for (size_t i = 0; i < variants->count; i++) {
        free(variants->variant[i].label);
        free_words(variants->variant[i].command);
        free_words(variants->variant[i].environment);
    }
    for (size_t p = 0; p < variants->parameter_count; p++) {
        free(variants->parameters[p].name);
        for (size_t i = 0; i < variants->parameters[p].count; i++)
            free(variants->parameters[p].values[i]);
    }
    *variants = (struct variants){0};
}
