#include "import/xplane_meta.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/xplane_layer.h"
#include "read/array.h"

enum { TEXT_MOST = 4096 };

/* Fields of the messages of XPlane and HLO. */
enum { SPACE_PLANE = 1, SPACE_HOST = 4 };
enum { PLANE_NAME = 2, PLANE_EVENT = 4, PLANE_STAT_NAME = 5, PLANE_STAT = 6 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, NAMED_ID = 1, NAMED_NAME = 2, NAMED_STAT = 5 };
enum { STAT_ID = 1, STAT_UNSIGNED = 3, STAT_SIGNED = 4, STAT_BYTES = 6 };
enum { HLO_MODULE = 1, MODULE_COMPUTATION = 3, COMPUTATION_INSTRUCTION = 2 };
enum { INSTRUCTION_NAME = 1, INSTRUCTION_METADATA = 7, METADATA_OP_NAME = 2 };

struct reading {
    struct xplane_meta *meta;
    struct trace *trace;
    struct wire *wire;
    char text[TEXT_MOST];
    char name[TEXT_MOST];
};

void xplane_meta_release(struct xplane_meta *meta)
{
    for (size_t i = 0; i < meta->count; i++) {
        free(meta->planes[i].events.items);
        free(meta->planes[i].stats.items);
    }
    free(meta->planes);
    free(meta->layers);
    name_set_release(&meta->instructions);
    *meta = (struct xplane_meta){0};
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static void decide_role(struct plane *plane, const char *name)
{
    static const char device[] = "/device:GPU:";
    char *end;

    if (starts_with(name, device)) {
        plane->device = strtoll(name + strlen(device), &end, 10);
        plane->role = *end == '\0' && end > name + strlen(device) ? PLANE_DEVICE : PLANE_OTHER;
    } else if (strcmp(name, "/host:metadata") == 0) {
        plane->role = PLANE_PROGRAMS;
    } else if (starts_with(name, "/host:")) {
        plane->role = PLANE_HOST;
    } else if (strcmp(name, "Task Environment") == 0) {
        plane->role = PLANE_ENVIRONMENT;
    }
}

static enum host_event host_event(const char *name)
{
    static const struct {
        const char *start;
        enum host_event event;
    } starts[] = {
        {"ExecutorState::Process", HOST_AROUND},
        {"ThunkExecutor::Execute", HOST_AROUND},
        {"IteratorGetNextOp::DoCompute", HOST_DATA},
        {"IteratorGetNextAsOptionalOp::DoCompute", HOST_DATA},
        {"PjitFunction(", HOST_CALL},
        {"FunctionRun", HOST_RUN},
    };

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (starts_with(name, starts[i].start))
            return starts[i].event;
    return xplane_layer_is_operation(name) ? HOST_OPERATION : HOST_OTHER;
}

static enum stat stat_of(const char *name)
{
    static const struct {
        const char *name;
        enum stat stat;
    } names[] = {
        {"correlation_id", STAT_CORRELATION}, {"annotation", STAT_ANNOTATION},
        {"memcpy_details", STAT_COPY},        {"step_num", STAT_STEP},
        {"tf_function_call", STAT_FUNCTION},  {"hlo_op", STAT_HLO_OP},
        {"program_id", STAT_PROGRAM},         {"profile_start_time", STAT_BEGIN},
        {"process_id", STAT_PROCESS},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].stat;
    return STAT_OTHER;
}

static void add_name(struct reading *reading, struct plane_names *names, int64_t id, uint8_t kind)
{
    struct plane_name *items =
        array_grow(names->items, &names->capacity, sizeof *items, names->count + 1);

    reading->trace->failed |= !items;
    if (!items)
        return;
    names->items = items;
    items[names->count++] = (struct plane_name){
        .id = id,
        .name = trace_name(reading->trace, reading->name, strlen(reading->name)),
        .layer = NO_LAYER_YET,
        .kind = kind};
}

static void add_instruction(struct reading *reading, const char *program, const char *op_name)
{
    struct xplane_meta *meta = reading->meta;
    char path[TEXT_MOST], key[TEXT_MOST + 32];
    const size_t length = xplane_layer_of_source(op_name, path, sizeof path);

    if (length == 0)
        return;
    const int size = snprintf(key, sizeof key, "%s/%s", program, reading->text);
    const size_t known = meta->instructions.count;
    const uint32_t place = name_set_add(&meta->instructions, key, (size_t)size);
    if (place < known) /* the first of two computations that share a name */
        return;
    uint32_t *layers = place == NAME_SET_FULL ? NULL
                                              : array_grow(meta->layers, &meta->layer_capacity,
                                                           sizeof *layers, (size_t)place + 1);
    reading->trace->failed |= !layers;
    if (!layers)
        return;
    meta->layers = layers;
    layers[place] = trace_name(reading->trace, path, length);
}

static void read_instruction(struct reading *reading, const char *program)
{
    struct wire *wire = reading->wire;
    char op_name[TEXT_MOST] = "";

    reading->text[0] = '\0';
    while (wire_next(wire)) {
        if (wire->field == INSTRUCTION_NAME) {
            wire_text(wire, reading->text, sizeof reading->text);
        } else if (wire->field == INSTRUCTION_METADATA && wire_enter(wire)) {
            while (wire_next(wire))
                if (wire->field == METADATA_OP_NAME)
                    wire_text(wire, op_name, sizeof op_name);
        }
    }
    add_instruction(reading, program, op_name);
}

/* A program as the compiler left it; its number stands in its name, "jit_train_step(46)". */
static void read_program(struct reading *reading, const char *program)
{
    struct wire *wire = reading->wire;

    while (wire_next(wire))
        if (wire->field == HLO_MODULE && wire_enter(wire))
            while (wire_next(wire))
                if (wire->field == MODULE_COMPUTATION && wire_enter(wire))
                    while (wire_next(wire))
                        if (wire->field == COMPUTATION_INSTRUCTION && wire_enter(wire))
                            read_instruction(reading, program);
}

static void read_program_stat(struct reading *reading, int64_t id)
{
    const char *bracket = strrchr(reading->name, '(');
    char program[32];

    snprintf(program, sizeof program, "%" PRId64,
             bracket ? (int64_t)strtoll(bracket + 1, NULL, 10) : id);
    while (wire_next(reading->wire))
        if (reading->wire->field == STAT_BYTES && wire_enter(reading->wire))
            read_program(reading, program);
}

/* An entry of a map: a number, and what it stands for. */
static void read_entry(struct reading *reading, struct plane *plane, bool is_stat)
{
    struct wire *wire = reading->wire;
    int64_t id = 0;

    reading->name[0] = '\0';
    while (wire_next(wire)) {
        if (wire->field == ENTRY_KEY && wire->type == WIRE_VARINT)
            id = (int64_t)wire->number;
        if (wire->field != ENTRY_VALUE || !wire_enter(wire))
            continue;
        while (wire_next(wire))
            if (wire->field == NAMED_ID && wire->type == WIRE_VARINT)
                id = (int64_t)wire->number;
            else if (wire->field == NAMED_NAME)
                wire_text(wire, reading->name, sizeof reading->name);
            else if (wire->field == NAMED_STAT && plane->role == PLANE_PROGRAMS && wire_enter(wire))
                read_program_stat(reading, id);
    }
    if (is_stat)
        add_name(reading, &plane->stats, id, (uint8_t)stat_of(reading->name));
    else if (plane->role != PLANE_PROGRAMS)
        add_name(reading, &plane->events, id, (uint8_t)host_event(reading->name));
}

static int names_by_id(const void *a, const void *b)
{
    const struct plane_name *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static void settle(struct plane_names *names)
{
    if (names->count > 1)
        qsort(names->items, names->count, sizeof *names->items, names_by_id);
}

struct plane_name *plane_name(const struct plane_names *names, int64_t id)
{
    size_t low = 0, high = names->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (names->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < names->count && names->items[low].id == id ? &names->items[low] : NULL;
}

/* What a plane says of itself; its names have been read. */
static void read_plane_stat(struct reading *reading, struct plane *plane)
{
    struct wire *wire = reading->wire;
    int64_t id = 0, number = 0;

    while (wire_next(wire))
        if (wire->field == STAT_ID)
            id = (int64_t)wire->number;
        else if (wire->field == STAT_UNSIGNED || wire->field == STAT_SIGNED)
            number = (int64_t)wire->number;
    settle(&plane->stats);
    const struct plane_name *name = plane_name(&plane->stats, id);
    if (name && name->kind == STAT_BEGIN && plane->role == PLANE_ENVIRONMENT)
        reading->meta->begin_ns = number;
    if (name && name->kind == STAT_PROCESS && number > 0 && number < INT32_MAX)
        reading->trace->pid = number;
}

static void read_plane(struct reading *reading, struct plane *plane)
{
    struct wire *wire = reading->wire;

    while (wire_next(wire)) {
        if (wire->field == PLANE_NAME) {
            wire_text(wire, reading->text, sizeof reading->text);
            decide_role(plane, reading->text);
        }
        if (plane->role == PLANE_OTHER)
            continue;
        if ((wire->field == PLANE_EVENT || wire->field == PLANE_STAT_NAME) && wire_enter(wire))
            read_entry(reading, plane, wire->field == PLANE_STAT_NAME);
        else if (wire->field == PLANE_STAT && wire_enter(wire))
            read_plane_stat(reading, plane);
    }
    settle(&plane->events);
    settle(&plane->stats);
}

static void read_space(struct reading *reading)
{
    struct xplane_meta *meta = reading->meta;
    struct wire *wire = reading->wire;

    while (wire_next(wire) && !reading->trace->failed) {
        if (wire->field == SPACE_HOST && reading->trace->host == TRACE_NO_NAME) {
            const size_t size = wire_text(wire, reading->text, sizeof reading->text);
            reading->trace->host = trace_name(reading->trace, reading->text, size);
        }
        if (wire->field != SPACE_PLANE || !wire_enter(wire))
            continue;
        struct plane *planes =
            array_grow(meta->planes, &meta->capacity, sizeof *planes, meta->count + 1);
        reading->trace->failed |= !planes;
        if (!planes)
            return;
        meta->planes = planes;
        read_plane(reading, &planes[meta->count++]);
    }
}

void xplane_meta_read(struct xplane_meta *meta, struct trace *trace, struct wire *wire)
{
    struct reading *reading = malloc(sizeof *reading);

    trace->failed |= !reading;
    if (!reading)
        return;
    reading->meta = meta;
    reading->trace = trace;
    reading->wire = wire;
    read_space(reading);
    free(reading);
}

uint32_t xplane_meta_layer(const struct xplane_meta *meta, int64_t program, const char *name)
{
    char key[TEXT_MOST + 32];
    const int size = snprintf(key, sizeof key, "%" PRId64 "/%s", program, name);
    const uint32_t place = size > 0 && (size_t)size < sizeof key
                               ? name_set_find(&meta->instructions, key, (size_t)size)
                               : NAME_SET_FULL;

    return place == NAME_SET_FULL ? TRACE_NO_NAME : meta->layers[place];
}
