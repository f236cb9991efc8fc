#include "import/kineto_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import/device_words.h"

void kineto_event_clear(struct kineto_event *event)
{
    memset(event, 0, offsetof(struct kineto_event, collective));
    event->correlation = event->device = event->bytes = event->elements = event->group = -1;
    event->collective[0] = event->dtype[0] = event->name[0] = '\0';
}

enum kineto_category kineto_category(const char *text)
{
    static const struct {
        const char *text;
        enum kineto_category category;
    } words[] = {
        {"cpu_op", KINETO_OPERATION},        {"operator", KINETO_OPERATION},
        {"python_function", KINETO_PYTHON},  {"cuda_runtime", KINETO_CALL},
        {"cuda_driver", KINETO_CALL},        {"runtime", KINETO_CALL},
        {"kernel", KINETO_KERNEL},           {"user_annotation", KINETO_ANNOTATION},
        {"gpu_memcpy", KINETO_COPY},         {"memcpy", KINETO_COPY},
        {"gpu_memset", KINETO_SET},          {"memset", KINETO_SET},
        {"xpu_runtime", KINETO_CALL},        {"xpu_driver", KINETO_CALL},
        {"mtia_runtime", KINETO_CALL},       {"privateuse1_runtime", KINETO_CALL},
        {"privateuse1_driver", KINETO_CALL},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i].text, text) == 0)
            return words[i].category;
    return KINETO_OTHER;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static void add_device_event(struct trace *trace, const struct kineto_event *event)
{
    struct device_event item = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .correlation = event->correlation > 0 ? (uint64_t)event->correlation : 0,
        .bytes = event->bytes > 0 ? (uint64_t)event->bytes : 0,
        .name = trace_name(trace, event->name, strlen(event->name)),
        .device = trace_device(trace, event->device >= 0 ? event->device : (int64_t)event->pid),
        .activity = event->category == KINETO_COPY  ? ACTIVITY_COPY
                    : event->category == KINETO_SET ? ACTIVITY_SET
                    : event->collective[0] || device_word_is_collective(event->name)
                        ? ACTIVITY_COMM
                        : ACTIVITY_KERNEL,
        .route = device_word_route(event->name),
    };

    if (item.activity == ACTIVITY_COMM) {
        char text[200];
        item.elements = event->elements < 0 ? 0 : event->elements;
        item.ranks = event->group < 0 ? 0 : event->group;
        snprintf(text, sizeof text, "%s of %lld %s, %lld ranks", event->collective,
                 (long long)item.elements, event->dtype, (long long)item.ranks);
        item.collective = event->collective[0] ? trace_name(trace, text, strlen(text)) : item.name;
    }
    trace_add_event(trace, &item);
}

static struct host_span span_of(struct trace *trace, const struct kineto_event *event,
                                enum ss_stage stage)
{
    return (struct host_span){
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .name = trace_name(trace, event->name, strlen(event->name)),
        .thread = trace_thread(trace, event->pid, event->tid),
        .stage = (uint8_t)stage,
    };
}

static void add_call(struct trace *trace, const struct kineto_event *event)
{
    const struct device_call call = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .correlation = event->correlation > 0 ? (uint64_t)event->correlation : 0,
        .thread = trace_thread(trace, event->pid, event->tid),
        .kind = device_word_call(event->name),
    };

    trace_add_call(trace, &call);
    if (call.kind == CALL_SYNC) {
        const struct host_span span = span_of(trace, event, SS_STAGE_SYNC);
        trace_add_operation(trace, &span);
    }
}

/* "CudnnConvolutionBackward", "MulBackward0", "torch::autograd::AccumulateGrad". */
static bool is_backward_name(const char *name)
{
    size_t length = strlen(name);

    if (starts_with(name, "autograd::engine::evaluate_function") ||
        starts_with(name, "torch::autograd::"))
        return true;
    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    return length > 8 && strncmp(name + length - 8, "Backward", 8) == 0;
}

/* What a user, or a library, calls a part of a step: "## forward ##", "Optimizer.step#SGD.step". */
static enum ss_stage stage_of(const char *name)
{
    static const struct {
        const char *word;
        enum ss_stage stage;
    } words[] = {
        {"data", SS_STAGE_DATA},
        {"dataloader", SS_STAGE_DATA},
        {"data_loading", SS_STAGE_DATA},
        {"forward", SS_STAGE_FORWARD},
        {"backward", SS_STAGE_BACKWARD},
        {"optimizer", SS_STAGE_OPTIMIZER},
        {"optimizer_step", SS_STAGE_OPTIMIZER},
        {"evaluation", SS_STAGE_EVAL},
        {"validation", SS_STAGE_EVAL},
        {"checkpoint", SS_STAGE_CHECKPOINT},
    };
    char word[32];
    size_t length = 0;

    if (starts_with(name, "enumerate(DataLoader)"))
        return SS_STAGE_DATA;
    if (starts_with(name, "Optimizer."))
        return SS_STAGE_OPTIMIZER;
    if (strcmp(name, "DistributedDataParallel.forward") == 0)
        return SS_STAGE_FORWARD;
    if (starts_with(name, "nccl:") || starts_with(name, "gloo:") || starts_with(name, "c10d::"))
        return SS_STAGE_COMM;
    for (; *name && length < sizeof word - 1; name++)
        if (*name != '#' && *name != ' ' && *name != '[' && *name != ']')
            word[length++] = *name == '-' ? '_' : *name;
    word[length] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i].word, word) == 0)
            return words[i].stage;
    return SS_STAGE_OTHER;
}

void kineto_event_meaning(const char *name, enum ss_stage *stage, bool *is_backward)
{
    *stage = stage_of(name);
    *is_backward = is_backward_name(name);
}

static bool add_step(struct trace *trace, const struct kineto_event *event)
{
    static const char start[] = "ProfilerStep#";
    char *end;

    if (!starts_with(event->name, start))
        return false;
    const long long number = strtoll(event->name + strlen(start), &end, 10);
    if (*end != '\0' || number < 0)
        return false;
    const struct trace_step step = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .number = number,
        .thread = trace_thread(trace, event->pid, event->tid),
    };
    trace_add_step(trace, &step);
    if (trace->pid < 0 && event->pid < INT32_MAX)
        trace->pid = (int64_t)event->pid;
    return true;
}

/* An operation; before there was a category of their own, a name that a user gave too, which has
 * none of the marks of an operation. */
static void add_host_span(struct trace *trace, const struct kineto_event *event)
{
    if (add_step(trace, event))
        return;
    const bool backward = is_backward_name(event->name);
    const bool named =
        event->category == KINETO_ANNOTATION || (!backward && !strstr(event->name, "::"));
    struct host_span span = span_of(trace, event, stage_of(event->name));
    span.is_backward = backward;
    if (named && span.stage == SS_STAGE_OTHER)
        trace_add_note(trace, &span);
    else
        trace_add_operation(trace, &span);
}

static void add_layer(struct trace *trace, const struct kineto_event *event)
{
    static const char start[] = "nn.Module: ";

    if (!starts_with(event->name, start))
        return;
    struct host_span span = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns + event->duration_ns,
        .name = trace_name(trace, event->name + strlen(start), strlen(event->name + strlen(start))),
        .thread = trace_thread(trace, event->pid, event->tid),
    };
    trace_add_layer(trace, &span);
}

void kineto_event_add(struct trace *trace, const struct kineto_event *event)
{
    trace->seen++;
    /* No clock says more than a century. */
    if (event->ph != 'X' || !event->has_time || !event->has_duration || event->duration_ns < 0 ||
        event->duration_ns > INT64_MAX / 4)
        return;
    switch (event->category) {
    case KINETO_KERNEL:
    case KINETO_COPY:
    case KINETO_SET:
        add_device_event(trace, event);
        break;
    case KINETO_CALL:
        add_call(trace, event);
        break;
    case KINETO_OPERATION:
    case KINETO_ANNOTATION:
        add_host_span(trace, event);
        break;
    case KINETO_PYTHON:
        add_layer(trace, event);
        break;
    case KINETO_OTHER:
        break;
    }
}
