#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/console.h"
#include "import/import.h"
#include "render/units.h"

static const char *output;

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "stepscope-runs/resnet" of "traces/resnet.json.gz", with a number behind it if need be. */
static bool choose_run(struct buf *run, const char *trace)
{
    static const char *const ends[] = {".gz", ".json", ".pb", ".xplane", ".pt.trace"};
    const char *parent = getenv("STEPSCOPE_DIR");
    const char *name = last_part(trace);
    size_t length = strlen(name);
    struct buf base = {0};
    FILE *taken;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t end = strlen(ends[i]);
        if (length > end && strncmp(name + length - end, ends[i], end) == 0)
            length -= end;
    }
    if (!parent || !*parent)
        parent = "stepscope-runs";
    (void)make_dir_all(parent, NULL); /* what is wrong shows when the run is made */
    buf_printf(&base, "%s/%.*s", parent, (int)length, name);
    for (int number = 1;; number++) {
        buf_reset(run);
        buf_add_text(run, buf_text(&base));
        if (number > 1)
            buf_printf(run, "-%d", number);
        taken = fopen(buf_text(run), "re");
        if (!taken || run->failed)
            break;
        fclose(taken);
    }
    run->failed |= base.failed;
    buf_release(&base);
    return !run->failed;
}

static void say_what_was_found(struct console *console, const char *run,
                               const struct import_result *result)
{
    char steps[UNITS_SIZE], events[UNITS_SIZE];

    sink_printf(&console->out, "%s: %s %s, %s events of devices\n", run,
                units_integer(steps, result->steps), result->steps == 1 ? "step" : "steps",
                units_integer(events, result->device_events));
    if (result->steps == 0)
        sink_text(
            &console->out,
            "The trace marks no steps: with torch.profiler, call profiler.step() after each; with jax.profiler, put each in a StepTraceAnnotation.\n");
    sink_printf(&console->out, "More: stepscope report %s\n", run);
}

static int run(struct console *console, int count, char **operands)
{
    struct ss_error error = {0};
    struct buf chosen = {0};
    struct progress progress;
    struct import_result result;

    if (output && output[0] == '\0') {
        console_error(console, "-o is empty: give the directory of the run.");
        return EXIT_USAGE;
    }
    if (!output && !choose_run(&chosen, operands[0])) {
        buf_release(&chosen);
        console_error(console, "%s.", ss_error_text(SS_E_NOMEM));
        return EXIT_DATA;
    }
    const struct import_job job = {.traces = operands,
                                   .count = (size_t)count,
                                   .run = output ? output : buf_text(&chosen),
                                   .progress = progress_show,
                                   .context = &progress};
    progress_begin(&progress, "importing");
    const int failed = import_traces(&job, &result, &error);
    progress_end(&progress);
    if (failed)
        console_error(console, "%s", error.message);
    else
        say_what_was_found(console, job.run, &result);
    buf_release(&chosen);
    return failed == SS_E_BUSY ? EXIT_USAGE : failed ? EXIT_DATA : EXIT_FINE;
}

static const struct cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "RUN",
     .help = "the directory to create (default: stepscope-runs/NAME)",
     .value = &output},
    {0},
};

const struct command cmd_import = {
    .name = "import",
    .summary = "import traces of another profiler as a run",
    .operands = "TRACE...",
    .details = "Creates a run from a trace of torch.profiler (.json, .json.gz) or TensorFlow's\n"
               "or JAX's profiler (.xplane.pb), so that every command can read it: its steps,\n"
               "their stages, and what the devices did. Several traces are the ranks of one job.\n"
               "A damaged trace leaves nothing behind.\n",
    .options = options,
    .fewest = 1,
    .most = 4096,
    .run = run,
};
