#include "export/name_slots.h"

#include <stdlib.h>
#include <string.h>

static struct name_slot_row *row_at(struct name_slots *slots, uint32_t process)
{
    if (process >= slots->row_count) {
        const size_t count = (size_t)process + 1;
        struct name_slot_row *grown = realloc(slots->rows, count * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + slots->row_count, 0, (count - slots->row_count) * sizeof *grown);
        slots->rows = grown;
        slots->row_count = count;
    }
    return &slots->rows[process];
}

struct name_slot *name_slots_at(struct name_slots *slots, uint32_t process, uint32_t name)
{
    struct name_slot_row *row = row_at(slots, process);

    if (!row)
        return NULL;
    if (name >= row->count) {
        const uint32_t count = name < 32 ? 64 : 2 * name;
        struct name_slot *grown = realloc(row->slots, count * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + row->count, 0, (count - row->count) * sizeof *grown);
        row->slots = grown;
        row->count = count;
    }
    return &row->slots[name];
}

void name_slots_release(struct name_slots *slots)
{
    for (size_t i = 0; i < slots->row_count; i++) {
        for (uint32_t k = 0; k < slots->rows[i].count; k++)
            free(slots->rows[i].slots[k].text);
        free(slots->rows[i].slots);
    }
    free(slots->rows);
    *slots = (struct name_slots){0};
}
