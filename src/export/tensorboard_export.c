/* TensorBoard's files of a run that is there: fed again as it was fed live, with the same
 * windows. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/ending_signals.h"
#include "base/error.h"
#include "export/export.h"
#include "export/run_walk.h"
#include "export/tensorboard_parts.h"

enum { PORTION = 16384 }; /* records between two looks at the progress */

/* A signal that would end us ends the work first, so that nothing is left of it. */
static volatile sig_atomic_t ending; /* the one that came; 0: none */

static void note_signal(int number)
{
    ending = number;
}

static int replay(const struct export_job *job, struct tensorboard *board)
{
    const struct run_walk_extent extent = run_walk_extent(job, 0, 1);
    struct feed feed;
    bool all = false;
    int failed = feed_init(&feed, job->run, job->facts);

    if (!failed) {
        tensorboard_attach(board, &feed);
        feed_processes(&feed);
    }
    while (!failed && !all && !ending) {
        failed = feed_some(&feed, PORTION, &all);
        run_walk_show(job, &extent, board->now_ns);
    }
    if (!failed && !ending) {
        feed_finish(&feed);
        tensorboard_finish(board);
    }
    board->feed = NULL;
    feed_release(&feed);
    return failed;
}

static int write_board(const struct export_job *job, struct tensorboard *board,
                       struct ss_error *error)
{
    int failed = replay(job, board);

    if (failed)
        error_set(error, failed, "cannot export the run: %s.", ss_error_text(failed));
    else if (!ending)
        failed = tensorboard_publish(board, error);
    if (!failed && board->is_cut && job->missing)
        (void)tensorboard_problem(board, job->missing);
    tensorboard_tidy(board);
    return failed;
}

static int write_directory(const struct export_job *job, const char *path, struct ss_error *error)
{
    /* What the run is called, also if it was given as runs/latest or as "." */
    char *real = realpath(job->facts->path, NULL);
    const struct run_facts facts = {.path = real ? real : job->facts->path};
    struct stat run;
    const struct tensorboard_wish wish = {
        .dir = path,
        .name = run_facts_name(&facts),
        .run_mode = stat(facts.path, &run) == 0 ? run.st_mode : 0,
        .is_hidden = true,
        .force = job->force,
    };
    struct ending_signals signals;

    ending = 0;
    ending_signals_watch(&signals, note_signal); /* the first file is made to try it */
    struct tensorboard *board = tensorboard_new(&wish, error);
    const int failed = board ? write_board(job, board, error) : error->code;
    free(real);
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
