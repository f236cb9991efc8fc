#include "model/input_source.h"

#include <stdbool.h>
#include <string.h>

struct word {
    const char *data;
    size_t size;
};

/* The next word from `at` on; its size is 0 after the last one. */
static struct word next_word(struct ss_text text, size_t *at)
{
    while (*at < text.size && text.data[*at] == ' ')
        ++*at;
    const size_t first = *at;
    while (*at < text.size && text.data[*at] != ' ')
        ++*at;
    return (struct word){*at > first ? text.data + first : "", *at - first};
}

static bool is_word(struct word word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.data, text, word.size) == 0;
}

static enum input_kind kind_of(struct word word)
{
    static const char *const kinds[] = {[INPUT_TF_DATA] = "tf.data",
                                        [INPUT_PY_DATASET] = "PyDataset",
                                        [INPUT_GENERATOR] = "generator",
                                        [INPUT_ARRAYS] = "arrays"};

    for (size_t i = INPUT_TF_DATA; i < sizeof kinds / sizeof kinds[0]; i++)
        if (is_word(word, kinds[i]))
            return (enum input_kind)i;
    return INPUT_UNKNOWN;
}

static unsigned has_of(struct word word)
{
    static const char *const words[] = {"generator",         "map:serial", "map:python",
                                        "interleave:serial", "cache",      "prefetch",
                                        "processes"}; /* enum input_has */

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_word(word, words[i]))
            return 1u << i;
    return 0;
}

static int workers_of(struct word word)
{
    static const char key[] = "workers=";
    enum { MOST = 4096 };
    int workers = 0;

    if (word.size < sizeof key || memcmp(word.data, key, sizeof key - 1) != 0)
        return 0;
    for (size_t i = sizeof key - 1; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9' || workers > MOST)
            return 0;
        workers = workers * 10 + (word.data[i] - '0');
    }
    return workers;
}

struct input_source input_source_parse(struct ss_text mark)
{
    size_t at = 0;
    struct input_source source = {.kind = kind_of(next_word(mark, &at))};

    for (struct word word = next_word(mark, &at); word.size > 0; word = next_word(mark, &at)) {
        const int workers = workers_of(word);
        source.has |= has_of(word);
        source.workers = workers ? workers : source.workers;
    }
    return source;
}
