/* TensorBoard's files of a run that is there: fed again as it was fed live, with the same windows. */
#include "export/export.h"
#include "export/run_walk.h"
#include "export/tensorboard_parts.h"

#include <stdlib.h>

#include "base/ending_signals.h"
#include "base/error.h"

enum { PORTION = 16384 }; /* records between two looks at the progress */

static void show(const struct export_job *job, const struct tensorboard *board)
{
    const double begin_ns = (double)run_walk_begin_ns(job);
    double end_ns = begin_ns;

    for (size_t i = 0; i < ss_run_processes(job->run); i++) {
        const double own_ns = (double)ss_run_process(job->run, i)->end_ns;
        end_ns = own_ns > end_ns ? own_ns : end_ns;
    }
    const double done =
        end_ns > begin_ns ? ((double)board->now_ns - begin_ns) / (end_ns - begin_ns) : 1;
    if (job->progress)
        job->progress(job->context, done < 0 ? 0 : done > 1 ? 1 : done);
}

/* A signal that would end us ends the work first, so that nothing is left of it. */
static volatile sig_atomic_t ending; /* the one that came; 0: none */

static void note_signal(int number)
{
    ending = number;
}

static int replay(const struct export_job *job, struct tensorboard *board)
{
    struct feed feed;
    bool all = false;
    int failed = feed_init(&feed, job->run, job->facts);

    if (!failed) {
        tensorboard_attach(board, &feed);
        feed_processes(&feed);
    }
    while (!failed && !all && !ending) {
        failed = feed_some(&feed, PORTION, &all);
        show(job, board);
    }
    if (!failed && !ending) {
        feed_finish(&feed);
        tensorboard_finish(board);
    }
    board->feed = NULL;
    feed_release(&feed);
    return failed;
}

static int write_directory(const struct export_job *job, const char *path,
                           struct ss_error *error)
{
    /* What the run is called, also if it was given as runs/latest or as "." */
    char *real = realpath(job->facts->path, NULL);
    const struct run_facts facts = {.path = real ? real : job->facts->path};
    const struct tensorboard_wish wish = {.dir = path,
                                          .name = run_facts_name(&facts),
                                          .is_hidden = true,
                                          .force = job->force};
    struct tensorboard *board = tensorboard_new(&wish, error);

    free(real);
    if (!board)
        return error->code;
    struct ending_signals signals;
    ending = 0;
    ending_signals_watch(&signals, note_signal);
    int failed = replay(job, board);
    if (failed)
        error_set(error, failed, "cannot export the run: %s.", ss_error_text(failed));
    else if (!ending)
        failed = tensorboard_publish(board, error);
    if (!failed && board->is_cut && job->missing)
        (void)tensorboard_problem(board, job->missing);
    tensorboard_tidy(board);
    ending_signals_restore(&signals);
    if (ending)
        ending_signals_end(ending);
    tensorboard_free(board);
    return failed;
}

const struct export_format export_tensorboard = {
    .name = "tensorboard",
    .summary = "a directory of event files for TensorBoard",
    .is_binary = true,
    .write_directory = write_directory,
};
