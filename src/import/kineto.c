#include "import/kineto.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/json_pull.h"
#include "import/kineto_event.h"

/* A number with an exponent, as json.dumps writes very small ones. */
static bool parse_exponent(const char *text, int64_t *ns)
{
    char *end;
    const double value = strtod(text, &end) * 1000;

    if (end == text || *end || !(fabs(value) < (double)(INT64_MAX / 4)))
        return false;
    *ns = (int64_t)value;
    return true;
}

/* "1419247332972.313" microseconds, as whole nanoseconds: a double has not enough digits. */
static bool parse_us(const char *text, int64_t *ns)
{
    const char *whole = text;
    const bool negative = *text == '-';
    int64_t value = 0;
    int decimals = -1;

    for (text += negative; *text; text++) {
        if (*text == '.' && decimals < 0) {
            decimals = 0;
        } else if (*text >= '0' && *text <= '9') {
            if (decimals == 3)
                continue;
            if (value > (INT64_MAX / 4 - 9) / 10)
                return false;
            value = value * 10 + (*text - '0');
            decimals += decimals >= 0;
        } else {
            return parse_exponent(whole, ns);
        }
    }
    for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; decimals++) {
        if (value > INT64_MAX / 40)
            return false;
        value *= 10;
    }
    *ns = negative ? -value : value;
    return true;
}

static void copy_text(const struct pull *pull, char *out, size_t size)
{
    const size_t length = pull->size < size - 1 ? pull->size : size - 1;

    memcpy(out, pull->text, length);
    out[length] = '\0';
}

/* pid and tid are numbers, or words: "25738", "stream 7". */
static uint64_t parse_place(const struct pull *pull)
{
    char *end;
    const uint64_t number = strtoull(pull->text, &end, 10);
    uint64_t hash = 0xcbf29ce484222325u;

    if (pull->size > 0 && *end == '\0')
        return number;
    for (size_t i = 0; i < pull->size; i++)
        hash = (hash ^ (uint8_t)pull->text[i]) * 0x100000001b3u;
    return hash | UINT64_C(1) << 63;
}

static void take_argument(const struct pull *pull, const char *key, struct kineto_event *event)
{
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {
        {"correlation", &event->correlation},
        {"device", &event->device},
        {"bytes", &event->bytes},
        {"In msg nelems", &event->elements},
        {"Group size", &event->group},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            *numbers[i].number = strtoll(pull->text, NULL, 10);
    if (strcmp(key, "Collective name") == 0)
        copy_text(pull, event->collective, sizeof event->collective);
    else if (strcmp(key, "dtype") == 0)
        copy_text(pull, event->dtype, sizeof event->dtype);
}

/* Whether a key of "args" may be one of those above: most are not, and pass unread. */
static bool is_wanted(const struct pull *pull)
{
    static const char *const keys[] = {"correlation", "device",          "bytes", "In msg nelems",
                                       "Group size",  "Collective name", "dtype"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (pull->text[0] == keys[i][0] && pull_is(pull, keys[i]))
            return true;
    return false;
}

static bool take_arguments(struct pull *pull, struct kineto_event *event)
{
    enum pull_token token = pull_next(pull);
    char key[32];

    if (token != PULL_BEGIN_OBJECT)
        return pull_leave(pull, token);
    while ((token = pull_next(pull)) == PULL_KEY) {
        if (!is_wanted(pull)) {
            if (!pull_skip(pull))
                return false;
            continue;
        }
        copy_text(pull, key, sizeof key);
        token = pull_next(pull);
        if (token == PULL_WORD || token == PULL_STRING)
            take_argument(pull, key, event);
        if (!pull_leave(pull, token))
            return false;
    }
    return token == PULL_END_OBJECT;
}

/* A field of an event but "args"; the token is its value. */
static void take_field(const struct pull *pull, const char *key, struct kineto_event *event)
{
    if (strcmp(key, "ph") == 0)
        event->ph = pull->size == 1 ? pull->text[0] : '?';
    else if (strcmp(key, "cat") == 0)
        event->category = kineto_category(pull->text);
    else if (strcmp(key, "name") == 0)
        copy_text(pull, event->name, sizeof event->name);
    else if (strcmp(key, "pid") == 0)
        event->pid = parse_place(pull);
    else if (strcmp(key, "tid") == 0)
        event->tid = parse_place(pull);
    else if (strcmp(key, "ts") == 0)
        event->has_time = parse_us(pull->text, &event->start_ns);
    else if (strcmp(key, "dur") == 0)
        event->has_duration = parse_us(pull->text, &event->duration_ns);
}

/* The arguments of what the host did, the largest part of most traces, say nothing that a run
 * needs; they follow the category. */
static bool has_no_use(const struct kineto_event *event)
{
    return event->category == KINETO_OPERATION || event->category == KINETO_ANNOTATION ||
           event->category == KINETO_PYTHON;
}

static bool take_event(struct pull *pull, struct kineto_event *event)
{
    enum pull_token token;
    char key[16];

    kineto_event_clear(event);
    while ((token = pull_next(pull)) == PULL_KEY) {
        if (pull_is(pull, "args")) {
            if (has_no_use(event) ? !pull_skip(pull) : !take_arguments(pull, event))
                return false;
            continue;
        }
        copy_text(pull, key, sizeof key);
        token = pull_next(pull);
        if (token == PULL_STRING || token == PULL_WORD)
            take_field(pull, key, event);
        if (!pull_leave(pull, token))
            return false;
        if (event->ph != '\0' && event->ph != 'X') /* the rest of a flow, a mark, a counter */
            return pull_leave(pull, PULL_BEGIN_OBJECT);
    }
    return token == PULL_END_OBJECT;
}

/* What follows "traceEvents": its bracket has been read. */
static bool take_events(struct trace *trace, struct pull *pull, struct kineto_event *event)
{
    enum pull_token token;

    while ((token = pull_next(pull)) == PULL_BEGIN_OBJECT && !trace->failed) {
        if (!take_event(pull, event))
            return false;
        if (trace->watch)
            trace->watch(trace->watch_context, trace, event);
        else
            kineto_event_add(trace, event);
    }
    return token == PULL_END_ARRAY;
}

static bool take_distributed(struct trace *trace, struct pull *pull)
{
    enum pull_token token = pull_next(pull);

    if (token != PULL_BEGIN_OBJECT)
        return pull_leave(pull, token);
    while ((token = pull_next(pull)) == PULL_KEY) {
        int64_t *number = pull_is(pull, "rank")         ? &trace->rank
                          : pull_is(pull, "world_size") ? &trace->world
                                                        : NULL;
        token = pull_next(pull);
        if (number && token == PULL_WORD)
            *number = strtoll(pull->text, NULL, 10);
        if (!pull_leave(pull, token))
            return false;
    }
    return token == PULL_END_OBJECT;
}

static bool take_device(struct trace *trace, struct pull *pull)
{
    enum pull_token token;
    int64_t id = -1;
    uint32_t name = TRACE_NO_NAME;

    while ((token = pull_next(pull)) == PULL_KEY) {
        const bool is_id = pull_is(pull, "id"), is_name = pull_is(pull, "name");
        token = pull_next(pull);
        if (is_id && token == PULL_WORD)
            id = strtoll(pull->text, NULL, 10);
        else if (is_name && token == PULL_STRING)
            name = trace_name(trace, pull->text, pull->size);
        if (!pull_leave(pull, token))
            return false;
    }
    if (id >= 0) {
        const uint16_t device = trace_device(trace, id); /* which may move trace->devices */
        if (!trace->failed)
            trace->devices[device].name = name;
    }
    return token == PULL_END_OBJECT;
}

static bool take_devices(struct trace *trace, struct pull *pull)
{
    enum pull_token token = pull_next(pull);

    if (token != PULL_BEGIN_ARRAY)
        return pull_leave(pull, token);
    while ((token = pull_next(pull)) == PULL_BEGIN_OBJECT)
        if (!take_device(trace, pull))
            return false;
    return token == PULL_END_ARRAY;
}

/* The object at the top. What is said of the trace stands before its events, or behind them. */
static bool take_trace(struct trace *trace, struct pull *pull, struct kineto_event *event,
                       bool *has_events)
{
    enum pull_token token;

    while ((token = pull_next(pull)) == PULL_KEY) {
        bool good;
        if (pull_is(pull, "traceEvents")) {
            token = pull_next(pull);
            *has_events = token == PULL_BEGIN_ARRAY;
            good = *has_events ? take_events(trace, pull, event) : pull_leave(pull, token);
        } else if (pull_is(pull, "deviceProperties")) {
            good = take_devices(trace, pull);
        } else if (pull_is(pull, "distributedInfo")) {
            good = take_distributed(trace, pull);
        } else if (pull_is(pull, "baseTimeNanoseconds")) {
            good = pull_next(pull) == PULL_WORD;
            trace->base_ns = good ? strtoll(pull->text, NULL, 10) : 0;
        } else {
            good = pull_skip(pull);
        }
        if (!good)
            return false;
    }
    return token == PULL_END_OBJECT && pull_next(pull) == PULL_END;
}

static int say_what_is_wrong(const struct pull *pull, const char *path, struct ss_error *error)
{
    const struct trace_input *input = pull->input;

    if (input->error != 0)
        return error_set(error, input->error, "cannot read '%s' at byte %" PRIu64 ": %s.", path,
                         trace_input_offset(input), input->why);
    return error_set(error, SS_E_DAMAGED, "'%s' is damaged at byte %" PRIu64 "%s: %s.", path,
                     pull->wrong ? pull->wrong_offset : trace_input_offset(input),
                     input->gzip ? " of the compressed file" : "",
                     pull->wrong ? pull->wrong : "value of the wrong type");
}

int kineto_read(struct trace *trace, struct trace_input *input, const char *path,
                struct ss_error *error)
{
    struct {
        struct pull pull;
        struct kineto_event event;
    } *own = malloc(sizeof *own);
    bool has_events = false, good;

    if (!own)
        return error_set(error, SS_E_NOMEM, "%s.", ss_error_text(SS_E_NOMEM));
    pull_init(&own->pull, input);
    const enum pull_token token = pull_next(&own->pull);
    if (token == PULL_BEGIN_ARRAY) { /* the other form of Chrome: events only */
        has_events = true;
        good = take_events(trace, &own->pull, &own->event) && pull_next(&own->pull) == PULL_END;
    } else {
        good =
            token == PULL_BEGIN_OBJECT && take_trace(trace, &own->pull, &own->event, &has_events);
    }
    int failed = trace->failed ? error_set(error, SS_E_NOMEM, "'%s' needs too much memory.", path)
                 : !good       ? say_what_is_wrong(&own->pull, path, error)
                 : !has_events
                     ? error_set(error, SS_E_INVALID,
                                 "'%s' is JSON without \"traceEvents\": not a trace.", path)
                     : 0;
    free(own);
    return failed;
}
