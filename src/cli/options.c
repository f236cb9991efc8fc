#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

struct parser {
    const struct cli_option *options;
    char **words;
    int count;
    int at; /* the word after the one being looked at */
    bool help;
    struct ss_error *error;
};

static int set_option(struct parser *parser, const struct cli_option *option, const char *value)
{
    if (!option->argument && value)
        return error_set(parser->error, SS_E_INVALID, "option '--%s' takes no value.",
                         option->name);
    if (option->argument && !value) {
        if (parser->at == parser->count)
            return error_set(parser->error, SS_E_INVALID, "option '--%s' needs a value: --%s %s.",
                             option->name, option->name, option->argument);
        value = parser->words[parser->at++];
    }
    if (option->is_given)
        *option->is_given = true;
    if (option->value)
        *option->value = value;
    return option->take ? option->take(value, parser->error) : 0;
}

static int unknown_option(struct parser *parser, const char *name, size_t size)
{
    struct suggestion suggestion = suggest_start(name, size);

    suggest_try(&suggestion, "help");
    for (const struct cli_option *o = parser->options; o->name; o++)
        suggest_try(&suggestion, o->name);
    if (!suggestion.best)
        return error_set(parser->error, SS_E_INVALID, "unknown option '--%.*s'.", (int)size, name);
    return error_set(parser->error, SS_E_INVALID, "unknown option '--%.*s'. Did you mean '--%s'?",
                     (int)size, name, suggestion.best);
}

static int parse_long(struct parser *parser, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : strlen(text);
    const char *value = equals ? equals + 1 : NULL;

    if (strcmp(text, "help") == 0) {
        parser->help = true;
        return 0;
    }
    for (const struct cli_option *o = parser->options; o->name; o++)
        if (strlen(o->name) == size && memcmp(o->name, text, size) == 0)
            return set_option(parser, o, value);
    return unknown_option(parser, text, size);
}

static const struct cli_option *find_letter(const struct parser *parser, char letter)
{
    for (const struct cli_option *o = parser->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

/* Letters may share a dash: -ab is -a -b, and -oFILE is -o FILE. */
static int parse_letters(struct parser *parser, const char *letters)
{
    for (; *letters; letters++) {
        const struct cli_option *option = find_letter(parser, *letters);
        if (*letters == 'h' && !option) {
            parser->help = true;
            continue;
        }
        if (!option)
            return error_set(parser->error, SS_E_INVALID, "unknown option '-%c'.", *letters);
        bool takes_rest = option->argument && letters[1];
        int failed = set_option(parser, option, takes_rest ? letters + 1 : NULL);
        if (failed || takes_rest)
            return failed;
    }
    return 0;
}

static int parse(const struct cli_option *options, int *count, char **words, bool leading_only,
                 struct ss_error *error)
{
    struct parser parser = {.options = options, .words = words, .count = *count, .error = error};
    int operands = 0;
    bool all_operands = false;

    while (parser.at < parser.count) {
        char *word = words[parser.at++];
        int failed = 0;
        if (all_operands || word[0] != '-' || word[1] == '\0')
            words[operands++] = word;
        else if (strcmp(word, "--") == 0)
            all_operands = true;
        else if (word[1] == '-')
            failed = parse_long(&parser, word + 2);
        else
            failed = parse_letters(&parser, word + 1);
        if (failed)
            return failed;
        all_operands = all_operands || (leading_only && operands > 0);
    }
    *count = operands;
    return parser.help ? OPTIONS_HELP : 0;
}

int options_parse(const struct cli_option *options, int *count, char **words,
                  struct ss_error *error)
{
    return parse(options, count, words, false, error);
}

int options_parse_leading(const struct cli_option *options, int *count, char **words,
                          struct ss_error *error)
{
    return parse(options, count, words, true, error);
}

enum { LONGEST = 32 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t suggest_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t table[LONGEST + 1][LONGEST + 1]; /* between the first i bytes of a and j of b */

    if (a_size > LONGEST || b_size > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= a_size; i++)
        table[i][0] = i;
    for (size_t j = 0; j <= b_size; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        for (size_t j = 1; j <= b_size; j++) {
            size_t replaced = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t shifted = smaller(table[i - 1][j], table[i][j - 1]) + 1;
            table[i][j] = smaller(replaced, shifted);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                table[i][j] = smaller(table[i][j], table[i - 2][j - 2] + 1);
        }
    }
    return table[a_size][b_size];
}

struct suggestion suggest_start(const char *word, size_t size)
{
    return (struct suggestion){.word = word, .size = size, .distance = SIZE_MAX};
}

void suggest_try(struct suggestion *suggestion, const char *candidate)
{
    size_t size = strlen(candidate);
    size_t shorter = smaller(size, suggestion->size);
    size_t distance = suggest_distance(suggestion->word, suggestion->size, candidate, size);
    bool is_start = shorter >= 2 && memcmp(suggestion->word, candidate, shorter) == 0;

    if (is_start) /* "inf" and "information" mean info */
        distance = smaller(distance, 1);
    if (distance <= (size + 2) / 3 && distance < suggestion->distance) {
        suggestion->best = candidate;
        suggestion->distance = distance;
    }
}
