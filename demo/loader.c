#include "loader.h"

#include "random.h"
#include <stdlib.h>
#include <string.h>

enum { PURPOSE_SHUFFLE = 4 };

static void shuffle(struct loader *loader, uint64_t epoch)
{
    struct random random = random_for(loader->seed, PURPOSE_SHUFFLE, epoch);
    for (int i = 0; i < loader->digits->count; i++) {
        int j = (int)random_below(&random, (uint64_t)i + 1);
        if (j != i)
            loader->order[i] = loader->order[j];
        loader->order[j] = i;
    }
}

/* "Reading" is picking the digits of the batch; slow-input makes it as slow as a busy disk. */
static const int *read_batch(struct loader *loader, int64_t number)
{
    int64_t epoch = number / loader->batches_per_epoch;
    int64_t in_epoch = number % loader->batches_per_epoch;

    part_begin(&loader->read);
    if (in_epoch == 0)
        shuffle(loader, (uint64_t)epoch);
    faults_hit(loader->faults, FAULT_SLOW_INPUT, number, NULL);
    part_end(&loader->read);
    return loader->order + in_epoch * loader->batch_size;
}

static void make_batch(struct loader *loader, int64_t number, struct batch *batch)
{
    part_begin(&loader->make);
    const int *chosen = read_batch(loader, number);
    part_begin(&loader->augment);
    for (int i = 0; i < loader->batch_size; i++) {
        digits_augment(loader->digits, chosen[i], loader->seed + (uint64_t)number,
                       batch->pixels + (size_t)i * DIGIT_PIXELS);
        batch->labels[i] = loader->digits->labels[chosen[i]];
    }
    part_end(&loader->augment);
    part_end(&loader->make);
}

static void *run_loader(void *argument)
{
    struct loader *loader = argument;

    pthread_mutex_lock(&loader->lock);
    while (!loader->stop) {
        /* One place is the trainer's: it works on the batch that it took last. */
        if (loader->made - loader->taken >= LOADER_AHEAD - 1) {
            pthread_cond_wait(&loader->changed, &loader->lock);
            continue;
        }
        int64_t number = loader->made;
        pthread_mutex_unlock(&loader->lock);
        make_batch(loader, number, &loader->ring[number % LOADER_AHEAD]);
        pthread_mutex_lock(&loader->lock);
        loader->made++;
        pthread_cond_signal(&loader->changed);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

static void watch_parts(struct loader *loader, struct truth *truth)
{
    loader->make = (struct part){
        .text = "make_batch", .stage = SS_STAGE_PRODUCE, .flags = SS_FLAG_PRODUCER};
    loader->read =
        (struct part){.text = "read", .stage = SS_STAGE_USER, .flags = SS_FLAG_PRODUCER};
    loader->augment = (struct part){
        .text = "augment", .stage = SS_STAGE_USER, .flags = SS_FLAG_PRODUCER};
    truth_watch(truth, &loader->make);
    truth_watch(truth, &loader->read);
    truth_watch(truth, &loader->augment);
}

int loader_start(struct loader *loader, const struct digits *digits, int batch_size,
                 uint64_t seed, struct faults *faults, struct truth *truth)
{
    size_t pixels = (size_t)batch_size * DIGIT_PIXELS;

    *loader = (struct loader){.digits = digits,
                              .batch_size = batch_size,
                              .batches_per_epoch = digits->count / batch_size,
                              .seed = seed,
                              .faults = faults,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    watch_parts(loader, truth);
    loader->order = malloc((size_t)digits->count * sizeof *loader->order);
    bool complete = loader->order;
    for (int i = 0; i < LOADER_AHEAD; i++) {
        struct batch *batch = &loader->ring[i];
        batch->pixels = malloc(pixels * sizeof *batch->pixels);
        batch->labels = malloc((size_t)batch_size);
        complete = complete && batch->pixels && batch->labels;
    }
    loader->running =
        complete && pthread_create(&loader->thread, NULL, run_loader, loader) == 0;
    return loader->running ? 0 : -1;
}

void loader_stop(struct loader *loader)
{
    if (!loader->running)
        return;
    pthread_mutex_lock(&loader->lock);
    loader->stop = true;
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->lock);
    pthread_join(loader->thread, NULL);
    loader->running = false;
}

void loader_release(struct loader *loader)
{
    loader_stop(loader);
    for (int i = 0; i < LOADER_AHEAD; i++) {
        free(loader->ring[i].pixels);
        free(loader->ring[i].labels);
    }
    free(loader->order);
}

const struct batch *loader_next(struct loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    while (loader->made == loader->taken)
        pthread_cond_wait(&loader->changed, &loader->lock);
    const struct batch *batch = &loader->ring[loader->taken++ % LOADER_AHEAD];
    pthread_cond_signal(&loader->changed);
    pthread_mutex_unlock(&loader->lock);
    return batch;
}
