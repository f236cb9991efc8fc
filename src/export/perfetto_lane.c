#include "base/text.h"
#include "export/perfetto_packet.h"
#include "export/perfetto_parts.h"
#include "export/run_walk.h"
#include "report/report_parts.h"

void perfetto_lane_release(struct perfetto_lane *lane)
{
    if (lane->in_use) {
        slice_order_flush(&lane->order);
        slice_order_release(&lane->order);
    }
    lane->in_use = false;
}

static void put_slice_begin(struct sink *out, uint64_t track, const struct slice *slice)
{
    char words[FLAG_WORDS_SIZE];
    int notes = 0;
    struct packet_event event = {
        .track = track, .time_ns = slice->start_ns, .stage = slice->stage, .name = slice->name};

    if (slice->argument != 0)
        event.notes[notes++] =
            (struct packet_note){.name = NOTE_ARGUMENT, .value = slice->argument};
    if (flag_words(words, slice->flags) > 0)
        event.notes[notes++] = (struct packet_note){.name = NOTE_FLAGS, .text = words};
    packet_begin(out, &event);
}

static void give_edge(void *context, const struct slice_edge *edge)
{
    const struct perfetto_lane *lane = context;

    if (edge->is_end)
        packet_end(lane->out, lane->track, edge->slice.end_ns);
    else
        put_slice_begin(lane->out, lane->track, &edge->slice);
}

void perfetto_lane_begin(struct perfetto_lane *lane, struct perfetto_names *names,
                         const struct ss_record *record, uint64_t parent, int32_t pid, int32_t tid)
{
    struct buf name = {0};

    perfetto_lane_release(lane);
    *lane = (struct perfetto_lane){
        .out = names->out, .in_use = true, .owner = record->owner, .track = (*names->next_track)++};
    slice_order_init(&lane->order, give_edge, lane);
    if (record->kind == SS_KIND_THREAD_BEGIN)
        text_safe(&name, record->u.text.a.data, record->u.text.a.size);
    if (tid != 0)
        packet_thread(lane->out, lane->track, pid, tid, buf_text(&name));
    else
        packet_track(lane->out, lane->track, parent, "a thread");
    buf_release(&name);
}

/* As reports call it. */
static bool make_name(const struct ss_name_info *name, struct name_slot *slot)
{
    struct buf text = {0}, object = {0}, whole = {0};

    text_safe(&text, name->text.data, name->text.size);
    text_safe(&object, name->object.data, name->object.size);
    report_name(&whole, (struct ss_text){buf_text(&text), text.size},
                (struct ss_text){buf_text(&object), object.size}, name->scope);
    const bool made = !text.failed && !object.failed && !whole.failed;
    if (made)
        *slot = (struct name_slot){whole.data, whole.size};
    else
        buf_release(&whole);
    buf_release(&text);
    buf_release(&object);
    return made;
}

/* Number of the name in the trace, where a new one is written first. */
static uint64_t name_of(struct perfetto_names *names, uint32_t process, uint32_t name)
{
    const uint64_t number = ((uint64_t)process << 16 | name) + 1;
    struct name_slot *slot = name_slots_at(&names->slots, process, name);

    if (slot && slot->text)
        return number;
    if (slot && make_name(ss_run_name(names->run, process, name), slot))
        packet_name(names->out, number, slot->text);
    else
        sink_fail(names->out, SS_E_NOMEM, 0);
    return number;
}

static uint64_t new_beside(struct perfetto_lane *lane, struct perfetto_names *names)
{
    const uint64_t track = (*names->next_track)++;

    packet_track(lane->out, track, lane->track, "beside");
    return track;
}

/* A track on which nothing reaches into this time. */
static uint64_t beside_for(struct perfetto_lane *lane, struct perfetto_names *names,
                           const struct slice *slice)
{
    int i = 0;

    while (i < lane->besides && lane->beside[i].end_ns > slice->start_ns)
        i++;
    if (i == LANE_BESIDES)
        return new_beside(lane, names);
    if (i == lane->besides)
        lane->beside[lane->besides++].track = new_beside(lane, names);
    lane->beside[i].end_ns = slice->end_ns;
    return lane->beside[i].track;
}

static void add_span(struct perfetto_lane *lane, struct perfetto_names *names, uint32_t process,
                     const struct ss_record *record)
{
    const struct slice slice = {.start_ns = record->start_ns,
                                .end_ns = record->end_ns,
                                .name = name_of(names, process, record->name),
                                .argument = record->u.arg,
                                .flags = record->flags,
                                .stage = record->stage};

    if (record->flags & (SS_FLAG_OVERLAY | SS_FLAG_APPENDED)) {
        const uint64_t track = beside_for(lane, names, &slice);
        put_slice_begin(lane->out, track, &slice);
        packet_end(lane->out, track, slice.end_ns);
    } else {
        slice_order_add(&lane->order, &slice, record->depth);
    }
}

static void add_mark(struct perfetto_lane *lane, struct perfetto_names *names, uint32_t process,
                     const struct ss_record *record)
{
    struct buf text = {0};

    text_safe(&text, record->u.text.a.data, record->u.text.a.size);
    struct packet_event event = {.track = lane->track,
                                 .time_ns = record->time_ns,
                                 .stage = -1,
                                 .name = name_of(names, process, record->name)};
    if (text.size > 0)
        event.notes[0] = (struct packet_note){.name = NOTE_TEXT, .text = buf_text(&text)};
    packet_instant(lane->out, &event);
    buf_release(&text);
}

/* A time of which the trace says less than it seems to. */
static void add_window(struct perfetto_lane *lane, struct perfetto_names *names,
                       const struct ss_record *record)
{
    const bool is_lost = record->kind == SS_KIND_LOST;
    const struct slice slice = {.start_ns = record->start_ns, .end_ns = record->end_ns};
    const struct packet_event event = {
        .track = beside_for(lane, names, &slice),
        .time_ns = record->start_ns,
        .stage = -1,
        .text = is_lost ? "records lost" : "perturbed",
        .notes = {{.name = is_lost ? NOTE_COUNT : NOTE_ARGUMENT, .value = record->u.arg}}};

    packet_begin(lane->out, &event);
    packet_end(lane->out, event.track, record->end_ns);
}

void perfetto_lane_add(struct perfetto_lane *lane, struct perfetto_names *names, uint32_t process,
                       const struct ss_record *record)
{
    if (record->kind == SS_KIND_SPAN)
        add_span(lane, names, process, record);
    else if (record->kind == SS_KIND_MARK)
        add_mark(lane, names, process, record);
    else
        add_window(lane, names, record);
}
