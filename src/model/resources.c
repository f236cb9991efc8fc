#include "model/resources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/counter_table.h"

static const int64_t first_width_ns = 100000000;
static const int64_t latest_ns = INT64_MAX / 8; /* 36 years after the boot: damage */

static const int64_t ended_after_ns = 60000000000;

void resources_release(struct resources *resources)
{
    for (struct resource_set *set = resources->sets, *next; set; set = next) {
        next = set->next;
        for (size_t i = 0; i < set->row_count; i++)
            free(set->rows[i]);
        free(set->rows);
        free(set);
    }
    resources->sets = NULL;
}

static struct resource_set *set_of(struct resources *resources, uint32_t process)
{
    struct resource_set *set = resources->sets;
    while (set && set->process != process)
        set = set->next;
    if (!set && (set = calloc(1, sizeof *set))) {
        set->process = process;
        set->width_ns = first_width_ns;
        set->next = resources->sets;
        resources->sets = set;
    }
    return set;
}

void resources_name(struct resources *resources, uint32_t process, const struct ss_record *record)
{
    const struct ss_text text = record->u.text.a;
    for (unsigned i = 0; i < SS_COUNTER_IDS; i++) {
        if (text.size != strlen(counter_table[i].text) ||
            memcmp(text.data, counter_table[i].text, text.size) != 0)
            continue;
        struct resource_set *set = set_of(resources, process);
        const size_t names = set ? sizeof set->counter_of_name / sizeof(uint16_t) : 0;
        if (record->name < names && !set->counter_of_name[record->name])
            set->counter_of_name[record->name] = (uint16_t)(i + 1);
        return;
    }
}

/* Rows are few, and come in the same order each time: the search starts behind the last one
 * found. */
static struct resource_row *find_row(const struct resource_set *set, size_t *hint,
                                     enum ss_counter_id counter, uint64_t subject)
{
    for (size_t i = 0; i < set->row_count; i++) {
        const size_t at = (*hint + i) % set->row_count;
        if (set->rows[at]->counter == counter && set->rows[at]->subject == subject) {
            *hint = at + 1;
            return set->rows[at];
        }
    }
    return NULL;
}

/* The process that was last seen longest ago, and not just now. */
static struct resource_row *oldest_process(const struct resource_set *set, int64_t now_ns)
{
    struct resource_row *oldest = NULL;
    for (size_t i = 0; i < set->row_count; i++) {
        struct resource_row *row = set->rows[i];
        if (counter_table[row->counter].subject == SS_SUBJECT_PID &&
            now_ns - row->last_ns > ended_after_ns && (!oldest || row->last_ns < oldest->last_ns))
            oldest = row;
    }
    return oldest;
}

static bool make_room(struct resource_set *set)
{
    if (set->row_count < set->row_capacity)
        return true;
    const size_t capacity = set->row_capacity ? set->row_capacity * 2 : 64;
    struct resource_row **grown =
        capacity > RESOURCE_ROWS_MOST
            ? NULL
            : realloc(set->rows, capacity * sizeof(struct resource_row *));
    if (grown) {
        set->rows = grown;
        set->row_capacity = capacity;
    }
    return grown != NULL;
}

static struct resource_row *add_row(struct resource_set *set, enum ss_counter_id counter,
                                    uint64_t subject, int64_t now_ns)
{
    struct resource_row *row = NULL;
    if (make_room(set) && (row = malloc(sizeof *row)))
        set->rows[set->row_count++] = row;
    row = row ? row : oldest_process(set, now_ns);
    if (row) {
        memset(row, 0, sizeof *row);
        row->counter = counter;
        row->subject = subject;
    }
    return row;
}

static void cell_add(struct resource_cell *cell, const struct resource_cell *more)
{
    if (more->weight > 0) {
        cell->min = cell->weight > 0 ? fmin(cell->min, more->min) : more->min;
        cell->max = cell->weight > 0 ? fmax(cell->max, more->max) : more->max;
        cell->sum += more->sum;
        cell->weight += more->weight;
    }
}

static void widen(struct resource_set *set)
{
    for (size_t i = 0; i < set->row_count; i++) {
        struct resource_cell *cell = set->rows[i]->cell;
        for (size_t k = 0; k < RESOURCE_CELLS / 2; k++) {
            cell[k] = cell[2 * k];
            cell_add(&cell[k], &cell[2 * k + 1]);
        }
        memset(cell + RESOURCE_CELLS / 2, 0, RESOURCE_CELLS / 2 * sizeof *cell);
    }
    set->width_ns *= 2;
}

/* Spreads `rate` a nanosecond over the time since the row's last sample. */
static void spread(const struct resource_set *set, struct resource_row *row, int64_t until_ns,
                   double rate)
{
    for (int64_t from_ns = row->last_ns; from_ns < until_ns;) {
        const int64_t number = (from_ns - set->origin_ns) / set->width_ns;
        const int64_t end_ns = set->origin_ns + (number + 1) * set->width_ns;
        const int64_t to_ns = end_ns < until_ns ? end_ns : until_ns;
        const double part_ns = (double)(to_ns - from_ns);
        const struct resource_cell one = {rate * part_ns, part_ns, rate, rate};
        if (number >= RESOURCE_CELLS) /* the very end of the last one */
            break;
        cell_add(&row->cell[number], &one);
        from_ns = to_ns;
    }
}

/* A value holds until the next one. What a total gained is spread evenly; one that goes back was
 * reset by another program: what it gained is unknown. */
static void row_add(struct resource_set *set, struct resource_row *row, int64_t time_ns,
                    double value)
{
    const bool is_gauge = counter_table[row->counter].kind == SS_COUNTER_GAUGE;
    if (row->count++ == 0) {
        row->first_ns = time_ns;
        row->first = value;
    } else if (time_ns <= row->last_ns) {
        return;
    } else if (is_gauge && !row->is_missing) {
        spread(set, row, time_ns, row->last);
    } else if (!is_gauge && value >= row->last) {
        spread(set, row, time_ns, (value - row->last) / (double)(time_ns - row->last_ns));
    }
    row->is_missing = false;
    row->last_ns = time_ns;
    row->last = value;
}

/* It had a value until now. */
static void row_end(const struct resource_set *set, struct resource_row *row, int64_t time_ns)
{
    if (!row->is_missing && time_ns > row->last_ns &&
        counter_table[row->counter].kind == SS_COUNTER_GAUGE) {
        spread(set, row, time_ns, row->last);
        row->last_ns = time_ns;
    }
    row->is_missing = true;
}

int resources_sample(struct resources *resources, uint32_t process, const struct ss_record *record)
{
    struct resource_set *set = set_of(resources, process);
    const size_t names = set ? sizeof set->counter_of_name / sizeof(uint16_t) : 0;
    const uint16_t known = record->name < names ? set->counter_of_name[record->name] : 0;
    if (!known)
        return -1;
    const enum ss_counter_id counter = (enum ss_counter_id)(known - 1);
    if (set->state[counter] != SS_SYSTEM_VALUE + 1)
        set->state[counter] = (uint8_t)((record->flags & 3) + 1);
    if (record->time_ns <= 0 || record->time_ns > latest_ns)
        return (int)counter;
    if (set->origin_ns == 0)
        set->origin_ns = record->time_ns;
    if (record->time_ns < set->origin_ns)
        return (int)counter;
    while ((record->time_ns - set->origin_ns) / set->width_ns >= RESOURCE_CELLS)
        widen(set);
    struct resource_row *row = find_row(set, &set->hint, counter, record->subject);
    if (record->flags != SS_SYSTEM_VALUE) {
        if (row)
            row_end(set, row, record->time_ns);
    } else if (isfinite(record->u.value)) {
        row = row ? row : add_row(set, counter, record->subject, record->time_ns);
        set->unplaced += !row;
        if (row)
            row_add(set, row, record->time_ns, record->u.value);
    }
    return (int)counter;
}

void resources_merge(struct resources *to, struct resources *from, uint32_t processes)
{
    while (from->sets) {
        struct resource_set *set = from->sets;
        from->sets = set->next;
        set->process += processes;
        set->next = to->sets;
        to->sets = set;
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct resource_answer resources_ask(const struct resource_set *set, const struct resource_row *row,
                                     int64_t from_ns, int64_t to_ns)
{
    double sum = 0, weight = 0, known_ns = 0;
    struct resource_answer answer = {NAN, NAN, NAN, 0};
    for (int64_t i = 0; i < RESOURCE_CELLS; i++) {
        const struct resource_cell *cell = &row->cell[i];
        const int64_t cell_ns = set->origin_ns + i * set->width_ns;
        const int64_t begin_ns = later(cell_ns, row->first_ns);
        const int64_t end_ns = earlier(cell_ns + set->width_ns, row->last_ns + 1);
        const int64_t low = later(begin_ns, from_ns);
        const int64_t high = earlier(end_ns, to_ns);
        if (cell->weight <= 0 || high <= low)
            continue;
        const double part = (double)(high - low) / (double)(end_ns - begin_ns);
        sum += part * cell->sum;
        weight += part * cell->weight;
        known_ns += (double)(high - low);
        answer.min = fmin(answer.min, cell->min); /* of NAN and a number, the number */
        answer.max = fmax(answer.max, cell->max);
    }
    if (weight > 0) {
        answer.mean = sum / weight;
        answer.known_ns = known_ns;
    }
    if (counter_table[row->counter].kind == SS_COUNTER_GAUGE && row->last_ns >= from_ns &&
        row->last_ns < to_ns && !row->is_missing) { /* it has held for no time yet */
        answer.mean = weight > 0 ? answer.mean : row->last;
        answer.min = fmin(answer.min, row->last);
        answer.max = fmax(answer.max, row->last);
    }
    return answer;
}
