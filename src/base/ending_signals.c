#include "base/ending_signals.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const int watched[ENDING_SIGNALS_WATCHED] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};

static const char *volatile last_words;

void ending_signals_watch(struct ending_signals *signals, void (*handler)(int number))
{
    for (size_t i = 0; i < ENDING_SIGNALS_WATCHED; i++) {
        const struct sigaction own = {.sa_handler = watched[i] == SIGXFSZ ? SIG_IGN : handler};
        sigaction(watched[i], NULL, &signals->before[i]);
        if (signals->before[i].sa_handler == SIG_DFL)
            sigaction(watched[i], &own, NULL);
    }
}

void ending_signals_restore(const struct ending_signals *signals)
{
    for (size_t i = 0; i < ENDING_SIGNALS_WATCHED; i++)
        if (signals->before[i].sa_handler == SIG_DFL)
            sigaction(watched[i], &signals->before[i], NULL);
}

void ending_signals_hold(sigset_t *mask)
{
    sigset_t ending;

    sigemptyset(&ending);
    for (size_t i = 0; i < ENDING_SIGNALS_WATCHED; i++)
        sigaddset(&ending, watched[i]);
    sigprocmask(SIG_BLOCK, &ending, mask);
}

void ending_signals_release(const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
}

void ending_signals_end(int number)
{
    const char *text = last_words;

    if (text && write(STDERR_FILENO, text, strlen(text)) < 0)
        last_words = NULL; /* its reader is gone */
    signal(number, SIG_DFL);
    raise(number);
}

void ending_signals_last_words(const char *text)
{
    last_words = text;
}
