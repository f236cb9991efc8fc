#include "callbacks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void set_learning_rate(struct trainer *trainer)
{
    const float highest = 0.002f;
    double done = (double)trainer->step / (double)trainer->steps;
    trainer->learning_rate = highest * (float)(1 + cos(3.14159265358979 * done)) / 2;
}

static void measure_gradient(struct trainer *trainer)
{
    const struct network *network = trainer->network;
    double sum = 0;
    for (size_t i = 0; i < network->parameters; i++)
        sum += (double)network->gradients[i] * network->gradients[i];
    trainer->gradient_norm = (float)sqrt(sum);
}

static void log_metrics(struct trainer *trainer)
{
    char line[128];
    int size = snprintf(line, sizeof line, "%" PRId64 ",%.9g,%.9g,%.9g\n", trainer->step,
                        (double)trainer->loss, (double)trainer->gradient_norm,
                        (double)trainer->learning_rate);

    ss_counter(trainer->loss_counter, trainer->loss);
    if (trainer->log_size + (size_t)size > sizeof trainer->log)
        trainer->log_size = 0;
    memcpy(trainer->log + trainer->log_size, line, (size_t)size);
    trainer->log_size += (size_t)size;
    faults_hit(&trainer->faults, FAULT_LEAK, trainer->step, NULL);
}

static void keep_best(struct trainer *trainer)
{
    if (trainer->accuracy < trainer->best_accuracy)
        return;
    trainer->best_accuracy = trainer->accuracy;
    memcpy(trainer->best, trainer->network->values,
           trainer->network->parameters * sizeof *trainer->best);
}

static void print_epoch(struct trainer *trainer)
{
    int64_t steps = trainer->step % trainer->steps_per_epoch;
    printf("epoch %" PRId64 "/%" PRId64 "  step %" PRId64 "  loss %.4f  accuracy %.2f %%  %.2f s\n",
           trainer->epoch + 1, trainer->epochs, trainer->step,
           trainer->epoch_loss / (double)(steps ? steps : trainer->steps_per_epoch),
           100 * trainer->accuracy, (double)(clock_ns() - trainer->epoch_begin_ns) / 1e9);
    fflush(stdout);
}

static const struct {
    const char *object;
    enum ss_scope scope;
    const char *text;
    void (*run)(struct trainer *trainer);
} callbacks[TRAINER_CALLBACKS] = {
    {"LearningRate", SS_SCOPE_BATCH_BEGIN, "on_batch_begin", set_learning_rate},
    {"GradientNorm", SS_SCOPE_BATCH_END, "on_batch_end", measure_gradient},
    {"MetricLog", SS_SCOPE_BATCH_END, "on_batch_end", log_metrics},
    {"BestModel", SS_SCOPE_EPOCH_END, "on_epoch_end", keep_best},
    {"Printer", SS_SCOPE_EPOCH_END, "on_epoch_end", print_epoch},
};

void callbacks_watch(struct trainer *trainer)
{
    for (int i = 0; i < TRAINER_CALLBACKS; i++) {
        trainer->callbacks[i] = (struct part){.text = callbacks[i].text,
                                              .object = callbacks[i].object,
                                              .stage = SS_STAGE_CALLBACK,
                                              .scope = callbacks[i].scope};
        truth_watch(&trainer->truth, &trainer->callbacks[i]);
    }
}

void callbacks_run(struct trainer *trainer, enum ss_scope scope)
{
    for (int i = 0; i < TRAINER_CALLBACKS; i++) {
        if (callbacks[i].scope != scope)
            continue;
        part_begin(&trainer->callbacks[i]);
        callbacks[i].run(trainer);
        faults_hit(&trainer->faults, FAULT_SLOW_CALLBACK, trainer->step, callbacks[i].object);
        faults_hit(&trainer->faults, FAULT_SLOW_CALLBACK_EVERY, trainer->step, callbacks[i].object);
        part_end(&trainer->callbacks[i]);
    }
}

const char *callbacks_name(int n)
{
    return n < TRAINER_CALLBACKS ? callbacks[n].object : NULL;
}
