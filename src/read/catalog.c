#include <stdlib.h>

#include "read/array.h"
#include "read/process_file.h"

enum { BUFFER_BYTES = 65536 };

static int make_room(struct catalog *catalog, uint32_t id)
{
    struct ss_name_info *names =
        array_grow(catalog->names, &catalog->name_capacity, sizeof *names, (size_t)id + 1);
    uint8_t *stages;

    if (!names)
        return SS_E_NOMEM;
    catalog->names = names;
    stages = array_grow(catalog->stages, &catalog->stage_capacity, sizeof *stages, (size_t)id + 1);
    if (!stages)
        return SS_E_NOMEM;
    catalog->stages = stages;
    if (id >= catalog->name_count)
        catalog->name_count = id + 1;
    return 0;
}

/* The first record of an id counts. Name 0 needs none. */
static int add_name(struct catalog *catalog, uint16_t id, const struct ss_record *record)
{
    if (id == 0)
        return 0;
    if (make_room(catalog, id) != 0)
        return SS_E_NOMEM;
    struct ss_name_info *const name = &catalog->names[id];
    if (name->text.data)
        return 0;
    const struct ss_text text = text_store_copy(&catalog->texts, record->u.text.a);
    const struct ss_text object = text_store_copy(&catalog->texts, record->u.text.b);
    if (!text.data || !object.data)
        return SS_E_NOMEM;
    *name = (struct ss_name_info){text, object, record->stage, record->role, record->scope};
    catalog->stages[id] = record->stage;
    return 0;
}

static int add_record(struct process_file *file, const uint8_t *whole)
{
    struct catalog *const catalog = &file->catalog;
    const unsigned kind = record_kind(whole);
    struct ss_record record;

    if (kind != SS_KIND_NAME && kind != SS_KIND_INFO && kind != SS_KIND_CALIBRATION)
        return 0;
    record_decode(whole, &record);
    if (kind == SS_KIND_NAME)
        return add_name(catalog, load_u16(whole + 2), &record);
    if (kind == SS_KIND_INFO)
        return manifest_add(&catalog->infos, &catalog->texts, record.u.text.a, record.u.text.b);
    catalog->calibrations++;
    return timeline_add_calibration(&file->timeline, load_u64(whole + 8), record.u.clocks[0]);
}

static int read_lane(struct process_file *file, struct run_lane *lane, uint8_t *scratch)
{
    struct lane_walk *const walk = &file->catalog.walk;
    const uint8_t *unit;
    int code = 0;

    if (!walk->lane)
        lane_walk_init(walk, lane, NULL, BUFFER_BYTES);
    walk->buffer = scratch + LANE_WALK_SCRATCH;
    while (code == 0 && (unit = lane_walk_next(walk))) {
        const uint8_t *const whole = lane_walk_whole(walk, unit, scratch);
        if (whole)
            code = add_record(file, whole);
        if (code != 0)
            lane_walk_back(walk, unit);
    }
    lane_walk_forget_view(walk);
    return code;
}

int catalog_refresh(struct process_file *file)
{
    struct run_lane *const lane = lane_table_find(file, SS_CONTROL_LANE);
    int code = make_room(&file->catalog, 0);

    if (code == 0 && lane) {
        uint8_t *const scratch = malloc(LANE_WALK_SCRATCH + BUFFER_BYTES);
        code = scratch ? read_lane(file, lane, scratch) : SS_E_NOMEM;
        free(scratch);
    }
    return code == 0 ? manifest_settle(&file->catalog.infos) : code;
}

void catalog_release(struct catalog *catalog)
{
    free(catalog->names);
    free(catalog->stages);
    manifest_release(&catalog->infos);
    text_store_release(&catalog->texts);
}
