#include "diagnose/explain.h"

#include <ctype.h>
#include <string.h>

static const struct explained_word words[] = {
    {"step", "one update of the weights, including the wait for its data"},
    {"steady", "the steps after the warm-up, once step times have settled"},
    {"stage",
     "a part of the step: data, forward, backward, optimizer, compute (these three in one), transfer, sync, comm, callback, compile, setup, gc, other; "
     "see 'Step breakdown' in the report"},
    {"segment",
     "a part of the run: startup, compile, warmup, steady, between epochs, eval, infer, checkpoint, teardown; "
     "see 'Run breakdown' in the report"},
    {"span",
     "a named interval of time, such as a call into the framework, or one named by the script with stepscope.span()"},
    {"stack sample", "a sample of the Python line that is running, 20 per second"},
    {"samples", "checks of whether the loop thread was running or waiting, 10 per second"},
    {"window", "one step, or several made by one call"},
    {"rank", "one of the processes that train one model together"},
    {"host", "the CPU with its memory, as opposed to the device"},
    {"device", "what computes: a GPU, or the CPU cores"},
    {"worker", "a thread or process that prepares batches in parallel with the loop"},
    {"interval", "95 % confidence: it contains the true value in 95 of 100 such runs"},
    {"estimate", "a range by a rule of thumb, not a 95 % interval"},
    {"upper bound", "at most that much; how much less is unknown"},
    {"share", "the part of the step, of the loop's time or of the run's time"},
    {"p99", "99 of 100 values are at or below it"},
    {"median", "half of the values are at or below it"},
};

const struct explained_word *explain_word_at(size_t index)
{
    return index < sizeof words / sizeof words[0] ? &words[index] : NULL;
}

static bool is_letter(char character)
{
    return isalnum((unsigned char)character) || character == '-' || character == '_';
}

bool explain_uses(const char *text, const char *word)
{
    const size_t size = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        const char *end = at + size + (at[size] == 's');
        if ((at == text || !is_letter(at[-1])) && !is_letter(*end) && *end != '(')
            return true;
    }
    return false;
}
