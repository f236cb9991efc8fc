#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/out_file.h"
#include "export/tensorboard_parts.h"

static bool is_new(struct tensorboard *board, const char *path)
{
    struct event_file *file;

    for (size_t i = 0; (file = board_file(board, i)); i++)
        if (file->path && strcmp(file->path, path) == 0)
            return true;
    return false;
}

/* How many files of the run from before are in this directory; or removes them. */
static size_t old_files_in(struct tensorboard *board, const char *dir, bool remove)
{
    DIR *list = opendir(dir);
    size_t count = 0;

    for (struct dirent *entry; list && (entry = readdir(list));) {
        char *path = NULL;
        if (!event_file_is_ours(entry->d_name) || asprintf(&path, "%s/%s", dir, entry->d_name) < 0)
            continue;
        if (!is_new(board, path)) {
            count++;
            if (remove)
                (void)unlink(path);
        }
        free(path);
    }
    if (list)
        closedir(list);
    return count;
}

/* The same with the directories of loops and ranks, whether or not they have one now. */
static size_t old_files(struct tensorboard *board, bool remove)
{
    size_t count = old_files_in(board, board->dir, remove);
    DIR *list = opendir(board->dir);

    for (struct dirent *entry; list && (entry = readdir(list));) {
        char *dir;
        if ((strncmp(entry->d_name, "rank-", 5) != 0 && strncmp(entry->d_name, "loop-", 5) != 0) ||
            asprintf(&dir, "%s/%s", board->dir, entry->d_name) < 0)
            continue;
        count += old_files_in(board, dir, remove);
        if (remove)
            (void)rmdir(dir); /* unless something is in it */
        free(dir);
    }
    if (list)
        closedir(list);
    return count;
}

bool board_has_old_files(struct tensorboard *board)
{
    return old_files(board, false) > 0;
}

int tensorboard_publish(struct tensorboard *board, struct ss_error *error)
{
    struct event_file *file;

    if (sink_refuses_all())
        return out_file_error(error, board->dir, ENOMEM);
    for (size_t i = 0; (file = board_file(board, i)); i++)
        if (file->given_up > 0)
            return out_file_error(error, file->dir, file->os_error);
    for (size_t i = 0; (file = board_file(board, i)); i++) {
        const int failed = event_file_publish(file);
        if (failed)
            return out_file_error(error, file->dir, failed);
    }
    if (board->force) /* only now that the new ones are there */
        (void)old_files(board, true);
    return 0;
}

void tensorboard_tidy(struct tensorboard *board)
{
    struct event_file *file;

    for (size_t i = 1; (file = board_file(board, i)); i++) {
        event_file_discard(file);
        (void)rmdir(file->dir); /* unless others use it */
    }
    event_file_discard(&board->root);
    (void)rmdir(board->dir);
}

bool tensorboard_problem(struct tensorboard *board, struct buf *out)
{
    struct event_file *file;
    uint64_t given_up = 0, removed = 0, made = 0;
    int os_error = 0;

    for (size_t i = 0; (file = board_file(board, i)); i++) {
        given_up += file->given_up;
        made += file->made;
        removed += file->made > 1;
        os_error = os_error ? os_error : file->os_error;
    }
    if (given_up > 0)
        buf_printf(out, "%" PRIu64 " TensorBoard window%s could not be written to '%s': %s",
                   given_up, given_up == 1 ? "" : "s", board->dir, strerror(os_error));
    else if (removed > 0)
        buf_printf(out, "TensorBoard files in '%s' were removed and were started again",
                   board->dir);
    else if (made == 0)
        buf_add_text(out, "TensorBoard got nothing: no training step was recorded");
    if (given_up > 0 || removed > 0)
        buf_add_text(out, ". 'stepscope export tensorboard' writes all of them");
    if (board->is_cut)
        buf_printf(out, "%sTensorBoard got only the first %d loops of the run",
                   out->size > 0 ? ". " : "", BOARD_LOOPS_MOST);
    return out->size > 0;
}
