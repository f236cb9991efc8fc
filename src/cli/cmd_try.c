#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/experiment.h"
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

static int run(struct console *console, int count, char **words)
{
    struct sweep_wish wish = {.variants = &variants, .command = words, .has_reference = true};
    struct ss_error error = {0};
    int code = EXIT_USAGE;

    words[count] = NULL;
    if (!what)
        console_error(console, "nothing to try. Name it with --what, such as --what malloc.");
    else if (experiment_wish(console, &wish)) {
        if (try_add(&variants, what, words, &error) != 0)
            console_error(console, "%s", error.message);
        else
            code = try_all(console, &wish, count, words);
    }
    variants_release(&variants);
    return code;
}

static const struct cli_option options[] = {
    {.name = "what",
     .argument = "LIST",
     .help = "threads=N, malloc, omp-passive, env:NAME=VALUE",
     .value = &what},
    {.name = "fix", .help = "then run the command with the best change", .is_given = &fix},
    EXPERIMENT_OPTIONS,
    {0},
};

const struct command cmd_try = {
    .name = "try",
    .summary = "measure what a change of the environment would gain",
    .operands = "[--] COMMAND ...",
    .details = "Runs the command unchanged and with each change, alternating between them every\n"
               "few moments, and measures what each change saves. The trainings are discarded:\n"
               "files that they write go to a copy in memory. For example:\n"
               "  stepscope try --what threads=1,malloc,omp-passive -- python train.py\n"
               "  stepscope try --fix --what env:TF_ENABLE_ONEDNN_OPTS=0 -- python train.py\n"
               "With --fix, the command is then run and recorded with the change that saves\n"
               "most, if one is significant.\n",
    .options = options,
    .fewest = 1,
    .most = INT_MAX,
    .ends_in_command = true,
    .run = run,
};
