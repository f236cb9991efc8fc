#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/experiment.h"
#include "experiment/in_process.h"
#include "experiment/try.h"

static const char *what;
static bool fix;
static struct variants variants;

/* Runs the command as 'stepscope run' would, with what won. Returns if that is not possible. */
static int run_fixed(const struct console *console, const struct variant *winner, char **words,
                     int count)
{
    char **command = calloc((size_t)count + 6, sizeof command[0]);
    static char tool[] = "stepscope", verb[] = "run", end[] = "--", dir[] = "--dir";
    size_t at = 0;

    if (!command)
        return EXIT_DATA;
    for (char *const *entry = winner->environment; *entry; entry++)
        (void)putenv(*entry);
    command[at++] = tool;
    command[at++] = verb;
    if (experiment_options.dir) {
        command[at++] = dir;
        command[at++] = (char *)experiment_options.dir;
    }
    command[at++] = end;
    memcpy(command + at, words, (size_t)count * sizeof command[0]);
    execv("/proc/self/exe", command);
    console_error(console, "cannot run it with the change: %s.", strerror(errno));
    free(command);
    return EXIT_DATA;
}

static int try_all(struct console *console, const struct sweep_wish *wish, int count, char **words)
{
    const struct style style = style_for(STDOUT_FILENO);
    struct sweep_result result;

    if (!experiment_run(console, wish, &result)) {
        sweep_release(&result);
        return EXIT_DATA;
    }
    if (experiment_options.as_json)
        try_json(&console->out, &result);
    else
        try_text(&console->out, &variants, &result, &style);
    const size_t winner = try_winner(&result);
    const int code = experiment_end(console, &result, result.rows[TRY_AS_IT_IS].rate.mid > 0);
    if (!fix || code != EXIT_FINE || winner == SIZE_MAX)
        return code;
    (void)sink_flush(&console->out);
    return run_fixed(console, &variants.variant[winner], words, count);
}

static bool is_threads(const char *word, size_t size)
{
    static const char threads[] = "threads=";
    char *end;

    return size > strlen(threads) && strncmp(word, threads, strlen(threads)) == 0 &&
           strtol(word + strlen(threads), &end, 10) >= 1 && end == word + size;
}

/* Changes within one training are one thing, those that take a training each another. */
enum kind { IN_PROCESS, IN_RUNS, MIXED, UNKNOWN };

static enum kind kind_of(const char *words)
{
    bool is_inside = !words, is_outside = false, is_unknown = false;

    for (const char *at = words; at; at = *at ? at + 1 : NULL) {
        const size_t size = strcspn(at, ",");
        const bool may_be_inside = in_process_has(at, size) || is_threads(at, size);
        is_inside = is_inside || in_process_has(at, size);
        is_outside = is_outside || !may_be_inside;
        is_unknown = is_unknown || (!may_be_inside && !try_has(at, size));
        at += size;
    }
    return !is_inside ? IN_RUNS : is_unknown ? UNKNOWN : is_outside ? MIXED : IN_PROCESS;
}

static void show_result(struct console *console, const struct in_process_result *result)
{
    const struct style style = style_for(STDOUT_FILENO);

    if (experiment_options.as_json)
        in_process_json(&console->out, result);
    else
        in_process_text(&console->out, result, &style);
}

static int try_inside(struct console *console, const struct sweep_wish *shared)
{
    struct in_process_wish wish = {.command = shared->command,
                                   .parent = shared->parent,
                                   .words = what,
                                   .precision = shared->precision,
                                   .most_ns = shared->most_ns,
                                   .may_be_unprotected = shared->may_be_unprotected};
    struct in_process_result result;
    struct ss_error error = {0};
    int code = EXIT_DATA;

    const int failed = experiment_run_inside(console, &wish, &result, &error);
    const bool is_useful = !failed && in_process_is_useful(&result);
    if (failed)
        console_error(console, "%s.", error.message);
    else if (is_useful || result.notes.size > 0 || experiment_options.as_json)
        show_result(console, &result);
    if (is_useful)
        code = EXIT_FINE;
    else if (!failed && !result.signal)
        console_error(console, "%s. What it printed is in '%s/output.log'.",
                      buf_text(&result.error), buf_text(&result.dir));
    const int signal = result.signal;
    in_process_release(&result);
    return experiment_code(console, code, signal);
}

static int try_outside(struct console *console, const struct sweep_wish *wish, int count,
                       char **words)
{
    struct ss_error error = {0};

    if (try_add(&variants, what, words, &error) == 0)
        return try_all(console, wish, count, words);
    console_error(console, "%s", error.message);
    return EXIT_USAGE;
}

static int run(struct console *console, int count, char **words)
{
    struct sweep_wish wish = {.variants = &variants, .command = words, .has_reference = true};
    const enum kind kind = kind_of(what);
    int code = EXIT_USAGE;

    words[count] = NULL;
    if (!experiment_wish(console, &wish))
        return EXIT_USAGE;
    if (kind == UNKNOWN)
        console_error(console, "'%s' has a word that cannot be tried: there are " TRY_WORDS ".",
                      what);
    else if (kind == MIXED)
        console_error(console, "input and callbacks are tried within one training, changes of "
                               "the environment in one each: name them in two commands.");
    else if (kind == IN_PROCESS && (fix || experiment_options.serial))
        console_error(console, "%s is for changes of the environment, such as --what threads=1.",
                      fix ? "--fix" : "--serial");
    else if (kind == IN_PROCESS)
        code = try_inside(console, &wish);
    else
        code = try_outside(console, &wish, count, words);
    variants_release(&variants);
    return code;
}

static const struct cli_option options[] = {
    {.name = "what",
     .argument = "LIST",
     .help = "input,callbacks,threads=N,malloc,omp-passive,env:N=V",
     .value = &what},
    {.name = "fix", .help = "then run the command with the best change", .is_given = &fix},
    EXPERIMENT_OPTIONS,
    {0},
};

const struct command cmd_try = {
    .name = "try",
    .summary = "measure what a change would gain",
    .operands = "[--] COMMAND ...",
    .details = "Runs the training unchanged and with each change, alternating between them,\n"
               "and measures what each change saves. Without --what, it tries what a report\n"
               "would warn about. It stops when it knows. The training is discarded: files\n"
               "that it writes go to a copy in memory. Input and callbacks change within one\n"
               "training of PyTorch, Lightning, Hugging Face or Keras, every few steps; each\n"
               "change of the environment takes a training of its own. For example:\n"
               "  stepscope try -- python train.py\n"
               "  stepscope try --what input,callbacks,threads=1 -- python train.py\n"
               "  stepscope try --fix --what env:TF_ENABLE_ONEDNN_OPTS=0 -- python train.py\n"
               "With --fix, the command is then run and recorded with the change of the\n"
               "environment that saves most, if one is significant.\n",
    .options = options,
    .fewest = 1,
    .most = INT_MAX,
    .ends_in_command = true,
    .run = run,
};
