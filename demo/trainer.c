#include "trainer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "callbacks.h"

enum { STEPS_PER_CHECKPOINT = 100, TEST_SEED = 77 };

uint64_t trainer_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    hash ^= 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void plan(struct trainer *trainer)
{
    const struct demo_settings *settings = trainer->settings;
    const struct demo_fault *tiny = &settings->faults[FAULT_TINY_BATCH];

    trainer->batch = tiny->on ? (int)tiny->count : settings->batch;
    trainer->steps_per_epoch = DEMO_IMAGES / trainer->batch;
    trainer->epochs = settings->epochs;
    trainer->steps = trainer->epochs * trainer->steps_per_epoch;
    if (settings->steps) {
        trainer->steps = settings->steps;
        trainer->epochs = (trainer->steps - 1) / trainer->steps_per_epoch + 1;
    }
}

static void watch_layers(struct trainer *trainer)
{
    int hidden = trainer->settings->layers;
    for (int i = 0; i <= hidden; i++) {
        char *name = trainer->layer_names[i];
        if (i < hidden)
            snprintf(name, DEMO_NAME, "hidden%d", i + 1);
        else
            snprintf(name, DEMO_NAME, "output");
        trainer->layers[i] = (struct part){.text = name, .stage = SS_STAGE_USER};
        truth_watch(&trainer->truth, &trainer->layers[i]);
    }
}

static void watch_parts(struct trainer *trainer)
{
    const unsigned train = SS_FLAG_TRAIN;
    trainer->loop = ss_intern("train", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, NULL);
    trainer->loss_counter = ss_intern("loss", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    trainer->draw = (struct part){.text = "draw_digits", .stage = SS_STAGE_SETUP};
    trainer->data = (struct part){.text = "next_batch", .stage = SS_STAGE_DATA};
    trainer->forward = (struct part){.text = "forward", .stage = SS_STAGE_FORWARD, .flags = train};
    trainer->backward =
        (struct part){.text = "backward", .stage = SS_STAGE_BACKWARD, .flags = train};
    trainer->update = (struct part){.text = "step",
                                    .object = "Adam",
                                    .stage = SS_STAGE_OPTIMIZER,
                                    .role = SS_ROLE_UPDATE,
                                    .flags = train};
    trainer->eval = (struct part){.text = "evaluate",
                                  .stage = SS_STAGE_EVAL,
                                  .role = SS_ROLE_EVAL_CALL,
                                  .flags = SS_FLAG_EVAL};
    trainer->checkpoint = (struct part){.text = "save", .stage = SS_STAGE_CHECKPOINT};
    struct part *all[] = {&trainer->draw,   &trainer->data, &trainer->forward,   &trainer->backward,
                          &trainer->update, &trainer->eval, &trainer->checkpoint};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        truth_watch(&trainer->truth, all[i]);
    watch_layers(trainer);
    callbacks_watch(trainer);
}

/* The test set is changed like the training set, but once, so that each epoch sees the same. */
static int draw_digits(struct trainer *trainer)
{
    uint64_t seed = trainer->settings->seed;
    struct digits plain = {0};

    part_begin(&trainer->draw);
    int failed = digits_draw(&trainer->digits, DEMO_IMAGES, seed) ||
                 digits_draw(&trainer->test, TRAINER_TEST_IMAGES, seed + TEST_SEED) ||
                 digits_draw(&plain, TRAINER_TEST_IMAGES, seed + TEST_SEED);
    for (int i = 0; !failed && i < plain.count; i++)
        digits_augment(&plain, i, seed + TEST_SEED,
                       trainer->test.pixels + (size_t)i * DIGIT_PIXELS);
    digits_release(&plain);
    part_end(&trainer->draw);
    return failed;
}

static int make_network(struct trainer *trainer)
{
    const struct demo_settings *settings = trainer->settings;
    int sizes[DEMO_LAYERS + 2] = {DIGIT_PIXELS};

    for (int i = 0; i < settings->layers; i++)
        sizes[i + 1] = settings->hidden[i];
    sizes[settings->layers + 1] = DIGIT_CLASSES;
    trainer->network =
        network_new(sizes, settings->layers + 1,
                    trainer->batch > TRAINER_ROWS ? trainer->batch : TRAINER_ROWS, settings->seed);
    if (trainer->network)
        trainer->best = calloc(trainer->network->parameters, sizeof *trainer->best);
    return trainer->best ? 0 : -1;
}

int trainer_init(struct trainer *trainer, const struct demo_settings *settings)
{
    *trainer = (struct trainer){.settings = settings, .checkpoint_fd = -1};
    faults_start(&trainer->faults, settings);
    trainer->truth.wanted = settings->truth;
    plan(trainer);
    watch_parts(trainer);
    if (draw_digits(trainer) || make_network(trainer))
        return -1;
    trainer->checkpoint_fd = memfd_create("checkpoint", MFD_CLOEXEC);
    return loader_start(&trainer->loader, &trainer->digits, trainer->batch, settings->seed,
                        &trainer->faults, &trainer->truth);
}

void trainer_release(struct trainer *trainer)
{
    loader_release(&trainer->loader);
    faults_stop(&trainer->faults);
    digits_release(&trainer->digits);
    digits_release(&trainer->test);
    network_free(trainer->network);
    free(trainer->best);
    truth_release(&trainer->truth);
    if (trainer->checkpoint_fd >= 0)
        close(trainer->checkpoint_fd);
}

static void forward(struct trainer *trainer, const struct batch *batch)
{
    int correct;

    part_begin(&trainer->forward);
    for (int i = 0; i < trainer->network->count; i++) {
        part_begin(&trainer->layers[i]);
        network_forward(trainer->network, i, batch->pixels, trainer->batch);
        faults_hit(&trainer->faults, FAULT_HEAVY_LAYER, trainer->step, trainer->layer_names[i]);
        part_end(&trainer->layers[i]);
    }
    trainer->loss = network_loss(trainer->network, batch->labels, trainer->batch, &correct);
    faults_hit(&trainer->faults, FAULT_LONG_WARM_UP, trainer->step, NULL);
    faults_hit(&trainer->faults, FAULT_GROWING_STEP, trainer->step, NULL);
    part_end(&trainer->forward);
}

void trainer_learn(struct trainer *trainer, const struct batch *batch)
{
    callbacks_run(trainer, SS_SCOPE_BATCH_BEGIN);
    forward(trainer, batch);

    part_begin(&trainer->backward);
    network_backward(trainer->network, batch->pixels, trainer->batch);
    part_end(&trainer->backward);

    part_begin(&trainer->update);
    network_update(trainer->network, trainer->learning_rate);
    part_end(&trainer->update);

    trainer->epoch_loss += trainer->loss;
    trainer->losses = trainer_hash(trainer->losses, &trainer->loss, sizeof trainer->loss);
    callbacks_run(trainer, SS_SCOPE_BATCH_END);
    faults_hit(&trainer->faults, FAULT_PERIODIC_PAUSE, trainer->step, NULL);
}

/* To memory: what a disk would add is up to the fault checkpoint-stall. */
static void save(struct trainer *trainer)
{
    const struct network *network = trainer->network;
    const float *all[] = {network->values, network->mean, network->variance};
    size_t size = network->parameters * sizeof *network->values;

    part_begin(&trainer->checkpoint);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (pwrite(trainer->checkpoint_fd, all[i], size, (off_t)(i * size)) < 0)
            break; /* a training goes on without its checkpoint */
    faults_hit(&trainer->faults, FAULT_CHECKPOINT_STALL, trainer->step, NULL);
    part_end(&trainer->checkpoint);
}

static void train_step(struct trainer *trainer)
{
    int64_t before_ns = clock_ns();
    ss_step((uint64_t)trainer->batch);
    truth_step_begin(&trainer->truth, before_ns);

    part_begin(&trainer->data);
    const struct batch *batch = loader_next(&trainer->loader);
    part_end(&trainer->data);

    trainer_learn(trainer, batch);
    if ((trainer->step + 1) % STEPS_PER_CHECKPOINT == 0)
        save(trainer);
}

static void evaluate(struct trainer *trainer)
{
    struct network *network = trainer->network;
    int correct = 0;

    part_begin(&trainer->eval);
    for (int at = 0; at < trainer->test.count; at += TRAINER_ROWS) {
        int right;
        for (int i = 0; i < network->count; i++)
            network_forward(network, i, trainer->test.pixels + (size_t)at * DIGIT_PIXELS,
                            TRAINER_ROWS);
        network_loss(network, trainer->test.labels + at, TRAINER_ROWS, &right);
        correct += right;
    }
    trainer->accuracy = (double)correct / trainer->test.count;
    part_end(&trainer->eval);
}

static void train_epoch(struct trainer *trainer)
{
    trainer->epoch_begin_ns = clock_ns();
    trainer->epoch_loss = 0;
    ss_epoch_begin((uint64_t)trainer->epoch);
    int64_t end = (trainer->epoch + 1) * trainer->steps_per_epoch;
    while (trainer->step < end && trainer->step < trainer->steps) {
        train_step(trainer);
        trainer->step++;
    }
    evaluate(trainer);
    ss_epoch_end(0);
    truth_step_end(&trainer->truth);
    callbacks_run(trainer, SS_SCOPE_EPOCH_END);
}

void trainer_run(struct trainer *trainer)
{
    truth_loop_begin(&trainer->truth);
    ss_plan((uint64_t)trainer->steps, (uint64_t)trainer->epochs, (uint64_t)trainer->steps_per_epoch,
            (uint64_t)trainer->batch);
    ss_loop_begin(trainer->loop);
    for (; trainer->epoch < trainer->epochs; trainer->epoch++)
        train_epoch(trainer);
    ss_loop_end(0);
    truth_loop_end(&trainer->truth);
    loader_stop(&trainer->loader);
}
