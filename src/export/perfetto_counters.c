#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/perfetto_packet.h"
#include "export/perfetto_parts.h"
#include "read/counter_table.h"

enum { PLACES = 2 * COUNTER_TRACKS }; /* a power of 2, and never full */

int counter_tracks_init(struct counter_tracks *tracks, struct sink *out, struct ss_run *run,
                        uint64_t *next_track)
{
    *tracks = (struct counter_tracks){.out = out, .run = run, .next_track = next_track};
    tracks->table = calloc(PLACES, sizeof *tracks->table);
    return tracks->table ? 0 : SS_E_NOMEM;
}

void counter_tracks_release(struct counter_tracks *tracks)
{
    free(tracks->table);
    tracks->table = NULL;
}

/* The place of a counter, or the free one where it belongs. */
static struct counter_track *find(const struct counter_tracks *tracks, uint32_t process,
                                  const struct ss_record *record)
{
    uint64_t hash = (record->subject ^ record->name) * UINT64_C(0x9e3779b97f4a7c15);
    size_t place = (size_t)((hash >> 32) + process) % PLACES;

    for (;; place = (place + 1) % PLACES) {
        struct counter_track *track = &tracks->table[place];
        if (!track->used || (track->process == process && track->name == record->name &&
                             track->subject == record->subject))
            return track;
    }
}

/* What is known of a counter of this name; NULL: the program's own. */
static const struct counter_facts *facts_of(const struct ss_name_info *name)
{
    for (size_t i = 0; i < SS_COUNTER_IDS; i++)
        if (strlen(counter_table[i].text) == name->text.size &&
            memcmp(counter_table[i].text, name->text.data, name->text.size) == 0)
            return &counter_table[i];
    return NULL;
}

static void add_subject(struct buf *out, unsigned kind, uint64_t subject)
{
    const uint32_t high = (uint32_t)(subject >> 32), low = (uint32_t)subject;

    switch (kind) {
    case SS_SUBJECT_CPU:
        if (subject == SS_ALL_CPUS)
            buf_add_text(out, " of all cores");
        else
            buf_printf(out, " of core %" PRIu64, subject);
        break;
    case SS_SUBJECT_PID:
        buf_printf(out, " of process %" PRIu64, subject);
        break;
    case SS_SUBJECT_PID_TID:
        buf_printf(out, " of thread %" PRIu32, low);
        break;
    case SS_SUBJECT_NAME:
        buf_printf(out, " %" PRIu64, subject);
        break;
    case SS_SUBJECT_GPU:
        buf_printf(out, " of GPU %" PRIu64, subject);
        break;
    case SS_SUBJECT_GPU_PID:
        buf_printf(out, " of GPU %" PRIu32 ", process %" PRIu32, high, low);
        break;
    default:
        break;
    }
}

static const char *unit_text(const struct counter_facts *facts)
{
    static const char *const units[] = {
        [SS_UNIT_NS] = "ns",       [SS_UNIT_BYTES] = "B",         [SS_UNIT_COUNT] = "",
        [SS_UNIT_HZ] = "Hz",       [SS_UNIT_CORES] = "cores",     [SS_UNIT_SHARE] = "share",
        [SS_UNIT_STATE] = "state", [SS_UNIT_BITS] = "bits",       [SS_UNIT_WATTS] = "W",
        [SS_UNIT_CELSIUS] = "C",   [SS_UNIT_BYTES_PER_S] = "B/s",
    };

    if (!facts || facts->kind == SS_COUNTER_GAUGE)
        return facts ? units[facts->unit] : "";
    return facts->unit == SS_UNIT_NS ? "s/s" : facts->unit == SS_UNIT_BYTES ? "B/s" : "/s";
}

static void new_track(struct counter_tracks *tracks, struct counter_track *track, uint32_t process,
                      uint64_t parent, const struct ss_record *record)
{
    const struct ss_name_info *name = ss_run_name(tracks->run, process, record->name);
    const struct counter_facts *facts = record->kind == SS_KIND_SYSTEM ? facts_of(name) : NULL;
    struct buf text = {0};

    *track = (struct counter_track){.used = true,
                                    .process = process,
                                    .name = record->name,
                                    .subject = record->subject,
                                    .track = (*tracks->next_track)++};
    if (facts && facts->kind == SS_COUNTER_TOTAL)
        track->per_second = facts->unit == SS_UNIT_NS ? 1 : 1e9;
    tracks->count++;
    text_safe(&text, name->text.data, name->text.size);
    add_subject(&text, facts ? facts->subject : SS_SUBJECT_NONE, record->subject);
    if (text.failed)
        sink_fail(tracks->out, SS_E_NOMEM, 0);
    packet_counter_track(tracks->out, track->track, parent, buf_text(&text), unit_text(facts));
    buf_release(&text);
}

/* From one sample to the next a total grew evenly, as far as anybody knows. */
static void add_total(struct counter_tracks *tracks, struct counter_track *track,
                      const struct ss_record *record)
{
    const double passed = (double)record->time_ns - (double)track->last_ns;

    if (track->has_last && passed > 0 && record->u.value >= track->last)
        packet_counter(tracks->out, track->track, track->last_ns,
                       (record->u.value - track->last) / passed * track->per_second);
    track->has_last = true;
    track->last = record->u.value;
    track->last_ns = record->time_ns;
}

void counter_tracks_add(struct counter_tracks *tracks, uint32_t process, uint64_t parent,
                        const struct ss_record *record)
{
    const bool is_system = record->kind == SS_KIND_SYSTEM;

    if (!isfinite(record->u.value) || (is_system && record->flags != SS_SYSTEM_VALUE))
        return;
    struct counter_track *track = find(tracks, process, record);
    if (!track->used) {
        if (tracks->count == COUNTER_TRACKS)
            return;
        new_track(tracks, track, process, parent, record);
    }
    if (track->per_second > 0)
        add_total(tracks, track, record);
    else
        packet_counter(tracks->out, track->track, record->time_ns, record->u.value);
}
