#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/out_file.h"
#include "export/tensorboard_parts.h"

static const int64_t period_ns = 5000000000;
static const int64_t latest_ns = INT64_MAX / 4; /* of any clock; later is damage */

/* Part of file names. */
static void find_host(char out[BOARD_LABEL_SIZE])
{
    if (gethostname(out, BOARD_LABEL_SIZE) != 0 || !*out)
        snprintf(out, BOARD_LABEL_SIZE, "host");
    out[BOARD_LABEL_SIZE - 1] = '\0';
    for (char *at = out; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '.' && *at != '-')
            *at = '_';
}

/* Two live runs may have the same name: the second one gets an unused one. 0 or an errno. */
static int make_own_dir(struct tensorboard *board, const char *parent)
{
    struct buf path = {0};
    int failed = make_dir_all(parent, NULL);

    buf_add_text(&path, board->dir);
    if (!failed)
        failed = make_dir_new(&path, 0777);
    if (failed) {
        buf_release(&path);
        return failed;
    }
    free(board->dir);
    board->dir = path.data;
    return 0;
}

/* Proves that the directory takes files, which a mode alone does not tell. */
static int try_dir(const char *dir)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/stepscope.XXXXXX", dir) >= (int)sizeof path)
        return ENAMETOOLONG;
    const int fd = mkstemp(path);
    if (fd < 0)
        return errno;
    close(fd);
    unlink(path);
    return 0;
}

static int prepare(struct tensorboard *board, const struct tensorboard_wish *wish,
                   struct ss_error *error)
{
    if (!event_can_encode())
        return error_set(
            error, SS_E_INVALID,
            "this stepscope was built without nanopb, which TensorBoard output needs.");
    int failed = wish->is_hidden ? make_dir_all(board->dir, NULL) : make_own_dir(board, wish->dir);
    if (!failed)
        failed = try_dir(board->dir);
    if (failed)
        return out_file_error(error, board->dir, failed);
    if (wish->is_hidden && !wish->force && board_has_old_files(board))
        return error_set(
            error, SS_E_BUSY,
            "'%.300s' already has this run. Use --force to overwrite it, or give another directory.",
            board->dir);
    if (event_file_init(&board->root, board->dir, board->host, board->is_hidden) != 0)
        return error_set(error, SS_E_NOMEM, "%s.", ss_error_text(SS_E_NOMEM));
    if (wish->run_mode)
        board->root.most_mode = wish->run_mode & 0666;
    return 0;
}

struct tensorboard *tensorboard_new(const struct tensorboard_wish *wish, struct ss_error *error)
{
    struct tensorboard *board = calloc(1, sizeof *board);

    if (!board || asprintf(&board->dir, "%s/%s", wish->dir, wish->name) < 0) {
        error_set(error, SS_E_NOMEM, "%s.", ss_error_text(SS_E_NOMEM));
        free(board);
        return NULL;
    }
    board->root.fd = -1;
    board->is_hidden = wish->is_hidden;
    board->force = wish->force;
    board->window = -1;
    find_host(board->host);
    if (prepare(board, wish, error) == 0)
        return board;
    tensorboard_free(board);
    return NULL;
}

void tensorboard_free(struct tensorboard *board)
{
    if (!board)
        return;
    for (size_t i = 0; i < board->loop_count; i++) {
        board_loop_release(board->loops[i]);
        free(board->loops[i]);
    }
    event_file_release(&board->root);
    board_names_release(&board->names);
    event_release(&board->event);
    buf_release(&board->gist);
    free(board->dir);
    free(board);
}

/* How many loops of the same kind there are, with this one: of its rank, which several processes
 * may have had one after the other, or of no rank. */
static unsigned number_of(const struct tensorboard *board, const struct ss_process *facts)
{
    const bool is_rank = facts->world > 1;
    unsigned number = 1;

    for (size_t i = 0; i < board->loop_count; i++) {
        const struct ss_process *other =
            ss_run_process(board->feed->run, board->loops[i]->key.process);
        number += (other->world > 1) == is_rank && (!is_rank || other->rank == facts->rank);
    }
    return number;
}

/* "" for the directory of the run itself. */
static void label(const struct tensorboard *board, uint32_t process, char out[BOARD_LABEL_SIZE])
{
    const struct ss_process *facts = ss_run_process(board->feed->run, process);
    const bool is_rank = facts->world > 1;
    const unsigned number = number_of(board, facts);

    *out = '\0';
    if (is_rank && number == 1)
        snprintf(out, BOARD_LABEL_SIZE, "/rank-%d", facts->rank);
    else if (is_rank)
        snprintf(out, BOARD_LABEL_SIZE, "/rank-%d-loop-%u", facts->rank, number);
    else if (number > 1)
        snprintf(out, BOARD_LABEL_SIZE, "/loop-%u", number);
}

static bool give_file(struct tensorboard *board, struct board_loop *loop)
{
    char part[BOARD_LABEL_SIZE];
    char *dir;
    int failed = 0;

    label(board, loop->key.process, part);
    loop->file = *part ? &loop->own : &board->root;
    if (!*part)
        return true;
    if (asprintf(&dir, "%s%s", board->dir, part) < 0)
        return false;
    failed = event_file_init(&loop->own, dir, board->host, board->is_hidden);
    loop->own.most_mode = board->root.most_mode;
    free(dir);
    return failed == 0;
}

static struct board_loop *add_loop(struct tensorboard *board, const struct model_loop_key *key)
{
    if (board->loop_count >= BOARD_LOOPS_MOST) {
        board->is_cut = true;
        return NULL;
    }
    struct board_loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    loop->key = *key;
    if (!give_file(board, loop)) {
        free(loop);
        return NULL;
    }
    board_write_process(board, key->process, key->begin_ns);
    board->loops[board->loop_count++] = loop;
    return loop;
}

static bool is_same(const struct model_loop_key *a, const struct model_loop_key *b)
{
    return a->process == b->process && a->lane == b->lane && a->begin_ns == b->begin_ns;
}

/* A loop whose steps turned out to be none begins again later, and has not been written yet. */
static bool begins_again(const struct tensorboard *board, const struct board_loop *loop,
                         const struct model_loop_key *key)
{
    struct loop_totals totals;

    return loop->key.process == key->process && loop->key.lane == key->lane &&
           loop->new_steps == loop->steps &&
           !model_loop_totals(board->feed->model, &loop->key, &totals);
}

static struct board_loop *find_loop(struct tensorboard *board, const struct model_loop_key *key)
{
    for (size_t i = board->loop_count; i-- > 0;)
        if (is_same(&board->loops[i]->key, key))
            return board->loops[i];
    for (size_t i = 0; i < board->loop_count; i++) {
        if (begins_again(board, board->loops[i], key)) {
            board->loops[i]->key = *key;
            return board->loops[i];
        }
    }
    return add_loop(board, key);
}

static void take_steps(void *context, const struct model_window *window)
{
    struct board_loop *loop = find_loop(context, &window->loop);

    if (loop)
        board_loop_take(loop, window);
}

static void set_clock(struct tensorboard *board, int64_t raw_ns, int64_t realtime_ns)
{
    if (raw_ns >= 0 && raw_ns < latest_ns && realtime_ns > 0 && realtime_ns < latest_ns) {
        board->wall_offset_ns = realtime_ns - raw_ns;
        board->has_offset = true;
    }
}

static void take_kind(struct tensorboard *board, const struct ss_process *facts, uint32_t process,
                      const struct ss_record *record)
{
    switch (record->kind) {
    case SS_KIND_SPAN:
        if (record->stage == SS_STAGE_CALLBACK &&
            !(record->flags & (SS_FLAG_OVERLAY | SS_FLAG_PRODUCER)))
            board_names_take(&board->names, process, record);
        break;
    case SS_KIND_COUNTER:
        board_names_take(&board->names, process, record);
        break;
    case SS_KIND_LOOP_BEGIN: /* what was recorded up to here is not of this loop */
        board_write_process(board, process, record->time_ns);
        break;
    case SS_KIND_CALIBRATION:
        set_clock(board, record->u.clocks[0], record->u.clocks[1]);
        break;
    case SS_KIND_NAME:
    case SS_KIND_SYSTEM:
        if (facts->kind == SS_PROCESS_SUPERVISOR)
            board_machine_take(&board->machine, process, record);
        break;
    default:
        break;
    }
}

static void take_record(void *context, uint32_t process, const struct ss_record *record)
{
    struct tensorboard *board = context;
    const struct ss_process *facts = ss_run_process(board->feed->run, process);
    const int64_t window = record->time_ns / period_ns;

    board->now_ns = record->time_ns;
    if (!board->has_offset)
        set_clock(board, facts->start_ns, facts->start_realtime_ns);
    if (window > board->window) {
        board_close_window(board, false);
        board->window = window;
    }
    take_kind(board, facts, process, record);
}

void tensorboard_attach(struct tensorboard *board, struct feed *feed)
{
    board->feed = feed;
    feed->watch = take_record;
    feed->watch_context = board;
    model_observe_windows(feed->model, take_steps, board);
}
