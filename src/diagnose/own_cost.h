/* What recording itself took of the primary loop. An estimate: events times what one costs inside of a step, not
 * a comparison with a run that is not recorded. */
#ifndef DIAGNOSE_OWN_COST_H
#define DIAGNOSE_OWN_COST_H

#include "model/snapshot.h"

struct own_cost {
    double
        step; /* share of a steady step that its thread spent on its spans; NAN: not known */
    double
        beside; /* cores: helper thread and stack sampler of its process, the supervisor */
};

struct own_cost own_cost_of(const struct snapshot *snapshot, const struct ss_run *run);

#endif
