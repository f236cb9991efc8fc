#include "export/flag_words.h"

#include <string.h>

#include "stepscope/reader.h"

/* All of them together, each with the space before it; the 0 takes the place of the first space. */
#define WORD_SIZE(id, bit, text) +sizeof(text)
_Static_assert(FLAG_WORDS_SIZE >= 0 SS_FLAGS(WORD_SIZE), "all flags must fit");

size_t flag_words(char out[FLAG_WORDS_SIZE], unsigned flags)
{
    size_t size = 0;

    for (unsigned bit = 0; SS_FLAG_ALL >> bit; bit++) {
        if (!(flags >> bit & 1))
            continue;
        const char *word = ss_flag_text(bit);
        if (size > 0)
            out[size++] = ' ';
        memcpy(out + size, word, strlen(word));
        size += strlen(word);
    }
    out[size] = '\0';
    return size;
}
