/* The machine for TensorBoard: a few of the counters that the supervisor samples, since the last time
 * that they were written. */
#ifndef EXPORT_TENSORBOARD_MACHINE_H
#define EXPORT_TENSORBOARD_MACHINE_H

#include "export/event_message.h"
#include "stepscope/counters.h"
#include "stepscope/reader.h"

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

#endif
