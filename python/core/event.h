/* What waits for events: the sampler and what was hooked for the first one of a recording, the
 * check of gc.callbacks for any. */
#ifndef PYTHON_EVENT_H
#define PYTHON_EVENT_H

#include "base/compiler.h"
#include "collector.h"
#include "hook.h"
#include "sampler.h"

/* After an event of our own calls, with the GIL. */
static inline void event_seen(void)
{
    const int32_t now = gate_now();
    sampler_poke();
    collector_poke();
    if (UNLIKELY(now != hook_state.told) && now >= GATE_FIRST)
        hook_tell();
}

#endif
