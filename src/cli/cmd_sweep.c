#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/experiment.h"
#include "render/style.h"

static const char *batch, *threads;
static struct variants variants;

static int take_values(const char *value, struct ss_error *error)
{
    return variants_add(&variants, value, true, error);
}

static bool are_sizes(const struct console *console)
{
    const struct variant_parameter *const first = &variants.parameters[0];

    for (size_t i = 0; i < first->count; i++) {
        char *end = NULL;
        const double size = strtod(first->values[i], &end);
        if (*end != '\0' || !(size >= 1) || size != floor(size)) {
            console_error(console, "--batch takes batch sizes such as 16,32,64, not '%s'.",
                          first->values[i]);
            return false;
        }
        for (size_t k = 0; k < i; k++)
            if (strtod(first->values[k], NULL) == size) {
                console_error(console, "'%s' is given twice.", first->values[i]);
                return false;
            }
    }
    return true;
}

/* --batch is the first parameter, so that its values are the sizes. */
static int collect(char *const *words, struct ss_error *error)
{
    int failed = 0;

    if (batch)
        failed = variants_add_first(&variants, batch, error);
    if (!failed && threads)
        failed = variants_add_threads(&variants, threads, error);
    return failed ? failed : variants_make(&variants, words, error);
}

static int sweep(struct console *console, const struct sweep_wish *wish)
{
    const struct style style = style_for(STDOUT_FILENO);
    struct sweep_result result;

    if (!experiment_run(console, wish, &result)) {
        sweep_release(&result);
        return EXIT_DATA;
    }
    if (experiment_options.as_json)
        sweep_json(&console->out, &result);
    else
        sweep_text(&console->out, wish, &result, &style);
    return experiment_end(console, &result, result.best != SIZE_MAX);
}

static int run(struct console *console, int count, char **words)
{
    struct sweep_wish wish = {.variants = &variants, .command = words, .is_batch = batch};
    struct ss_error error = {0};
    int code = EXIT_USAGE;

    words[count] = NULL;
    if (experiment_wish(console, &wish)) {
        if (collect(words, &error) != 0)
            console_error(console, "%s 'stepscope sweep --help' has examples.", error.message);
        else if (!batch || are_sizes(console))
            code = sweep(console, &wish);
    }
    variants_release(&variants);
    return code;
}

static const struct cli_option options[] = {
    {.name = "batch",
     .argument = "SIZES",
     .help = "batch sizes such as 16,32,64, put in place of {}",
     .value = &batch},
    {.name = "values",
     .argument = "VALUES",
     .help = "0,2,4 for {}, or name=0,2,4 for {name}",
     .take = take_values},
    {.name = "threads",
     .argument = "COUNTS",
     .help = "values of OMP_NUM_THREADS, such as 1,2,4",
     .value = &threads},
    EXPERIMENT_OPTIONS,
    {0},
};

const struct command cmd_sweep = {
    .name = "sweep",
    .summary = "find the fastest value of a parameter by trying them in turns",
    .operands = "[--] COMMAND ...",
    .details = "Starts one training per value, alternates between them every few moments, and\n"
               "compares their throughput. The trainings are discarded: files that they write\n"
               "go to a copy in memory. For example:\n"
               "  stepscope sweep --batch 16,32,64 -- python train.py --batch-size {}\n"
               "  stepscope sweep --values workers=0,2,4 -- python train.py -w {workers}\n"
               "  stepscope sweep --threads 1,2,4 -- python train.py\n",
    .options = options,
    .fewest = 1,
    .most = INT_MAX,
    .ends_in_command = true,
    .run = run,
};
