/* One event of TensorBoard: values under tags, at a time and a step; as the bytes that it reads
 * (proto/tensorboard.proto).
 *
 *   event_begin ─► event_scalar, event_text, event_bars, event_hparams ─► event_encode
 *
 * Tags and texts may hold any bytes: they are made safe here. When memory runs out, `failed` is set
 * and nothing more is added. {0} is an empty event. */
#ifndef EXPORT_EVENT_MESSAGE_H
#define EXPORT_EVENT_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "stats/sketch.h"

enum { EVENT_TAG_SIZE = 160, EVENT_BARS_MOST = 48 };

/* A cell of the table of runs: its column, and a text or a number. */
enum { EVENT_HPARAMS_MOST = 8, EVENT_HPARAM_SIZE = 96 };
struct event_hparam {
    const char *key;
    char text[EVENT_HPARAM_SIZE]; /* "": a number */
    double number;
};

struct event_value {
    char tag[EVENT_TAG_SIZE];
    const char *description; /* what it is, for people; NULL: said before */
    double scalar;
    char *text;   /* NULL: not a text */
    double *bars; /* NULL: no histogram; else `bar_count` times left, right, count */
    size_t bar_count;
    struct event_hparam *hparams; /* NULL: no row of the table of runs */
    size_t hparam_count;
    int64_t begin_ns; /* of the run, since 1970 */
};

struct event {
    int64_t wall_ns; /* since 1970 */
    int64_t step;
    struct event_value *values;
    size_t count, capacity;
    bool failed;
};

/* False if this build has no encoder (nanopb). */
bool event_can_encode(void);

/* Empties it. */
void event_begin(struct event *event, int64_t wall_ns, int64_t step);
void event_release(struct event *event);

/* Adds a value under SECTION/NAME. Which characters TensorBoard takes in a tag is its own affair;
 * what is not text becomes U+FFFD, and a long one is cut. NULL without memory. */
struct event_value *event_scalar(struct event *event, const char *section, const char *name,
                                 double value);
struct event_value *event_text(struct event *event, const char *section, const char *name,
                               const char *text);
struct event_value *event_bars(struct event *event, const char *section, const char *name,
                               const struct sketch *sketch, double unit_ns);

/* The row of the run in the table of the plugin hparams, at most one in an event. */
struct event_value *event_hparams(struct event *event, const struct event_hparam *hparams,
                                  size_t count, int64_t begin_ns);

/* Appends the bytes of the event, or of the one that every file begins with. */
void event_encode(const struct event *event, struct buf *out);
void event_encode_version(int64_t wall_ns, struct buf *out);

#endif
