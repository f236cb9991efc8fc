/* A training loop in C that records itself: a loader, a model, an optimizer, a callback. The model
 * fits a line to noisy points, so that there is something to train; see
 * include/stepscope/recorder.h.
 *
 *     loop [DIRECTORY [STEPS]]
 *
 * Without a directory it records only under `stepscope run` (STEPSCOPE_RUN). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stepscope/recorder.h"

enum { BATCH = 256, DEFAULT_STEPS = 300, STEPS_PER_EPOCH = 100 };

static struct {
    ss_name loop, data, forward, backward, update, log, eval, loss;
} names;

struct model {
    double slope, offset;
    double slope_gradient, offset_gradient;
    double x[BATCH], y[BATCH], error[BATCH];
};

static ss_name name(const char *text, enum ss_stage stage)
{
    return ss_intern(text, stage, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
}

static void intern_names(void)
{
    names.loop = ss_intern("fit", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, NULL);
    names.data = name("next_batch", SS_STAGE_DATA);
    names.forward = name("forward", SS_STAGE_FORWARD);
    names.backward = name("backward", SS_STAGE_BACKWARD);
    names.update = ss_intern("step", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, SS_SCOPE_NONE, "SGD");
    names.log =
        ss_intern("on_batch_end", SS_STAGE_CALLBACK, SS_ROLE_NONE, SS_SCOPE_BATCH_END, "PrintLoss");
    names.eval = name("evaluate", SS_STAGE_EVAL);
    names.loss = name("loss", SS_STAGE_USER);
}

static double uniform(void)
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 33) / 2147483648.0;
}

static void next_batch(struct model *m)
{
    for (int i = 0; i < BATCH; i++) {
        m->x[i] = 2 * uniform() - 1;
        m->y[i] = 3 * m->x[i] + 1 + 0.1 * (uniform() - 0.5);
    }
}

static double forward(struct model *m)
{
    double loss = 0;
    for (int i = 0; i < BATCH; i++) {
        m->error[i] = m->slope * m->x[i] + m->offset - m->y[i];
        loss += m->error[i] * m->error[i];
    }
    return loss / BATCH;
}

static void backward(struct model *m)
{
    m->slope_gradient = m->offset_gradient = 0;
    for (int i = 0; i < BATCH; i++) {
        m->slope_gradient += 2 * m->error[i] * m->x[i] / BATCH;
        m->offset_gradient += 2 * m->error[i] / BATCH;
    }
}

static void update(struct model *m)
{
    m->slope -= 0.1 * m->slope_gradient;
    m->offset -= 0.1 * m->offset_gradient;
}

static double train_step(struct model *m)
{
    ss_begin(names.data, 0);
    next_batch(m);
    ss_switch(names.forward, SS_FLAG_TRAIN);
    double loss = forward(m);
    ss_switch(names.backward, SS_FLAG_TRAIN);
    backward(m);
    ss_switch(names.update, SS_FLAG_TRAIN);
    update(m);
    ss_end(0, 0);
    return loss;
}

static void train(struct model *m, int steps)
{
    ss_plan((unsigned)steps, (unsigned)(steps / STEPS_PER_EPOCH), STEPS_PER_EPOCH, BATCH);
    ss_loop_begin(names.loop);
    for (int i = 0; i < steps; i++) {
        if (i % STEPS_PER_EPOCH == 0)
            ss_epoch_begin((unsigned)(i / STEPS_PER_EPOCH));
        ss_step(BATCH);
        double loss = train_step(m);
        {
            SS_SPAN(names.log);
            ss_counter(names.loss, loss);
            if (i % STEPS_PER_EPOCH == 0)
                printf("step %d: loss %.5f\n", i, loss);
        }
        if ((i + 1) % STEPS_PER_EPOCH == 0) {
            ss_epoch_end(0);
            SS_SPAN(names.eval);
            next_batch(m);
            printf("evaluation: loss %.5f\n", forward(m));
        }
    }
    ss_loop_end(0);
}

int main(int argc, char **argv)
{
    struct ss_options options = {NULL, -1, 0, 0};
    struct model model = {0, 0, 0, 0, {0}, {0}, {0}};
    int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : DEFAULT_STEPS;

    intern_names();
    if (argc > 1) {
        options.dir = argv[1];
        if (ss_start(&options) != 0)
            fprintf(stderr, "loop: not recorded: %s\n", ss_status());
    }
    train(&model, steps);
    ss_mark(names.loop, "trained");
    ss_stop();
    printf("y = %.2f x + %.2f\n", model.slope, model.offset);
    return fabs(model.slope - 3) < 0.1 || steps < DEFAULT_STEPS ? 0 : 1;
}
