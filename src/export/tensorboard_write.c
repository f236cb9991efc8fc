#include "export/tensorboard_parts.h"

#include <string.h>

#include "export/tensorboard_verdict.h"

enum { VERDICT_WINDOWS = 12 }; /* between two looks: a minute */

static int64_t wall_of(const struct tensorboard *board, int64_t time_ns)
{
    return board_wall_ns(time_ns, board->wall_offset_ns);
}

/* Appends the event that was put together, if there is anything in it. */
static void add_event(struct tensorboard *board, struct event_file *file)
{
    if (board->event.count > 0)
        event_file_add(file, &board->event);
}

/* What was recorded under names is told of a process, not of a loop: it goes to the loop of its process
 * that has come farthest. */
static bool has_names(const struct tensorboard *board, const struct board_loop *loop)
{
    for (size_t i = 0; i < board->loop_count; i++) {
        const struct board_loop *other = board->loops[i];
        if (other->key.process == loop->key.process && other->end_ns > loop->end_ns)
            return false;
    }
    return true;
}

/* With names that were recorded before `until_ns`. */
static void write_loop(struct tensorboard *board, struct board_loop *loop,
                       int64_t until_ns)
{
    const struct model *model = board->feed->model;
    struct event *event = &board->event;

    event_begin(event, wall_of(board, loop->end_ns), loop->steps);
    board_loop_write(loop, model, event);
    if (has_names(board, loop))
        board_names_write(&board->names, board->feed->run, loop->key.process, until_ns,
                          event);
    add_event(board, loop->file);
    while (board_loop_epoch(loop, model, board->wall_offset_ns, event))
        add_event(board, loop->file);
}

/* The loop that has come farthest: its steps are the axis of what belongs to no loop. */
static const struct board_loop *leader(const struct tensorboard *board)
{
    const struct board_loop *first = NULL;

    for (size_t i = 0; i < board->loop_count; i++)
        if (!first || board->loops[i]->end_ns > first->end_ns)
            first = board->loops[i];
    return first;
}

static void write_verdict(struct tensorboard *board, const struct board_loop *axis,
                          bool always)
{
    struct buf text = {0}, gist = {0};

    if (board_verdict(board->feed->model, board->feed->run, &text, &gist) &&
        (always || strcmp(buf_text(&gist), buf_text(&board->gist)) != 0)) {
        event_begin(&board->event, wall_of(board, axis->end_ns), axis->steps);
        event_text(&board->event, "verdict", "findings", buf_text(&text));
        add_event(board, &board->root);
        buf_release(&board->gist);
        board->gist = gist;
        gist = (struct buf){0};
    }
    buf_release(&text);
    buf_release(&gist);
    board->windows = 0;
}

struct event_file *board_file(struct tensorboard *board, size_t index)
{
    for (size_t i = 0; index > 0 && i < board->loop_count; i++)
        if (board->loops[i]->file != &board->root && --index == 0)
            return board->loops[i]->file;
    return index == 0 ? &board->root : NULL;
}

void board_write_process(struct tensorboard *board, uint32_t process, int64_t begin_ns)
{
    for (size_t i = 0; i < board->loop_count; i++)
        if (board->loops[i]->key.process == process) {
            write_loop(board, board->loops[i], begin_ns);
            event_file_flush(board->loops[i]->file);
        }
}

void board_close_window(struct tensorboard *board, bool is_last)
{
    const struct board_loop *axis = leader(board);
    bool is_new = is_last && axis;

    for (size_t i = 0; i < board->loop_count; i++)
        if (is_last || board->loops[i]->new_steps > 0) {
            write_loop(board, board->loops[i], INT64_MAX);
            is_new = true;
        }
    if (!is_new)
        return;
    event_begin(&board->event, wall_of(board, axis->end_ns), axis->steps);
    board_machine_write(&board->machine, &board->event);
    add_event(board, &board->root);
    if (++board->windows >= VERDICT_WINDOWS || is_last)
        write_verdict(board, axis, is_last);
    struct event_file *file;
    for (size_t i = 0; (file = board_file(board, i)); i++)
        event_file_flush(file);
}

void tensorboard_finish(struct tensorboard *board)
{
    if (board->feed && board->feed->model)
        board_close_window(board, true);
}
