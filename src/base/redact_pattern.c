#include "base/redact_pattern.h"

#include <errno.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* What the variable says, once it has been looked at. */
struct compiled {
    regex_t regex;
    struct compiled *before; /* forgotten, and perhaps still in use by another thread: kept */
    bool is_bad;
    char pattern[];
};

static struct compiled no_pattern; /* its address says so */
static _Atomic(struct compiled *) known, forgotten;

static const char *wanted(void)
{
    const char *pattern = secure_getenv(REDACT_VARIABLE);

    return pattern ? pattern : "";
}

int redact_pattern_check(const char *pattern, struct ss_error *error)
{
    char why[128];
    regex_t regex;
    const int failed = regcomp(&regex, pattern, REG_EXTENDED);

    if (!failed) {
        regfree(&regex);
        return 0;
    }
    regerror(failed, &regex, why, sizeof why);
    return error_set(error, SS_E_INVALID, "'%s' is not a POSIX extended regular expression (%s).",
                     pattern, why);
}

static struct compiled *compile(const char *pattern)
{
    const size_t size = strlen(pattern) + 1;
    struct compiled *fresh = malloc(sizeof *fresh + size);

    if (!fresh)
        return NULL;
    memcpy(fresh->pattern, pattern, size);
    fresh->is_bad = regcomp(&fresh->regex, pattern, REG_EXTENDED) != 0;
    return fresh;
}

/* Two threads may compile it; one of them is in vain, and freed. NULL: there is no memory. */
static struct compiled *look(void)
{
    struct compiled *found = atomic_load(&known);

    if (found)
        return found;
    const char *pattern = wanted();
    struct compiled *fresh = *pattern ? compile(pattern) : &no_pattern;
    if (!fresh || atomic_compare_exchange_strong(&known, &found, fresh))
        return fresh;
    if (fresh != &no_pattern) {
        if (!fresh->is_bad)
            regfree(&fresh->regex);
        free(fresh);
    }
    return found;
}

bool redact_pattern_is_set(void)
{
    const int mine = errno;
    const bool is_set = look() != &no_pattern;

    errno = mine;
    return is_set;
}

static int search(const regex_t *regex, const char *text, size_t size, size_t from,
                  regmatch_t *match)
{
    const int flags = from > 0 ? REG_NOTBOL : 0;
#ifdef REG_STARTEND
    *match = (regmatch_t){(regoff_t)from, (regoff_t)size};
    return regexec(regex, text, 1, match, flags | REG_STARTEND);
#else
    const int result = regexec(regex, text + from, 1, match, flags);
    match->rm_so += (regoff_t)from;
    match->rm_eo += (regoff_t)from;
    return result || (size_t)match->rm_so >= size;
#endif
}

/* A search that runs out of memory hides the rest, as a bad expression does. */
static size_t find(const struct compiled *compiled, const char *text, size_t size, size_t *at)
{
    while (*at < size) {
        regmatch_t match;
        const int failed = compiled && !compiled->is_bad
                               ? search(&compiled->regex, text, size, *at, &match)
                               : REG_ESPACE;
        if (failed)
            return failed == REG_ESPACE ? size - *at : 0;
        *at = (size_t)match.rm_so;
        if (match.rm_eo > match.rm_so)
            return (size_t)(match.rm_eo - match.rm_so);
        ++*at; /* an empty match */
    }
    return 0;
}

size_t redact_pattern_find(const char *text, size_t size, size_t *at)
{
    const struct compiled *const compiled = look();

    return compiled == &no_pattern ? 0 : find(compiled, text, size, at);
}

void redact_pattern_forget(void)
{
    struct compiled *last = atomic_exchange(&known, NULL);

    if (last && last != &no_pattern) {
        last->before = atomic_load(&forgotten);
        while (!atomic_compare_exchange_weak(&forgotten, &last->before, last))
            ;
    }
}

void redact_pattern_look_again(void)
{
    const struct compiled *const found = atomic_load(&known);

    if (found && strcmp(found == &no_pattern ? "" : found->pattern, wanted()) != 0)
        redact_pattern_forget();
}
