/* What the files of TensorBoard's export share: tensorboard.c takes what is fed, tensorboard_write.c
 * writes windows, tensorboard_publish.c has what is done with the files at the end. */
#ifndef EXPORT_TENSORBOARD_PARTS_H
#define EXPORT_TENSORBOARD_PARTS_H

#include "export/tensorboard.h"
#include "export/tensorboard_loop.h"
#include "export/tensorboard_machine.h"
#include "export/tensorboard_names.h"

enum { BOARD_LOOPS_MOST = 64 /* further ones are left out */, BOARD_LABEL_SIZE = 64 };

struct tensorboard {
    char *dir; /* DIR/RUN */
    char host[BOARD_LABEL_SIZE];
    bool is_hidden, force;
    struct feed *feed; /* NULL: nothing is fed yet */
    struct event_file root;
    struct board_loop *loops[BOARD_LOOPS_MOST];
    size_t loop_count;
    bool is_cut; /* there were more */
    struct board_names names;
    struct board_machine machine;
    struct event event; /* that is being put together */

    int64_t now_ns;         /* of the last record */
    int64_t window;         /* number of the present one; -1: none yet */
    int64_t wall_offset_ns; /* from the clock of the records to that on the wall */
    bool has_offset;
    unsigned windows; /* since the last look at the verdict */
    struct buf gist;  /* what it said then */
};

/* Writes what the window that ends now was, if steps ended in it; at the end of all, all that is left. */
void board_close_window(struct tensorboard *board, bool is_last);

/* Another loop of the process has begun: writes what was new of those before it, with names that were
 * not recorded since. */
void board_write_process(struct tensorboard *board, uint32_t process, int64_t begin_ns);

/* Did another export or a live run leave files of this run, also of its loops? */
bool board_has_old_files(struct tensorboard *board);

/* The files one after the other, from 0 on; NULL after the last. */
struct event_file *board_file(struct tensorboard *board, size_t index);

#endif
