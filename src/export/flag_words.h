/* The flags of a record as words with spaces between them. */
#ifndef EXPORT_FLAG_WORDS_H
#define EXPORT_FLAG_WORDS_H

#include <stddef.h>

enum { FLAG_WORDS_SIZE = 128 };

/* Writes into `out` and returns how many bytes; a 0 follows them. */
size_t flag_words(char out[FLAG_WORDS_SIZE], unsigned flags);

#endif
