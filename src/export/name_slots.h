/* A place for each name of each process, for what is made once and used for all its records. */
#ifndef EXPORT_NAME_SLOTS_H
#define EXPORT_NAME_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct name_slot {
    char *text; /* NULL: not made yet; freed with the slots */
    size_t size;
};

struct name_slots {
    struct name_slot_row {
        struct name_slot *slots;
        uint32_t count;
    } * rows;
    size_t row_count;
};

/* NULL if memory is short. Stays where it is until the next call. {0} are empty slots. */
struct name_slot *name_slots_at(struct name_slots *slots, uint32_t process,
                                uint32_t name);
void name_slots_release(struct name_slots *slots);

#endif
