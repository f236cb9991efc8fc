/* What an XPlane file says once of all its events: planes, and the names behind their numbers. In
 * each plane the events stand before the names that they need: so a file is read twice, and this is
 * what is kept of the first time. */
#ifndef IMPORT_XPLANE_META_H
#define IMPORT_XPLANE_META_H

#include "import/trace.h"
#include "import/wire_pull.h"

enum plane_role {
    PLANE_OTHER, /* its events are of no use */
    PLANE_HOST,
    PLANE_DEVICE,
    PLANE_PROGRAMS,   /* compiled programs, with the source of each instruction */
    PLANE_ENVIRONMENT /* when the trace began */
};

/* What a name of an event means on a host. */
enum host_event {
    HOST_OTHER,
    HOST_OPERATION, /* "scope/of/node:OpType" */
    HOST_AROUND,    /* an executor, around operations */
    HOST_DATA,      /* waits for a batch */
    HOST_CALL,      /* of a compiled function */
    HOST_RUN        /* the same, without the name of the function */
};

/* What a name of a value means. */
enum stat {
    STAT_OTHER,
    STAT_CORRELATION,
    STAT_ANNOTATION, /* of a kernel: the operation that launched it */
    STAT_COPY,       /* "size:4 dest:0 async:1" */
    STAT_STEP,
    STAT_FUNCTION, /* the event is a call of a function that may be compiled */
    STAT_HLO_OP,
    STAT_PROGRAM,
    STAT_BEGIN,
    STAT_PROCESS
};

#define NO_LAYER_YET UINT32_MAX

struct plane_name {
    int64_t id;
    uint32_t name;  /* of the trace */
    uint32_t layer; /* that it names, NO_LAYER_YET */
    uint8_t kind;   /* enum host_event, enum stat */
};

struct plane_names {
    struct plane_name *items; /* by id */
    size_t count, capacity;
};

struct plane {
    enum plane_role role;
    int64_t device;
    struct plane_names events, stats;
};

struct xplane_meta {
    struct plane *planes; /* as they stand in the file */
    size_t count, capacity;
    struct name_set instructions; /* "PROGRAM/instruction" */
    uint32_t *layers;             /* of these */
    size_t layer_capacity;
    int64_t begin_ns; /* since 1970; 0: not known */
};

void xplane_meta_release(struct xplane_meta *meta);

/* The first reading of the file. What is wrong is in `wire`; `trace` gets names, host, process. */
void xplane_meta_read(struct xplane_meta *meta, struct trace *trace, struct wire *wire);

/* NULL: the file does not say. */
struct plane_name *plane_name(const struct plane_names *names, int64_t id);

/* The layer of an instruction of a compiled program; TRACE_NO_NAME: none, or not known. */
uint32_t xplane_meta_layer(const struct xplane_meta *meta, int64_t program, const char *name);

#endif
