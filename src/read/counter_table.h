/* include/stepscope/counters.h as a table: what each counter is called and what it is. */
#ifndef READ_COUNTER_TABLE_H
#define READ_COUNTER_TABLE_H

#include "stepscope/counters.h"

struct counter_facts {
    const char *text;
    uint8_t unit, kind, subject; /* enum ss_counter_unit, _kind, _subject */
};

extern const struct counter_facts counter_table[SS_COUNTER_IDS]; /* by enum ss_counter_id */

#endif
