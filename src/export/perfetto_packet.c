#include "export/perfetto_packet.h"

#include <endian.h>
#include <pb_encode.h>
#include <perfetto.pb.h>
#include <string.h>

#include "base/text.h"

enum {
    CLOCK_ID_REALTIME = 1,
    CLOCK_ID_RAW = 5,
    SEQUENCE = 1, /* all packets are of one */
    NAMES_START_AFRESH = 1,
    NEEDS_NAMES = 2,
    PACKET_MOST = (PACKET_NOTES + 1) * PACKET_TEXT_MOST + 500
};

typedef perfetto_TracePacket packet;

static const char *const note_names[] = {
#define NOTE_TEXT(id, text) [NOTE_##id] = text,
    PACKET_NOTE_NAMES(NOTE_TEXT)};

static packet new_packet(void)
{
    return (packet){.has_trusted_packet_sequence_id = true, .trusted_packet_sequence_id = SEQUENCE};
}

/* A trace is nothing but its packets, each with its tag and size in front. */
static void put(struct sink *out, const packet *message)
{
    uint8_t body[PACKET_MOST], head[16];
    pb_ostream_t inner = pb_ostream_from_buffer(body, sizeof body);
    pb_ostream_t outer = pb_ostream_from_buffer(head, sizeof head);

    if (!pb_encode(&inner, perfetto_TracePacket_fields, message) ||
        !pb_encode_tag(&outer, PB_WT_STRING, perfetto_Trace_packet_tag) ||
        !pb_encode_varint(&outer, inner.bytes_written)) {
        sink_fail(out, SS_E_INVALID, 0);
        return;
    }
    sink_write(out, head, outer.bytes_written);
    sink_write(out, body, inner.bytes_written);
}

/* nanopb's texts are not const, but encoding leaves them as they are; one that is too long is
 * copied. */
static char *text_of(const char *text, char room[PACKET_TEXT_MOST + 1])
{
    const size_t size = utf8_cut(text, PACKET_TEXT_MOST);

    if (text[size] == '\0')
        return (char *)(uintptr_t)text;
    memcpy(room, text, size);
    room[size] = '\0';
    return room;
}

static void put_category(struct sink *out, unsigned stage)
{
    packet message = new_packet();

    message.has_interned_data = true;
    message.interned_data.event_categories_count = 1;
    message.interned_data.event_categories[0] = (perfetto_EventCategory){
        .has_iid = true,
        .iid = stage + 1,
        .name = (char *)(uintptr_t)ss_stage_text(stage),
    };
    put(out, &message);
}

static void put_note_name(struct sink *out, unsigned note)
{
    packet message = new_packet();

    message.has_interned_data = true;
    message.interned_data.debug_annotation_names_count = 1;
    message.interned_data.debug_annotation_names[0] = (perfetto_DebugAnnotationName){
        .has_iid = true,
        .iid = note,
        .name = (char *)(uintptr_t)note_names[note],
    };
    put(out, &message);
}

void packet_start(struct sink *out, ss_ns raw_ns, int64_t realtime_ns)
{
    packet message = new_packet();

    message.has_sequence_flags = true;
    message.sequence_flags = NAMES_START_AFRESH;
    message.has_trace_packet_defaults = true;
    message.trace_packet_defaults.has_timestamp_clock_id = true;
    message.trace_packet_defaults.timestamp_clock_id = CLOCK_ID_RAW;
    message.has_clock_snapshot = true;
    message.clock_snapshot.has_primary_trace_clock = true;
    message.clock_snapshot.primary_trace_clock = CLOCK_ID_RAW;
    message.clock_snapshot.clocks_count = 2;
    message.clock_snapshot.clocks[0] = (perfetto_ClockSnapshot_Clock){
        .has_clock_id = true,
        .clock_id = CLOCK_ID_RAW,
        .has_timestamp = true,
        .timestamp = (uint64_t)raw_ns,
    };
    message.clock_snapshot.clocks[1] = (perfetto_ClockSnapshot_Clock){
        .has_clock_id = true,
        .clock_id = CLOCK_ID_REALTIME,
        .has_timestamp = true,
        .timestamp = (uint64_t)realtime_ns,
    };
    put(out, &message);
    for (unsigned i = 0; i < SS_STAGE_COUNT; i++)
        put_category(out, i);
    for (unsigned i = 1; i < sizeof note_names / sizeof note_names[0]; i++)
        put_note_name(out, i);
}

void packet_name(struct sink *out, uint64_t name, const char *text)
{
    char room[PACKET_TEXT_MOST + 1];
    packet message = new_packet();

    message.has_interned_data = true;
    message.interned_data.event_names_count = 1;
    message.interned_data.event_names[0] =
        (perfetto_EventName){.has_iid = true, .iid = name, .name = text_of(text, room)};
    put(out, &message);
}

static packet new_track(uint64_t track, uint64_t parent)
{
    packet message = new_packet();

    message.has_track_descriptor = true;
    message.track_descriptor.has_uuid = true;
    message.track_descriptor.uuid = track;
    message.track_descriptor.has_parent_uuid = parent != 0;
    message.track_descriptor.parent_uuid = parent;
    return message;
}

void packet_process(struct sink *out, uint64_t track, int32_t pid, const char *name)
{
    char room[PACKET_TEXT_MOST + 1];
    packet message = new_track(track, 0);

    message.track_descriptor.has_process = true;
    message.track_descriptor.process = (perfetto_ProcessDescriptor){
        .has_pid = true, .pid = pid, .process_name = text_of(name, room)};
    put(out, &message);
}

void packet_thread(struct sink *out, uint64_t track, int32_t pid, int32_t tid, const char *name)
{
    char room[PACKET_TEXT_MOST + 1];
    packet message = new_track(track, 0);

    message.track_descriptor.has_thread = true;
    message.track_descriptor.thread =
        (perfetto_ThreadDescriptor){.has_pid = true,
                                    .pid = pid,
                                    .has_tid = true,
                                    .tid = tid,
                                    .thread_name = *name ? text_of(name, room) : NULL};
    put(out, &message);
}

void packet_track(struct sink *out, uint64_t track, uint64_t parent, const char *name)
{
    char room[PACKET_TEXT_MOST + 1];
    packet message = new_track(track, parent);

    message.track_descriptor.name = text_of(name, room);
    put(out, &message);
}

void packet_counter_track(struct sink *out, uint64_t track, uint64_t parent, const char *name,
                          const char *unit)
{
    char room[PACKET_TEXT_MOST + 1];
    packet message = new_track(track, parent);

    message.track_descriptor.name = text_of(name, room);
    message.track_descriptor.has_counter = true;
    message.track_descriptor.counter.unit_name = (char *)(uintptr_t)unit;
    put(out, &message);
}

/* Events are nearly all of a trace, and pb_encode() takes six times as long for a packet as what
 * follows. Fields go by their numbers, as it would write them. */
struct writer {
    uint8_t *begin, *at, *end;
    bool failed;
};

static struct writer writer_of(uint8_t *data, size_t size)
{
    return (struct writer){data, data, data + size, false};
}

static size_t written(const struct writer *writer)
{
    return (size_t)(writer->at - writer->begin);
}

static void put_varint(struct writer *to, uint64_t value)
{
    if (to->end - to->at < 10) { /* as long as one can be */
        to->failed = true;
        return;
    }
    for (; value >= 0x80; value >>= 7)
        *to->at++ = (uint8_t)(value | 0x80);
    *to->at++ = (uint8_t)value;
}

static void put_raw(struct writer *to, const void *data, size_t size)
{
    if ((size_t)(to->end - to->at) < size) {
        to->failed = true;
        return;
    }
    memcpy(to->at, data, size);
    to->at += size;
}

static void put_number(struct writer *to, uint32_t field, uint64_t value)
{
    put_varint(to, field << 3 | PB_WT_VARINT);
    put_varint(to, value);
}

static void put_bytes(struct writer *to, uint32_t field, const void *data, size_t size)
{
    put_varint(to, field << 3 | PB_WT_STRING);
    put_varint(to, size);
    put_raw(to, data, size);
}

static void put_double(struct writer *to, uint32_t field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits = htole64(bits);
    put_varint(to, field << 3 | PB_WT_64BIT);
    put_raw(to, &bits, sizeof bits);
}

static void put_note(struct writer *to, const struct packet_note *note)
{
    uint8_t data[PACKET_TEXT_MOST + 50];
    struct writer inner = writer_of(data, sizeof data);

    put_number(&inner, perfetto_DebugAnnotation_name_iid_tag, note->name);
    if (note->text)
        put_bytes(&inner, perfetto_DebugAnnotation_string_value_tag, note->text,
                  utf8_cut(note->text, PACKET_TEXT_MOST));
    else
        put_number(&inner, perfetto_DebugAnnotation_int_value_tag, (uint64_t)note->value);
    put_bytes(to, perfetto_TrackEvent_debug_annotations_tag, data, written(&inner));
    to->failed = to->failed || inner.failed;
}

/* The packet around an event. */
static void put_event(struct sink *out, ss_ns time_ns, const struct writer *event)
{
    uint8_t body[PACKET_MOST], head[16];
    struct writer inner = writer_of(body, sizeof body);
    struct writer outer = writer_of(head, sizeof head);

    put_number(&inner, perfetto_TracePacket_timestamp_tag, time_ns > 0 ? (uint64_t)time_ns : 0);
    put_number(&inner, perfetto_TracePacket_trusted_packet_sequence_id_tag, SEQUENCE);
    put_bytes(&inner, perfetto_TracePacket_track_event_tag, event->begin, written(event));
    put_number(&inner, perfetto_TracePacket_sequence_flags_tag, NEEDS_NAMES);
    put_varint(&outer, perfetto_Trace_packet_tag << 3 | PB_WT_STRING);
    put_varint(&outer, written(&inner));
    if (event->failed || inner.failed)
        sink_fail(out, SS_E_INVALID, 0);
    sink_write(out, head, written(&outer));
    sink_write(out, body, written(&inner));
}

static void put_named(struct sink *out, const struct packet_event *event,
                      perfetto_TrackEvent_Type type)
{
    uint8_t data[PACKET_MOST];
    struct writer to = writer_of(data, sizeof data);

    if (event->stage >= 0)
        put_number(&to, perfetto_TrackEvent_category_iids_tag, (uint64_t)event->stage + 1);
    for (int i = 0; i < PACKET_NOTES && event->notes[i].name != NOTE_NONE; i++)
        put_note(&to, &event->notes[i]);
    put_number(&to, perfetto_TrackEvent_type_tag, type);
    if (!event->text)
        put_number(&to, perfetto_TrackEvent_name_iid_tag, event->name);
    put_number(&to, perfetto_TrackEvent_track_uuid_tag, event->track);
    if (event->text)
        put_bytes(&to, perfetto_TrackEvent_name_tag, event->text,
                  utf8_cut(event->text, PACKET_TEXT_MOST));
    put_event(out, event->time_ns, &to);
}

void packet_begin(struct sink *out, const struct packet_event *event)
{
    put_named(out, event, perfetto_TrackEvent_Type_TYPE_SLICE_BEGIN);
}

void packet_instant(struct sink *out, const struct packet_event *event)
{
    put_named(out, event, perfetto_TrackEvent_Type_TYPE_INSTANT);
}

void packet_end(struct sink *out, uint64_t track, ss_ns time_ns)
{
    uint8_t data[32];
    struct writer to = writer_of(data, sizeof data);

    put_number(&to, perfetto_TrackEvent_type_tag, perfetto_TrackEvent_Type_TYPE_SLICE_END);
    put_number(&to, perfetto_TrackEvent_track_uuid_tag, track);
    put_event(out, time_ns, &to);
}

void packet_counter(struct sink *out, uint64_t track, ss_ns time_ns, double value)
{
    uint8_t data[48];
    struct writer to = writer_of(data, sizeof data);

    put_number(&to, perfetto_TrackEvent_type_tag, perfetto_TrackEvent_Type_TYPE_COUNTER);
    put_number(&to, perfetto_TrackEvent_track_uuid_tag, track);
    put_double(&to, perfetto_TrackEvent_double_counter_value_tag, value);
    put_event(out, time_ns, &to);
}
