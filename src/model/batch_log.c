#include "model/batch_log.h"

#include <stdlib.h>

static struct batch_log *new_log(bool is_producer)
{
    const uint32_t most = is_producer ? BATCH_LOG_MADE : BATCH_LOG_WAITS;
    struct batch_log *log = malloc(sizeof *log + most * sizeof log->batch[0]);
    if (log) {
        log->is_producer = is_producer;
        log->count = 0;
        log->most = most;
    }
    return log;
}

void batch_log_add(struct batch_log **log, bool is_producer,
                   const struct ss_record *record)
{
    struct batch_log *own = *log = *log ? *log : new_log(is_producer);
    if (own && own->is_producer == is_producer) {
        own->batch[own->count++ % own->most] =
            (struct batch_time){record->u.arg, record->start_ns, record->end_ns};
    }
}
