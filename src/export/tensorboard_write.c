/* Windows as events of TensorBoard, and the verdict and findings as a text in Markdown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "export/tensorboard_parts.h"
#include "report/analysis.h"

/* Texts of ours with names of the run in them: safe, and nothing in them is Markdown or HTML. */
static void add_plain(struct buf *out, const char *text)
{
    struct buf safe = {0};

    text_safe(&safe, text, strlen(text));
    for (const char *at = buf_text(&safe); *at; at++)
        if (*at == '<')
            buf_add_text(out, "&lt;");
        else if (*at == '&')
            buf_add_text(out, "&amp;");
        else if (strchr("\\`*_[]#|!~", *at))
            buf_printf(out, "\\%c", *at);
        else
            buf_add(out, at, 1);
    out->failed = out->failed || safe.failed;
    buf_release(&safe);
}

static void add_line(struct buf *out, const char *label, const char *text)
{
    if (!*text)
        return;
    buf_printf(out, "- %s: ", label);
    add_plain(out, text);
    buf_add_text(out, "\n");
}

static void add_finding(struct buf *out, const struct finding *finding)
{
    buf_printf(out, "\n**%s** (%s", finding_name(finding->id),
               finding_severity_text(finding->severity));
    if (isfinite(finding->share.mid))
        buf_printf(out, ", %s%.1f %% of %s",
                   finding->kind == SHARE_ESTIMATE ? "an estimated "
                   : finding->kind == SHARE_BOUND  ? "at most "
                                                   : "",
                   100 * (finding->kind == SHARE_BOUND ? finding->share.high : finding->share.mid),
                   finding_of_text(finding->of));
    buf_add_text(out, "): ");
    add_plain(out, finding->claim);
    buf_add_text(out, "\n\n");
    add_line(out, "because", finding->evidence);
    add_line(out, "try", finding->advice);
    add_line(out, "check", finding->check);
    add_line(out, "unsure", finding->unknown);
}

static void add_number(struct event_hparam *row, size_t *count, const char *key, double number)
{
    if (isfinite(number) && number > 0)
        row[(*count)++] = (struct event_hparam){.key = key, .number = number};
}

/* The row of the run in the table of runs: what was planned, on what, and what came of it. */
static size_t board_row(const struct tensorboard *board, const struct analysis *analysis,
                        struct event_hparam row[EVENT_HPARAMS_MOST])
{
    const struct snapshot *snapshot = analysis->snapshot;
    struct buf frameworks = {0};
    size_t count = 0;

    hook_list_say_frameworks(&board->feed->hooks, &frameworks);
    if (frameworks.size > 0) {
        row[count].key = "framework";
        snprintf(row[count++].text, EVENT_HPARAM_SIZE, "%s", buf_text(&frameworks));
    }
    buf_release(&frameworks);
    row[count].key = "verdict";
    snprintf(row[count++].text, EVENT_HPARAM_SIZE, "%s", analysis_verdict(analysis));
    if (snapshot->loop_count == 0)
        return count;
    const struct snap_loop *loop = &snapshot->loops[0];
    add_number(row, &count, "step ms", loop->step_ns.mid * 1e-6);
    add_number(row, &count, "planned steps", (double)loop->plan[0]);
    add_number(row, &count, "planned epochs", (double)loop->plan[1]);
    add_number(row, &count, "batch size", (double)loop->plan[3]);
    return count;
}

/* The text; its words that say what was found, without the numbers: as long as they are the same,
 * there is nothing new to tell; and the row of the table of runs. */
struct board_verdict {
    struct buf text, gist;
    struct event_hparam row[EVENT_HPARAMS_MOST];
    size_t cells;
};

/* False if memory is short. */
static bool board_verdict(const struct tensorboard *board, struct board_verdict *out)
{
    struct snapshot *snapshot = model_snapshot(board->feed->model);
    struct buf *text = &out->text, *gist = &out->gist;
    struct analysis analysis;

    if (!snapshot)
        return false;
    analysis_make(&analysis, snapshot, board->feed->run, NULL, NULL);
    out->cells = board_row(board, &analysis, out->row);
    const char *verdict = analysis_verdict(&analysis);
    buf_printf(text, "# %s\n", verdict);
    buf_add_text(gist, verdict);
    for (size_t i = 0; i < analysis.diagnosis.count; i++) {
        const struct finding *finding = &analysis.diagnosis.finding[i];
        add_finding(text, finding);
        buf_printf(gist, " %s %s", finding_name(finding->id),
                   finding_severity_text(finding->severity));
    }
    snapshot_free(snapshot);
    return !text->failed && !gist->failed;
}

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

/* What was recorded under names belongs to a process, not to a loop: it goes to the loop of its
 * process that has come farthest. */
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
static void write_loop(struct tensorboard *board, struct board_loop *loop, int64_t until_ns)
{
    const struct model *model = board->feed->model;
    const struct board_steps steps = {loop->counted, loop->time_ns};
    struct event *event = &board->event;

    event_begin(event, wall_of(board, loop->end_ns), loop->steps);
    board_loop_write(loop, model, event);
    if (has_names(board, loop))
        board_names_write(&board->names, board->feed->run, loop->key.process, until_ns, &steps,
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

static void write_verdict(struct tensorboard *board, const struct board_loop *axis, bool is_last)
{
    struct board_verdict verdict = {0};

    if (board_verdict(board, &verdict) &&
        (is_last || strcmp(buf_text(&verdict.gist), buf_text(&board->gist)) != 0)) {
        event_begin(&board->event, wall_of(board, axis->end_ns), axis->steps);
        event_text(&board->event, "verdict", "findings", buf_text(&verdict.text));
        if (is_last)
            event_hparams(&board->event, verdict.row, verdict.cells,
                          wall_of(board, axis->key.begin_ns));
        add_event(board, &board->root);
        buf_release(&board->gist);
        board->gist = verdict.gist;
        verdict.gist = (struct buf){0};
    }
    buf_release(&verdict.text);
    buf_release(&verdict.gist);
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
