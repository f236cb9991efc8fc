/* Signals that end a program which writes files, so that it can leave nothing half done behind:
 * Ctrl-C and its like. SIGXFSZ, for a file that grew too large, is ignored until then: the write
 * then fails with EFBIG, of which a sentence can be made.
 *
 * What is already ignored or handled stays theirs. */
#ifndef BASE_ENDING_SIGNALS_H
#define BASE_ENDING_SIGNALS_H

#include <signal.h>

enum { ENDING_SIGNALS_WATCHED = 5 };

struct ending_signals {
    struct sigaction before[ENDING_SIGNALS_WATCHED];
};

/* From now on they call `handler`, until they are restored. */
void ending_signals_watch(struct ending_signals *signals, void (*handler)(int number));
void ending_signals_restore(const struct ending_signals *signals);

/* They come after ending_signals_release(), which gets what this one filled in. */
void ending_signals_hold(sigset_t *mask);
void ending_signals_release(const sigset_t *mask);

/* Ends the program as the signal would have. From a handler too: then it ends when that returns. */
void ending_signals_end(int number);

/* Written to stderr before that end, as to clear a line; NULL: nothing. Must be a literal. */
void ending_signals_last_words(const char *text);

#endif
