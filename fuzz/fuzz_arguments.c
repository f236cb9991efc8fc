/* Fuzzes command lines: the options of every command, and the texts that options, operands and the
 * environment may have. The first byte says which command; its words are ended by NUL or a line
 * end. Nothing is run. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/launcher.h"
#include "base/quantity.h"
#include "base/run_text.h"
#include "cli/command.h"
#include "experiment/variants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MOST = 64 };

static void demand(int holds)
{
    if (!holds)
        abort();
}

static const struct command *choose(uint8_t number)
{
    size_t count = 1;

    while (commands[count])
        count++;
    return commands[number % count];
}

/* Operands are words of the line, in their order. */
static void parse_options(const struct command *command, int count, char *const *line)
{
    char *words[WORDS_MOST + 1];
    struct ss_error error = {0};
    int left = count, at = 0;

    memcpy(words, line, (size_t)count * sizeof words[0]);
    const int parsed = (command->ends_in_command ? options_parse_leading : options_parse)(
        command->options, &left, words, &error);
    demand(parsed == 0 || parsed == OPTIONS_HELP || (parsed < 0 && error.message[0] != '\0'));
    demand(left >= 0 && left <= count);
    for (int i = 0; parsed >= 0 && i < left; i++) {
        while (at < count && words[i] != line[at])
            at++;
        demand(at++ < count);
    }
}

static void parse_values(const char *word)
{
    struct buf name = {0};
    int64_t ns = 0;
    int rank = 0, world = 0;

    demand(!duration_parse(word, &ns) || ns > 0);
    (void)size_parse(word);
    demand(!launcher_read_tf_config(word, &rank, &world) || rank >= 0);
    run_name_add(&name, word);
    demand(name.size <= RUN_NAME_MOST);
    buf_release(&name);
}

/* The first word is the values of one parameter, the second of another, the rest the command. */
static void make_variants(char **words, int count)
{
    struct variants *variants = calloc(1, sizeof *variants);
    struct ss_error error = {0};

    demand(variants != NULL);
    if (count >= 3 && variants_add(variants, words[0], true, &error) == 0 &&
        (words[1][0] == '#' ? variants_add_threads(variants, words[1] + 1, &error)
                            : variants_add(variants, words[1], true, &error)) == 0 &&
        variants_make(variants, words + 2, &error) == 0)
        demand(variants->count > 0 && variants->count <= VARIANTS_MOST);
    else
        demand(count < 3 || error.message[0] != '\0');
    variants_release(variants);
    free(variants);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MOST + 1], *text;
    int count = 0;

    if (size < 1 || !(text = malloc(size)))
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (char *at = text; at < text + size && count < WORDS_MOST; at += strlen(at) + 1) {
        at[strcspn(at, "\n")] = '\0';
        words[count++] = at;
    }
    words[count] = NULL;
    parse_options(choose(data[0]), count, words);
    for (int i = 0; i < count; i++)
        parse_values(words[i]);
    make_variants(words, count);
    free(text);
    return 0;
}
