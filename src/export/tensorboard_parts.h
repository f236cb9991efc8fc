/* What the files of TensorBoard's export share: tensorboard.c takes what is fed,
 * tensorboard_write.c writes windows, tensorboard_publish.c has what is done with the files at the
 * end. tensorboard_loop.c, tensorboard_machine.c and tensorboard_names.c each have one part of a
 * window. */
#ifndef EXPORT_TENSORBOARD_PARTS_H
#define EXPORT_TENSORBOARD_PARTS_H

#include "export/event_file.h"
#include "export/event_message.h"
#include "export/tensorboard.h"
#include "model/observe.h"
#include "stepscope/counters.h"
#include "stepscope/reader.h"

/* One training loop for TensorBoard: what its steps, pauses and epochs were since the last time
 * that it was written. */

struct board_loop {
    struct model_loop_key key;
    struct event_file own;           /* of a loop with a directory of its own */
    struct event_file *file;         /* that one, or the one of the run */
    unsigned file_made;              /* which one it was that was told: */
    uint32_t tags_told, stages_told; /* bits: what these are */

    int64_t steps;               /* so far: where it is on TensorBoard's axis */
    int64_t end_ns;              /* of the last of them */
    uint32_t stages;             /* bits: seen so far */
    int64_t epochs, epoch_steps; /* that were written */
    struct loop_totals totals;   /* when it was last written */
    int64_t written_ns;          /* end of the last step that was */

    /* Since then: */
    int64_t new_steps, counted, time_ns, samples;
    int64_t stage_ns[SS_STAGE_COUNT];
    struct sketch sketch;
};

/* From the clock of the records to that on the wall. The times of a damaged run may be anything. */
static inline int64_t board_wall_ns(int64_t time_ns, int64_t offset_ns)
{
    return (int64_t)((uint64_t)time_ns + (uint64_t)offset_ns);
}

void board_loop_release(struct board_loop *loop);

/* Takes the steps of a window. */
void board_loop_take(struct board_loop *loop, const struct model_window *window);

/* Adds what was new to `event`, and starts over. */
void board_loop_write(struct board_loop *loop, const struct model *model, struct event *event);

/* Adds the next epoch that has ended, in an event of its own, at its own time; false: there is
 * none. */
bool board_loop_epoch(struct board_loop *loop, const struct model *model, int64_t wall_offset_ns,
                      struct event *event);

/* The machine for TensorBoard: a few of the counters that the supervisor samples, since the last
 * time that they were written. */

enum { BOARD_COUNTERS = 13, BOARD_GPUS = 16, BOARD_COUNTER_NAMES = 256 };

struct board_counter {
    double sum; /* of a gauge */
    uint64_t count;
    bool has_first; /* of a total: what it was when it was last written, and what it is */
    double first, last;
    int64_t first_ns, last_ns;
};

struct board_machine {
    uint32_t process;                         /* of the supervisor */
    uint8_t row_of_name[BOARD_COUNTER_NAMES]; /* + 1; 0: none of ours */
    struct board_counter counter[BOARD_COUNTERS][BOARD_GPUS];
    bool is_told;
};

/* Takes a NAME or a SYSTEM record of a supervisor. */
void board_machine_take(struct board_machine *machine, uint32_t process,
                        const struct ss_record *record);

/* Adds what is known to `event`. */
void board_machine_write(struct board_machine *machine, struct event *event);

/* What a run records under names, for TensorBoard: calls of callbacks, and counters such as the
 * loss. Since the last time that they were written. */

/* At most this many names of a process; further ones are left out. */
enum { BOARD_NAMES_MOST = 512 };

struct board_name {
    uint32_t process;
    uint16_t name;
    bool is_fresh;  /* a counter that was recorded since */
    bool is_shown;  /* a callback with a curve of its own */
    uint64_t calls; /* of a callback since */
    int64_t time_ns;
    double value;    /* of a counter: the last */
    int64_t last_ns; /* when the last record came */
};

struct board_names {
    struct board_name *rows;
    size_t count, capacity;
    size_t hint; /* the row that was last found */
};

void board_names_release(struct board_names *names);

/* Takes a SPAN of a callback or a COUNTER. */
void board_names_take(struct board_names *names, uint32_t process, const struct ss_record *record);

/* What the steps of a window took. */
struct board_steps {
    int64_t count, time_ns;
};

/* Adds what is new of a process to `event`, but for names that were recorded from `until_ns` on:
 * they are the next loop's. Callbacks that never took 0.1 % of the time of the steps are one curve
 * together. */
void board_names_write(struct board_names *names, const struct ss_run *run, uint32_t process,
                       int64_t until_ns, const struct board_steps *steps, struct event *event);

/* All of it. */

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

/* Writes what the window that ends now was, if steps ended in it; at the end of all, all that is
 * left. */
void board_close_window(struct tensorboard *board, bool is_last);

/* Another loop of the process has begun: writes what was new of those before it, with names that
 * were not recorded since. */
void board_write_process(struct tensorboard *board, uint32_t process, int64_t begin_ns);

/* Did another export or a live run leave files of this run, also of its loops? */
bool board_has_old_files(struct tensorboard *board);

/* The files one after the other, from 0 on; NULL after the last. */
struct event_file *board_file(struct tensorboard *board, size_t index);

#endif
