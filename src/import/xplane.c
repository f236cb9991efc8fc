#include "import/xplane.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/xplane_event.h"

enum { LINE_TEXT_BYTES = 256 };

/* Times that no clock has. */
static const int64_t line_most_ns = INT64_MAX / 4;
/* Since 1970, as a line of an old trace has it; others count from the begin of the trace. */
static const int64_t since_1970_ns = INT64_C(100000000) * 1000000000;

/* Fields of the messages of XPlane. */
enum { SPACE_PLANE = 1, PLANE_LINE = 3 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_START = 3, LINE_EVENT = 4 };
enum { EVENT_NAME = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_STAT = 4 };
enum { STAT_NAME = 1, STAT_UNSIGNED = 3, STAT_SIGNED = 4, STAT_TEXT = 5, STAT_SHARED_TEXT = 7 };

struct events {
    struct xplane_reading reading;
    struct wire wire;
    struct xplane_line line;
    struct xplane_event event;
    int64_t line_id;
    bool is_begun; /* its first event has been read */
    char text[LINE_TEXT_BYTES];
};

static bool is_json(const uint8_t *at, const uint8_t *end)
{
    while (at < end && strchr(" \n\r\t", *at))
        at++;
    if (at == end || (*at != '{' && *at != '['))
        return false;
    for (at++; at < end && strchr(" \n\r\t", *at); at++)
        ;
    return at == end || strchr("\"{}[]", *at);
}

bool xplane_is(struct trace_input *input)
{
    const int first = trace_input_peek(input);

    /* A plane, an error, a warning; the first of them is a new line, too. */
    return (first == 0x0a || first == 0x12 || first == 0x1a) && !is_json(input->at, input->end);
}

static void begin_line(struct events *events, struct plane *plane)
{
    events->line = (struct xplane_line){.plane = plane, .thread = TRACE_NO_THREAD};
    events->line_id = 0;
    events->is_begun = false;
    events->text[0] = '\0';
}

/* All that a line says of itself stands before its events, but what is of no use here. */
static void decide_line(struct events *events)
{
    struct xplane_line *line = &events->line;
    struct trace *trace = events->reading.trace;
    const char *name = events->text;

    events->is_begun = true;
    if (line->start_ns < 0 || line->start_ns > line_most_ns)
        return;
    if (line->plane->role == PLANE_DEVICE) {
        line->role = strncmp(name, "Stream #", 8) == 0 ? LINE_STREAM
                     : strcmp(name, "Steps") == 0      ? LINE_STEPS
                                                       : LINE_OTHER;
        line->device = line->role == LINE_OTHER ? 0 : trace_device(trace, line->plane->device);
    } else {
        line->role = strncmp(name, "tf_data_", 8) == 0 ? LINE_INPUT : LINE_THREAD;
        line->thread = trace_thread(trace, 0, (uint64_t)events->line_id);
    }
}

static void take_number(struct xplane_event *event, enum stat stat, int64_t number)
{
    if (stat == STAT_CORRELATION)
        event->correlation = number;
    else if (stat == STAT_STEP)
        event->step = number;
    else if (stat == STAT_PROGRAM)
        event->program = number;
}

static void take_size(struct xplane_event *event, const char *details)
{
    const char *size = strstr(details, "size:");

    if (size)
        event->bytes = strtoll(size + 5, NULL, 10);
}

static void copy_text(char *out, size_t size, const char *text)
{
    const size_t length = strnlen(text, size - 1);

    memcpy(out, text, length);
    out[length] = '\0';
}

/* A text that many events share is a name of the plane. */
static void take_shared_text(struct events *events, enum stat stat, int64_t id)
{
    struct plane_name *shared = plane_name(&events->line.plane->stats, id);
    struct xplane_event *event = &events->event;

    if (!shared)
        return;
    const char *text = trace_text(events->reading.trace, shared->name);
    if (stat == STAT_ANNOTATION)
        event->annotation_name = shared;
    else if (stat == STAT_HLO_OP)
        copy_text(event->instruction, sizeof event->instruction, text);
    else if (stat == STAT_COPY)
        take_size(event, text);
}

static void take_text(struct events *events, enum stat stat)
{
    struct xplane_event *event = &events->event;

    if (stat == STAT_ANNOTATION) {
        wire_text(&events->wire, event->annotation, sizeof event->annotation);
    } else if (stat == STAT_HLO_OP) {
        wire_text(&events->wire, event->instruction, sizeof event->instruction);
    } else if (stat == STAT_COPY) {
        wire_text(&events->wire, events->text, sizeof events->text);
        take_size(event, events->text);
    }
}

static void read_stat(struct events *events)
{
    struct wire *wire = &events->wire;
    enum stat stat = STAT_OTHER;

    while (wire_next(wire)) {
        if (wire->field == STAT_NAME) {
            const struct plane_name *name =
                plane_name(&events->line.plane->stats, (int64_t)wire->number);
            stat = name ? (enum stat)name->kind : STAT_OTHER;
            events->event.is_function_call |= stat == STAT_FUNCTION;
        } else if (stat == STAT_OTHER) {
            continue;
        } else if (wire->field == STAT_UNSIGNED || wire->field == STAT_SIGNED) {
            take_number(&events->event, stat, (int64_t)wire->number);
        } else if (wire->field == STAT_TEXT) {
            take_text(events, stat);
        } else if (wire->field == STAT_SHARED_TEXT) {
            take_shared_text(events, stat, (int64_t)wire->number);
        }
    }
}

/* Picoseconds from the begin of its line; what has no time is not kept. */
static void set_times(struct events *events, int64_t offset_ps, int64_t duration_ps)
{
    struct xplane_event *event = &events->event;
    int64_t end_ps;

    if (duration_ps < 0 || __builtin_add_overflow(offset_ps, duration_ps, &end_ps)) {
        event->name = NULL;
        return;
    }
    event->start_ns = events->line.start_ns + offset_ps / 1000;
    event->end_ns = events->line.start_ns + end_ps / 1000;
}

static void read_event(struct events *events)
{
    struct wire *wire = &events->wire;
    struct xplane_event *event = &events->event;
    int64_t offset_ps = 0, duration_ps = 0;

    xplane_event_clear(event);
    while (wire_next(wire))
        if (wire->field == EVENT_NAME)
            event->name = plane_name(&events->line.plane->events, (int64_t)wire->number);
        else if (wire->field == EVENT_OFFSET)
            offset_ps = (int64_t)wire->number;
        else if (wire->field == EVENT_DURATION)
            duration_ps = (int64_t)wire->number;
        else if (wire->field == EVENT_STAT && wire_enter(wire))
            read_stat(events);
    set_times(events, offset_ps, duration_ps);
    if (!wire->wrong)
        xplane_event_add(&events->reading, &events->line, event);
}

static void read_line(struct events *events)
{
    struct wire *wire = &events->wire;

    while (wire_next(wire) && !events->reading.trace->failed) {
        if (wire->field == LINE_ID) {
            events->line_id = (int64_t)wire->number;
        } else if (wire->field == LINE_NAME && !events->is_begun) {
            wire_text(wire, events->text, sizeof events->text);
        } else if (wire->field == LINE_START) {
            events->line.start_ns = (int64_t)wire->number;
        } else if (wire->field == LINE_EVENT) {
            if (!events->is_begun)
                decide_line(events);
            if (events->line.role == LINE_OTHER)
                events->reading.trace->seen++;
            else if (wire_enter(wire))
                read_event(events);
        }
    }
}

static void read_events(struct events *events)
{
    struct wire *wire = &events->wire;
    const struct xplane_meta *meta = events->reading.meta;
    size_t at = 0;

    while (wire_next(wire) && !events->reading.trace->failed) {
        if (wire->field != SPACE_PLANE || at == meta->count)
            continue;
        struct plane *plane = &meta->planes[at++];
        if ((plane->role != PLANE_DEVICE && plane->role != PLANE_HOST) || !wire_enter(wire))
            continue;
        while (wire_next(wire)) {
            if (wire->field != PLANE_LINE || !wire_enter(wire))
                continue;
            begin_line(events, plane);
            read_line(events);
        }
    }
}

static int say_what_is_wrong(const struct wire *wire, const char *path, struct ss_error *error)
{
    const struct trace_input *input = wire->input;

    if (input->error != 0)
        return error_set(error, input->error, "cannot read '%s' at byte %" PRIu64 ": %s.", path,
                         trace_input_offset(input), input->why);
    if (wire->wrong)
        return error_set(error, SS_E_DAMAGED, "'%s' is damaged at byte %" PRIu64 "%s: %s.", path,
                         wire->wrong_offset, input->gzip ? " of the compressed file" : "",
                         wire->wrong);
    return 0;
}

static int read_twice(struct events *events, struct trace_input *input, const char *path,
                      struct ss_error *error)
{
    struct trace *trace = events->reading.trace;

    input->passes = 2;
    wire_init(&events->wire, input);
    xplane_meta_read(events->reading.meta, trace, &events->wire);
    int failed = say_what_is_wrong(&events->wire, path, error);
    if (failed || trace->failed)
        return failed;
    if (trace_input_rewind(input)) {
        wire_init(&events->wire, input);
        read_events(events);
    }
    failed = say_what_is_wrong(&events->wire, path, error);
    if (failed || trace->failed)
        return failed;
    marks_settle(&events->reading.marks, trace);
    if (trace->first_ns < since_1970_ns)
        trace->base_ns = events->reading.meta->begin_ns;
    return 0;
}

int xplane_read(struct trace *trace, struct trace_input *input, const char *path,
                struct ss_error *error)
{
    struct events *events = calloc(1, sizeof *events);
    struct xplane_meta meta = {0};

    if (!events)
        return error_set(error, SS_E_NOMEM, "%s.", ss_error_text(SS_E_NOMEM));
    events->reading = (struct xplane_reading){.trace = trace, .meta = &meta};
    int failed = read_twice(events, input, path, error);
    if (!failed && trace->failed)
        failed = error_set(error, SS_E_NOMEM, "'%s' needs too much memory.", path);
    free(events->reading.marks.items);
    xplane_meta_release(&meta);
    free(events);
    return failed;
}
