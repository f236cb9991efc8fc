/* Compares the times of a run of clock_writer with those that it wrote down.
 *
 *     clock_check RUN AREA
 *
 * Prints
 *     clock C events N narrow N worst_ns N last_worst_ns N calibrations N
 * where an event's error is how far its converted time lies outside its bracket; narrow: events
 * with a bracket of at most 500 ns; last: events in the last second. Fails if an event is
 * missing. */
#include <stdio.h>
#include <stdlib.h>

#include "clock_events.h"
#include "stepscope/reader.h"

enum { NARROW_NS = 500 };

static struct ss_run *run;
static const struct clock_area *area;
static uint64_t capacity;
static int64_t last_second_ns;

static struct {
    uint64_t events, narrow;
    int64_t worst_ns, last_worst_ns;
} totals;

static void compare(struct clock_bracket truth, ss_ns time_ns)
{
    int64_t error_ns = 0;

    if (time_ns < truth.before_ns)
        error_ns = truth.before_ns - time_ns;
    if (time_ns > truth.after_ns)
        error_ns = time_ns - truth.after_ns;
    totals.events++;
    totals.narrow += truth.after_ns - truth.before_ns <= NARROW_NS;
    if (error_ns > totals.worst_ns)
        totals.worst_ns = error_ns;
    if (error_ns > totals.last_worst_ns && truth.before_ns >= last_second_ns)
        totals.last_worst_ns = error_ns;
}

static uint64_t number_of(struct ss_text text)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.size; i++)
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    return number;
}

/* Compares all entries of a thread; returns how many records it found for them. */
static uint64_t compare_lane(size_t lane, const struct clock_entry *entries, uint64_t count)
{
    struct ss_cursor *cursor = ss_cursor_new(run, lane);
    struct ss_record record;
    uint64_t found = 0;

    while (cursor && ss_cursor_next(cursor, &record)) {
        const bool is_mark = record.kind == SS_KIND_MARK;
        if (!is_mark && (record.kind != SS_KIND_SPAN || record.flags & SS_FLAG_UNFINISHED))
            continue;
        const uint64_t number = is_mark ? number_of(record.u.text.a) : (uint64_t)record.u.arg;
        if (number >= count)
            continue; /* was just being recorded */
        found++;
        if (is_mark) {
            compare(entries[number].mark, record.time_ns);
        } else {
            compare(entries[number].begin, record.start_ns);
            compare(entries[number].end, record.end_ns);
        }
    }
    ss_cursor_free(cursor);
    return found;
}

static bool compare_thread(unsigned thread)
{
    const uint64_t count = area->thread[thread].count;
    uint64_t found = 0;

    for (size_t lane = 1; lane < ss_run_lanes(run); lane++)
        if (ss_run_lane(run, lane)->tid == area->thread[thread].tid)
            found = compare_lane(lane, &area->entries[thread * capacity], count);
    if (found != 2 * count)
        printf("thread %u: %llu of %llu records were found\n", thread, (unsigned long long)found,
               (unsigned long long)(2 * count));
    return found == 2 * count;
}

static void find_last_second(void)
{
    for (unsigned i = 0; i < CLOCK_THREADS; i++) {
        const uint64_t count = area->thread[i].count;
        const int64_t end_ns =
            count ? area->entries[i * capacity + count - 1].end.after_ns : INT64_MIN;
        if (count && end_ns - 1000000000 > last_second_ns)
            last_second_ns = end_ns - 1000000000;
    }
}

int main(int argc, char **argv)
{
    struct ss_error error;
    bool all = true;

    if (argc != 3 || !(area = clock_area_map(argv[2], &capacity))) {
        fprintf(stderr, "usage: clock_check RUN AREA\n");
        return 2;
    }
    run = ss_run_open(argv[1], &error);
    if (!run || ss_run_processes(run) == 0) {
        printf("%s\n", run ? "no process" : error.message);
        return 1;
    }
    find_last_second();
    for (unsigned i = 0; i < CLOCK_THREADS; i++)
        all = compare_thread(i) && all;
    const struct ss_process *process = ss_run_process(run, 0);
    printf("clock %u events %llu narrow %llu worst_ns %lld last_worst_ns %lld calibrations %u\n",
           process->clock, (unsigned long long)totals.events, (unsigned long long)totals.narrow,
           (long long)totals.worst_ns, (long long)totals.last_worst_ns, process->calibrations);
    ss_run_close(run);
    return all ? 0 : 1;
}
