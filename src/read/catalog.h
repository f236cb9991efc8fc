/* What the control lane of a process says: names, infos, calibrations of the clock. */
#ifndef READ_CATALOG_H
#define READ_CATALOG_H

#include "read/facts.h"
#include "read/lane_walk.h"

struct process_file;

struct catalog {
    struct lane_walk walk;      /* over the control lane; goes on at each refresh */
    struct ss_name_info *names; /* by id; text.data is NULL if the record is missing */
    uint8_t *stages;            /* of the names, for those who need no more */
    size_t name_capacity, stage_capacity;
    uint32_t name_count; /* largest id and 1; at least 1 */
    uint32_t calibrations;
    struct facts infos;
    struct text_store texts;
};

/* Reads what is new; calibrations go to the timeline of the file. 0 or SS_E_NOMEM. */
int catalog_refresh(struct process_file *file);
void catalog_release(struct catalog *catalog);

static inline uint8_t catalog_stage(const struct catalog *catalog, uint16_t name)
{
    return name < catalog->name_count ? catalog->stages[name] : (uint8_t)SS_STAGE_OTHER;
}

#endif
