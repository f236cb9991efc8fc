#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/tensorboard_parts.h"
#include "read/counter_table.h"

#define MB (1024.0 * 1024)
#define GB (1024.0 * MB)

/* A gauge is given as its mean, a total as what it gained a second, each divided by its unit. */
static const struct {
    enum ss_counter_id counter;
    const char *name; /* of a GPU: after its number */
    double unit;
    const char *description;
} rows[BOARD_COUNTERS] = {
    {SS_COUNTER_ID_CPU_BUSY, "cpu busy cores", 1e9, "Cores of the machine that worked."},
    {SS_COUNTER_ID_TREE_CPU, "training cpu cores", 1e9,
     "Cores that the command and all below it kept busy."},
    {SS_COUNTER_ID_TREE_RSS, "training memory GB", GB,
     "Memory of the command and all below it (RSS)."},
    {SS_COUNTER_ID_MEMORY_AVAILABLE, "memory available GB", GB,
     "Memory of the machine that could be had."},
    {SS_COUNTER_ID_DISK_READ, "disk read MB per s", MB, "Whole machine."},
    {SS_COUNTER_ID_DISK_WRITE, "disk write MB per s", MB, "Whole machine."},
    {SS_COUNTER_ID_NET_RECEIVED, "network received MB per s", MB, "All interfaces but loopback."},
    {SS_COUNTER_ID_NET_SENT, "network sent MB per s", MB, "All interfaces but loopback."},
    {SS_COUNTER_ID_GPU_BUSY, "busy percent", 0.01, "Part of the time in which kernels ran."},
    {SS_COUNTER_ID_GPU_MEMORY_USED, "memory GB", GB, "In use."},
    {SS_COUNTER_ID_GPU_POWER, "power W", 1, "As NVML says it."},
    {SS_COUNTER_ID_GPU_TEMPERATURE, "temperature C", 1, "As NVML says it."},
    {SS_COUNTER_ID_GPU_CLOCK, "clock MHz", 1e6, "Of its processors."},
};

static void take_name(struct board_machine *machine, const struct ss_record *record)
{
    const struct ss_text text = record->u.text.a;

    for (unsigned i = 0; i < BOARD_COUNTERS; i++) {
        const char *name = counter_table[rows[i].counter].text;
        if (record->name < BOARD_COUNTER_NAMES && text.size == strlen(name) &&
            memcmp(text.data, name, text.size) == 0)
            machine->row_of_name[record->name] = (uint8_t)(i + 1);
    }
}

static void take_value(struct board_counter *counter, bool is_total, int64_t time_ns, double value)
{
    if (!is_total) {
        counter->sum += value;
        counter->count++;
        return;
    }
    if (!counter->has_first || value < counter->last) { /* or it was set back */
        counter->has_first = true;
        counter->first = value;
        counter->first_ns = time_ns;
    }
    counter->last = value;
    counter->last_ns = time_ns;
}

static void take_sample(struct board_machine *machine, const struct ss_record *record)
{
    const unsigned row =
        record->name < BOARD_COUNTER_NAMES ? machine->row_of_name[record->name] : 0;
    uint64_t place = 0;

    if (row == 0 || record->flags != SS_SYSTEM_VALUE || !isfinite(record->u.value))
        return;
    const struct counter_facts *facts = &counter_table[rows[row - 1].counter];
    if (facts->subject == SS_SUBJECT_CPU && record->subject != SS_ALL_CPUS)
        return;
    if (facts->subject == SS_SUBJECT_GPU)
        place = record->subject;
    if (place < BOARD_GPUS)
        take_value(&machine->counter[row - 1][place], facts->kind == SS_COUNTER_TOTAL,
                   record->time_ns, record->u.value);
}

void board_machine_take(struct board_machine *machine, uint32_t process,
                        const struct ss_record *record)
{
    if (machine->process != process) { /* another supervisor: ids are its own */
        memset(machine->row_of_name, 0, sizeof machine->row_of_name);
        machine->process = process;
    }
    if (record->kind == SS_KIND_NAME)
        take_name(machine, record);
    else
        take_sample(machine, record);
}

/* NAN if nothing is known. What comes next is counted from here on. */
static double take_out(struct board_counter *counter)
{
    double value = NAN;

    if (counter->count > 0)
        value = counter->sum / (double)counter->count;
    else if (counter->has_first && counter->last_ns > counter->first_ns)
        value = (counter->last - counter->first) /
                (((double)counter->last_ns - (double)counter->first_ns) * 1e-9);
    counter->sum = 0;
    counter->count = 0;
    if (isfinite(value) && counter->has_first) {
        counter->first = counter->last;
        counter->first_ns = counter->last_ns;
    }
    return value;
}

static void write_value(const struct board_machine *machine, unsigned row, unsigned place,
                        double value, struct event *event)
{
    char name[64];

    if (counter_table[rows[row].counter].subject == SS_SUBJECT_GPU)
        snprintf(name, sizeof name, "gpu %u %s", place, rows[row].name);
    else
        snprintf(name, sizeof name, "%s", rows[row].name);
    struct event_value *out = event_scalar(event, "machine", name, value / rows[row].unit);
    if (out && !machine->is_told)
        out->description = rows[row].description;
}

void board_machine_write(struct board_machine *machine, struct event *event)
{
    for (unsigned row = 0; row < BOARD_COUNTERS; row++)
        for (unsigned place = 0; place < BOARD_GPUS; place++) {
            const double value = take_out(&machine->counter[row][place]);
            if (isfinite(value))
                write_value(machine, row, place, value, event);
        }
    machine->is_told = true;
}
