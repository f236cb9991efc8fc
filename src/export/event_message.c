#include "export/event_message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void event_begin(struct event *event, int64_t wall_ns, int64_t step)
{
    for (size_t i = 0; i < event->count; i++) {
        free(event->values[i].text);
        free(event->values[i].bars);
        free(event->values[i].hparams);
    }
    event->count = 0;
    event->failed = false;
    event->wall_ns = wall_ns;
    event->step = step;
}

void event_release(struct event *event)
{
    event_begin(event, 0, 0);
    free(event->values);
    *event = (struct event){0};
}

static bool make_room(struct event *event)
{
    if (event->count < event->capacity)
        return true;
    const size_t capacity = event->capacity ? 2 * event->capacity : 32;
    struct event_value *grown = realloc(event->values, capacity * sizeof *grown);
    if (grown) {
        event->values = grown;
        event->capacity = capacity;
    }
    return grown != NULL;
}

static struct event_value *add(struct event *event, const char *section, const char *name)
{
    struct buf tag = {0};
    struct event_value *value = NULL;

    buf_printf(&tag, "%s/", section);
    text_safe(&tag, name, strlen(name));
    if (!tag.failed && make_room(event)) {
        value = &event->values[event->count++];
        *value = (struct event_value){0};
        memcpy(value->tag, tag.data, utf8_cut(tag.data, sizeof value->tag - 1));
    }
    event->failed = event->failed || !value;
    buf_release(&tag);
    return value;
}

/* Takes the value back if there was no memory for all of it. */
static struct event_value *keep_if(struct event *event, struct event_value *value, const void *part)
{
    if (!value || part)
        return value;
    event->count--;
    event->failed = true;
    return NULL;
}

struct event_value *event_scalar(struct event *event, const char *section, const char *name,
                                 double number)
{
    struct event_value *value = add(event, section, name);

    if (value)
        value->scalar = number;
    return value;
}

struct event_value *event_text(struct event *event, const char *section, const char *name,
                               const char *text)
{
    struct event_value *value = add(event, section, name);

    if (value)
        value->text = strdup(text);
    return keep_if(event, value, value ? value->text : NULL);
}

struct event_value *event_bars(struct event *event, const char *section, const char *name,
                               const struct sketch *sketch, double unit_ns)
{
    struct sketch_bar bars[EVENT_BARS_MOST];
    struct event_value *value = add(event, section, name);

    if (!value)
        return NULL;
    value->bar_count = sketch_bars(sketch, bars, EVENT_BARS_MOST);
    value->bars = malloc((3 * value->bar_count + 1) * sizeof *value->bars);
    for (size_t i = 0; value->bars && i < value->bar_count; i++) {
        value->bars[3 * i] = bars[i].low_ns / unit_ns;
        value->bars[3 * i + 1] = bars[i].high_ns / unit_ns;
        value->bars[3 * i + 2] = (double)bars[i].count;
    }
    return keep_if(event, value, value->bars);
}

struct event_value *event_hparams(struct event *event, const struct event_hparam *hparams,
                                  size_t count, int64_t begin_ns)
{
    struct event_value *value = add(event, "_hparams_", "session_start_info");

    if (!value)
        return NULL;
    value->hparam_count = count < EVENT_HPARAMS_MOST ? count : EVENT_HPARAMS_MOST;
    value->hparams = calloc(EVENT_HPARAMS_MOST, sizeof *value->hparams);
    value->begin_ns = begin_ns;
    if (value->hparams)
        memcpy(value->hparams, hparams, value->hparam_count * sizeof *hparams);
    return keep_if(event, value, value->hparams);
}
