#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/run_text.h"
#include "cli/command.h"
#include "job/job_view.h"
#include "job/part_files.h"

struct joining {
    const struct console *console;
    struct part_set set;
    size_t skipped;
    bool is_out_of_memory;
};

static bool skip(void *context, const char *path, const char *why)
{
    struct joining *joining = context;

    joining->skipped++;
    console_error(joining->console, "skipped '%s': %s.", path, why);
    return true;
}

static bool take(void *context, const char *path, const uint8_t *bytes, size_t size)
{
    struct joining *joining = context;
    struct ss_error error = {0};
    const int failed = part_set_add(&joining->set, bytes, size, &error);

    joining->is_out_of_memory |= failed == SS_E_NOMEM;
    if (failed && failed != SS_E_NOMEM)
        (void)skip(joining, path, error.message);
    return failed != SS_E_NOMEM;
}

/* All parts have to be of one job; what the job is called, or NULL after a message. */
static char *find_job(const struct console *console, const struct part_set *set)
{
    char *job = NULL;

    for (size_t i = 0; i < set->count; i++) {
        struct job_part part;
        const bool is_read = part_read(&part, set->items[i].bytes, set->items[i].size, NULL) == 0;
        const bool is_other = is_read && job && strcmp(job, part.job) != 0;
        if (is_other)
            console_error(console,
                          "the parts are of several jobs, '%s' and '%s'. Give those of one.", job,
                          part.job);
        else if (is_read && !job)
            job = strdup(part.job);
        part_release(&part);
        if (is_other) {
            free(job);
            return NULL;
        }
    }
    if (!job)
        console_error(
            console,
            "there is no part of a job here: they are called part.ssj, one in the directory of each launch.");
    return job;
}

/* 0 or errno. */
static int write_job(const char *out, const char *job, struct part_set *set)
{
    struct buf parts = {0}, manifest = {0};
    bool is_new = false;
    int failed = make_dir_all(out, &is_new);

    part_set_write(set, &parts);
    fact_line(&manifest, "format", "1");
    fact_line(&manifest, "version", SS_VERSION);
    fact_line(&manifest, "job", job);
    if (!failed)
        failed = small_file_write(out, "parts.ssj", &parts);
    if (!failed)
        failed = small_file_write(out, "manifest", &manifest);
    buf_release(&parts);
    buf_release(&manifest);
    return failed;
}

static int run(struct console *console, int count, char **operands)
{
    struct joining joining = {.console = console};
    const struct part_visit visit = {&joining, take, skip};
    int status = EXIT_FINE;

    for (int i = 1; i < count && status == EXIT_FINE; i++) {
        const int failed = part_files_visit(operands[i], &visit);
        if (failed) {
            console_error(console, "cannot read '%s': %s.", operands[i], strerror(failed));
            status = EXIT_DATA;
        }
    }
    if (joining.is_out_of_memory) {
        console_error(console, "out of memory.");
        status = EXIT_DATA;
    }
    char *job = status == EXIT_FINE ? find_job(console, &joining.set) : NULL;
    if (job) {
        const int failed = write_job(operands[0], job, &joining.set);
        if (failed)
            console_error(console, "cannot write '%s': %s.", operands[0], strerror(failed));
        else
            sink_printf(&console->out, "%zu launches in %s\n", joining.set.count, operands[0]);
        status = failed ? EXIT_DATA : EXIT_FINE;
    } else {
        status = EXIT_DATA;
    }
    free(job);
    part_set_release(&joining.set);
    return status;
}

static const struct cli_option options[] = {{0}};

const struct command cmd_join = {
    .name = "join",
    .summary = "make one job of the parts of several hosts",
    .operands = "OUT PART...",
    .details = "Where hosts share no disk, each has its own launches of a job. Their parts are\n"
               "small files: copy part.ssj of each launch, or the job's directory of each host,\n"
               "to one place. PART is such a file or directory. OUT is the joined job;\n"
               "'stepscope report OUT' and 'stepscope ranks OUT' read it.\n",
    .options = options,
    .fewest = 2,
    .most = INT_MAX,
    .run = run,
};
