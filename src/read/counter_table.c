#include "read/counter_table.h"

#define COUNTER_FACTS(id, text, unit, kind, subject, meaning)                            \
    {text, SS_UNIT_##unit, SS_COUNTER_##kind, SS_SUBJECT_##subject},

const struct counter_facts counter_table[SS_COUNTER_IDS] = {SS_COUNTERS(COUNTER_FACTS)};
