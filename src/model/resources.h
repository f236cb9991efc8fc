/* System samples over time, in bounded memory: of each counter and subject 128 cells of one width,
 * which doubles when the run gets longer than they reach. Sums over cells are exact; of a cell that
 * a question covers in part, that part counts. A value holds until the next sample; what a total
 * gained between two samples is spread evenly between them. Rows of processes that have ended give
 * way when there is no room for another. */
#ifndef MODEL_RESOURCES_H
#define MODEL_RESOURCES_H

#include "stepscope/counters.h"
#include "stepscope/reader.h"

enum { RESOURCE_CELLS = 128, RESOURCE_ROWS_MOST = 1024 };

struct resource_cell {
    double sum;      /* of values, each for as long as it held; of what a total gained */
    double weight;   /* nanoseconds that it was known */
    double min, max; /* of values, or of gains per nanosecond; if weight > 0 */
};

struct resource_row {
    enum ss_counter_id counter;
    uint64_t subject;
    int64_t first_ns, last_ns;
    double first, last; /* values */
    uint64_t count;
    bool is_missing; /* since its last value it was absent or denied */
    struct resource_cell cell[RESOURCE_CELLS];
};

/* What one supervisor saw. */
struct resource_set {
    struct resource_set *next;
    uint32_t process;
    int64_t origin_ns, width_ns;
    uint8_t state[SS_COUNTER_IDS]; /* enum ss_system_state + 1; 0: never heard of */
    uint16_t counter_of_name[256]; /* id of a name: counter + 1 */
    struct resource_row **rows;
    size_t row_count, row_capacity;
    size_t hint;       /* where to look for the next row first */
    uint64_t unplaced; /* samples for which there was no row */
};

struct resources {
    struct resource_set *sets;
};

void resources_release(struct resources *resources);

/* A name of a supervisor's file. */
void resources_name(struct resources *resources, uint32_t process, const struct ss_record *record);

/* A SYSTEM record; gives the counter, or -1 if it is none of ours. */
int resources_sample(struct resources *resources, uint32_t process, const struct ss_record *record);

/* Moves all of `from` to `to`; processes of `from` are numbered after `processes`. */
void resources_merge(struct resources *to, struct resources *from, uint32_t processes);

/* From one time to another: the mean of values, or what a total gained each nanosecond; the
 * smallest and largest of these; NAN if nothing is known of that time. */
struct resource_answer {
    double mean, min, max, known_ns;
};
struct resource_answer resources_ask(const struct resource_set *set, const struct resource_row *row,
                                     int64_t from_ns, int64_t to_ns);

#endif
