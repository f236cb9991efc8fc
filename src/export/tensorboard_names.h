/* What a run records under names, for TensorBoard: calls of callbacks, and counters such as the loss.
 * Since the last time that they were written. */
#ifndef EXPORT_TENSORBOARD_NAMES_H
#define EXPORT_TENSORBOARD_NAMES_H

#include "export/event_message.h"
#include "stepscope/reader.h"

/* Under this many names of a process, one after the other; further ones are left out. */
enum { BOARD_NAMES_MOST = 512 };

struct board_name {
    uint32_t process;
    uint16_t name;
    bool is_fresh;  /* a counter that was recorded since */
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
void board_names_take(struct board_names *names, uint32_t process,
                      const struct ss_record *record);

/* Adds what is new of a process to `event`, but for names that were recorded from `until_ns` on:
 * they are the next loop's. */
void board_names_write(struct board_names *names, const struct ss_run *run,
                       uint32_t process, int64_t until_ns, struct event *event);

#endif
