#include "cli/dump.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/tally.h"

const struct ss_name_info *dump_name(const struct dump *dump,
                                     const struct ss_record *record)
{
    return ss_run_name(dump->run, ss_run_lane(dump->run, record->lane)->process,
                       record->name);
}

static int digits(uint64_t number)
{
    return snprintf(NULL, 0, "%" PRIu64, number);
}

static int wider(int a, int b)
{
    return a > b ? a : b;
}

void dump_init(struct dump *dump, struct ss_run *run, struct sink *out)
{
    size_t processes = ss_run_processes(run);
    ss_ns end_ns;
    uint32_t last_lane = 0;

    *dump = (struct dump){.run = run, .out = out};
    json_init(&dump->json, out);
    tally_extent(run, &dump->start_ns, &end_ns);
    for (size_t i = 0; i < ss_run_lanes(run); i++)
        if (ss_run_lane(run, i)->number > last_lane)
            last_lane = ss_run_lane(run, i)->number;
    dump->seconds_width = digits(tally_difference(end_ns, dump->start_ns) / 1000000000);
    dump->process_width = processes > 1 ? digits(processes - 1) : 0;
    dump->lane_width = wider(digits(last_lane), processes > 1 ? 2 : 4);
}

void dump_release(struct dump *dump)
{
    buf_release(&dump->line);
}
