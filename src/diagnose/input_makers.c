#include "diagnose/input_makers.h"

#include <math.h>

#include "summary/snapshot.h"

/* What takes this part of the wait for batches is its reason: most of it. */
static const double reason_part = 0.5;

/* The span of a stage that takes most; NULL: none was seen. */
static const struct snap_span *largest(const struct diagnosis_input *input, unsigned stage)
{
    for (size_t i = 0; i < input->snapshot->span_count; i++)
        if (input->snapshot->spans[i].stage == stage)
            return &input->snapshot->spans[i];
    return NULL;
}

const struct snap_span *input_producer(const struct diagnosis_input *input)
{
    return largest(input, SS_STAGE_PRODUCE);
}

const struct snap_span *input_maker(const struct diagnosis_input *input)
{
    const struct snap_span *made = input_producer(input);

    return made || !is_on_torch(input->loader) ? made : largest(input, SS_STAGE_DATA);
}

double input_at_a_time(const struct diagnosis_input *input, const struct snap_span *made)
{
    return input->loop->wall_ns > 0 ? (double)made->total_ns / (double)input->loop->wall_ns : 0;
}

enum input_reason input_reason(const struct diagnosis_input *input)
{
    const struct snap_input *batches = &input->snapshot->input;
    const double wait = (double)batches->wait_ns;

    if (batches->batches < INPUT_BATCHES_LEAST || !(wait > 0))
        return FOR_NOBODY;
    if ((double)batches->turn_ns >= reason_part * wait)
        return FOR_ITS_TURN;
    return (double)batches->making_ns >= reason_part * wait ? FOR_MAKING : FOR_HANDOVER;
}

double input_hand_over_ns(const struct diagnosis_input *input)
{
    const struct snap_input *batches = &input->snapshot->input;

    if (batches->batches < INPUT_BATCHES_LEAST)
        return NAN;
    return fmax(0, (double)(batches->wait_ns - batches->making_ns) / (double)batches->batches);
}
