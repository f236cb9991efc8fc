/* Writes the packets of a Perfetto trace, one after the other. Times are nanoseconds of
 * CLOCK_MONOTONIC_RAW; trace processors sort by them, and keep the order of packets of one time.
 *
 * Tracks and names have numbers that the caller gives; each must be told of before it is used.
 * Texts are cut at PACKET_TEXT_MOST bytes and must be UTF-8 (base/text.h). */
#ifndef EXPORT_PERFETTO_PACKET_H
#define EXPORT_PERFETTO_PACKET_H

#include "base/sink.h"
#include "stepscope/reader.h"

enum { PACKET_TEXT_MOST = 4000, PACKET_NOTES = 5 };

/* What an event may have beside its name: shown as its arguments. */
#define PACKET_NOTE_NAMES(X)                                                                       \
    X(ARGUMENT, "argument")                                                                        \
    X(FLAGS, "flags")                                                                              \
    X(TEXT, "text")                                                                                \
    X(STEP, "step")                                                                                \
    X(STEPS, "steps")                                                                              \
    X(PART, "part")                                                                                \
    X(EPOCH, "epoch")                                                                              \
    X(TIME, "time_ns")                                                                             \
    X(COUNT, "count")

#define PACKET_ENUM_NOTE(id, text) NOTE_##id,
enum packet_note_name { NOTE_NONE, PACKET_NOTE_NAMES(PACKET_ENUM_NOTE) };

struct packet_note {
    enum packet_note_name name; /* NOTE_NONE: no more */
    int64_t value;
    const char *text; /* NULL: the value counts */
};

struct packet_event {
    uint64_t track;
    ss_ns time_ns;
    int stage; /* its category; -1: none */
    uint64_t name;
    const char *text; /* a name that is not worth a number; NULL: `name` */
    struct packet_note notes[PACKET_NOTES];
};

/* Begins the trace: what the clock showed at one moment of the real time. */
void packet_start(struct sink *out, ss_ns raw_ns, int64_t realtime_ns);

void packet_process(struct sink *out, uint64_t track, int32_t pid, const char *name);
void packet_thread(struct sink *out, uint64_t track, int32_t pid, int32_t tid, const char *name);
void packet_track(struct sink *out, uint64_t track, uint64_t parent, const char *name);
void packet_counter_track(struct sink *out, uint64_t track, uint64_t parent, const char *name,
                          const char *unit);
void packet_name(struct sink *out, uint64_t name, const char *text);

void packet_begin(struct sink *out, const struct packet_event *event);
void packet_end(struct sink *out, uint64_t track, ss_ns time_ns);
void packet_instant(struct sink *out, const struct packet_event *event);
void packet_counter(struct sink *out, uint64_t track, ss_ns time_ns, double value);

#endif
