/* The one file that knows protobuf: from an event to its bytes, with nanopb. */
#include "export/event_message.h"

#ifdef SS_NANOPB

#include <pb_encode.h>
#include <stdlib.h>
#include <tensorboard.pb.h>

enum { COLUMNS = 3 }; /* of a histogram: left, right, count */

static bool put(pb_ostream_t *stream, const uint8_t *bytes, size_t size)
{
    struct buf *out = stream->state;

    buf_add(out, bytes, size);
    return !out->failed;
}

static void encode(const tensorboard_Event *message, struct buf *out)
{
    pb_ostream_t stream = {.callback = put, .state = out, .max_size = SIZE_MAX};

    if (!pb_encode(&stream, tensorboard_Event_fields, message))
        out->failed = true;
}

/* nanopb reads what it is given, and still wants pointers that could write. */
static char *borrowed(const char *text)
{
    return (char *)(uintptr_t)text;
}

static void set_plugin(tensorboard_SummaryValue *out, const char *plugin)
{
    out->has_metadata = out->metadata.has_plugin_data = true;
    out->metadata.plugin_data.plugin_name = borrowed(plugin);
    out->metadata.has_data_class = true;
    out->metadata.data_class = tensorboard_DataClass_DATA_CLASS_TENSOR;
    out->has_tensor = out->tensor.has_dtype = out->tensor.has_tensor_shape = true;
}

static void set_text(tensorboard_SummaryValue *out, const struct event_value *value)
{
    set_plugin(out, "text");
    out->tensor.dtype = tensorboard_DataType_DT_STRING;
    out->tensor.string_val = value->text;
}

static void set_bars(tensorboard_SummaryValue *out, const struct event_value *value,
                     tensorboard_Dimension shape[2])
{
    set_plugin(out, "histograms");
    shape[0] = (tensorboard_Dimension){true, (int64_t)value->bar_count};
    shape[1] = (tensorboard_Dimension){true, COLUMNS};
    out->tensor.dtype = tensorboard_DataType_DT_DOUBLE;
    out->tensor.tensor_shape.dim = shape;
    out->tensor.tensor_shape.dim_count = 2;
    out->tensor.double_val = value->bars;
    out->tensor.double_val_count = (pb_size_t)(COLUMNS * value->bar_count);
}

/* With an empty tensor: what it says is in the metadata. */
static void set_hparams(tensorboard_SummaryValue *out, const struct event_value *value,
                        tensorboard_Dimension shape[2],
                        tensorboard_HParam cells[EVENT_HPARAMS_MOST])
{
    tensorboard_PluginData *plugin = &out->metadata.plugin_data;
    tensorboard_SessionStart *start = &plugin->content.session_start_info;

    set_plugin(out, "hparams");
    shape[0] = (tensorboard_Dimension){true, 0};
    out->tensor.dtype = tensorboard_DataType_DT_FLOAT;
    out->tensor.tensor_shape.dim = shape;
    out->tensor.tensor_shape.dim_count = 1;
    plugin->has_content = plugin->content.has_session_start_info = true;
    start->has_start_time_secs = true;
    start->start_time_secs = (double)value->begin_ns * 1e-9;
    start->hparams = cells;
    start->hparams_count = (pb_size_t)value->hparam_count;
    for (size_t i = 0; i < value->hparam_count; i++) {
        const struct event_hparam *hparam = &value->hparams[i];
        cells[i] = (tensorboard_HParam)tensorboard_HParam_init_zero;
        cells[i].key = borrowed(hparam->key);
        cells[i].has_value = true;
        if (hparam->text[0])
            cells[i].value.string_value = borrowed(hparam->text);
        cells[i].value.has_number_value = !hparam->text[0];
        cells[i].value.number_value = hparam->number;
    }
}

/* `shape` is for a histogram, `cells` for a row of the table of runs: both live until it is
 * written. */
static void set_value(tensorboard_SummaryValue *out, const struct event_value *value,
                      tensorboard_Dimension shape[2], tensorboard_HParam *cells)
{
    *out = (tensorboard_SummaryValue)tensorboard_SummaryValue_init_zero;
    out->tag = borrowed(value->tag);
    if (value->text) {
        set_text(out, value);
    } else if (value->bars) {
        set_bars(out, value, shape);
    } else if (value->hparams) {
        set_hparams(out, value, shape, cells);
    } else {
        out->has_simple_value = true;
        out->simple_value = (float)value->scalar;
    }
    if (value->description) {
        out->has_metadata = true;
        out->metadata.summary_description = borrowed(value->description);
    }
}

bool event_can_encode(void)
{
    return true;
}

void event_encode(const struct event *event, struct buf *out)
{
    tensorboard_SummaryValue *values = calloc(event->count + 1, sizeof *values);
    tensorboard_Dimension(*shapes)[2] = calloc(event->count + 1, sizeof *shapes);
    tensorboard_HParam cells[EVENT_HPARAMS_MOST];
    tensorboard_Event message = tensorboard_Event_init_zero;

    if (values && shapes) {
        for (size_t i = 0; i < event->count; i++)
            set_value(&values[i], &event->values[i], shapes[i], cells);
        message.has_wall_time = message.has_step = message.has_summary = true;
        message.wall_time = (double)event->wall_ns * 1e-9;
        message.step = event->step;
        message.summary.value = values;
        message.summary.value_count = (pb_size_t)event->count;
        encode(&message, out);
    } else {
        out->failed = true;
    }
    free(shapes);
    free(values);
}

void event_encode_version(int64_t wall_ns, struct buf *out)
{
    tensorboard_Event message = tensorboard_Event_init_zero;

    message.has_wall_time = message.has_source_metadata = true;
    message.wall_time = (double)wall_ns * 1e-9;
    message.file_version = borrowed("brain.Event:2");
    message.source_metadata.writer = borrowed("stepscope");
    encode(&message, out);
}

#else

bool event_can_encode(void)
{
    return false;
}

void event_encode(const struct event *event, struct buf *out)
{
    (void)event;
    out->failed = true;
}

void event_encode_version(int64_t wall_ns, struct buf *out)
{
    (void)wall_ns;
    out->failed = true;
}

#endif
