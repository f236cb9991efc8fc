/* Makes process files of a trace whose steps are those of devices: one for each device with steps,
 * which stands for the replica of the model that it trains. */
#ifndef IMPORT_DEVICE_LANE_H
#define IMPORT_DEVICE_LANE_H

#include "import/run_lane.h"

/* 0 or errno. */
int device_lanes_write(const struct trace *trace, const struct run_lane_place *place);

#endif
