#include "loader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { MOST_POINTS = 32, PURPOSE_DRAW = 1, PURPOSE_AUGMENT = 2 };

/* Points on a grid of 10 by 10, two figures each: column and row. A blank lifts the pen. */
static const char *const strokes[DIGIT_CLASSES] = {
    "4061737668493826233140",    "325059",   "22306072642979",
    "214060726444 647677694928", "69602686", "7020245375775928",
    "603326396977653526",        "207049",   "4422405072544426284959787654",
    "396673603022346473",
};

struct point {
    float x, y;
};

struct pen_line {
    struct point from, to;
};

/* The lines of a digit in pixels, by a hand that trembles and leans. */
static int hand_write(int digit, struct random *random, struct pen_line *lines)
{
    const float scale = DIGIT_SIDE / 12.0f, lean = random_about_0(random, 0.15f);
    struct point last = {0, 0};
    int count = 0, points = 0;

    for (const char *at = strokes[digit]; *at; at += 2) {
        if (*at == ' ') {
            points = 0;
            at++;
        }
        float x = (float)(at[0] - '0') + random_about_0(random, 0.4f);
        float y = (float)(at[1] - '0') + random_about_0(random, 0.4f);
        struct point here = {scale * (x + 1.5f + lean * (4.5f - y)), scale * (y + 1.5f)};
        if (points++)
            lines[count++] = (struct pen_line){last, here};
        last = here;
    }
    return count;
}

static float squared_distance(struct point p, const struct pen_line *line)
{
    float dx = line->to.x - line->from.x, dy = line->to.y - line->from.y;
    float px = p.x - line->from.x, py = p.y - line->from.y;
    float along = (px * dx + py * dy) / (dx * dx + dy * dy + 1e-6f);

    along = along < 0 ? 0 : along > 1 ? 1 : along;
    px -= along * dx;
    py -= along * dy;
    return px * px + py * py;
}

static int within(float position)
{
    return position < 0 ? 0 : position > DIGIT_SIDE ? DIGIT_SIDE : (int)position;
}

/* Only pixels near the line are looked at: most of the picture stays empty. */
static void draw_line(const struct pen_line *line, float width, float *pixels)
{
    float reach = width + 1.5f;
    int left = within(fminf(line->from.x, line->to.x) - reach);
    int right = within(fmaxf(line->from.x, line->to.x) + reach);
    int top = within(fminf(line->from.y, line->to.y) - reach);
    int bottom = within(fmaxf(line->from.y, line->to.y) + reach);

    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            float *pixel = &pixels[y * DIGIT_SIDE + x];
            struct point centre = {(float)x + 0.5f, (float)y + 0.5f};
            float ink = width + 0.5f - sqrtf(squared_distance(centre, line));
            *pixel = fminf(1, fmaxf(*pixel, ink));
        }
}

static void draw(int digit, struct random *random, float *pixels)
{
    struct pen_line lines[MOST_POINTS];
    int count = hand_write(digit, random, lines);
    float width = 1.2f + random_about_0(random, 0.3f);

    for (int i = 0; i < count; i++)
        draw_line(&lines[i], width, pixels);
}

int digits_draw(struct digits *digits, int count, uint64_t seed)
{
    digits->count = count;
    digits->pixels = calloc((size_t)count * DIGIT_PIXELS, sizeof *digits->pixels);
    digits->labels = malloc((size_t)count);
    if (!digits->pixels || !digits->labels)
        return -1;
    for (int i = 0; i < count; i++) {
        struct random random = random_for(seed, PURPOSE_DRAW, (uint64_t)i);
        int digit = (int)random_below(&random, DIGIT_CLASSES);
        digits->labels[i] = (uint8_t)digit;
        draw(digit, &random, digits->pixels + (size_t)i * DIGIT_PIXELS);
    }
    return 0;
}

void digits_release(struct digits *digits)
{
    free(digits->pixels);
    free(digits->labels);
}

/* The picture between its pixels; 0 outside. */
static float sample(const float *picture, float x, float y)
{
    int column = (int)floorf(x), row = (int)floorf(y);
    float right = x - (float)column, below = y - (float)row;

    if (column < 0 || row < 0 || column >= DIGIT_SIDE - 1 || row >= DIGIT_SIDE - 1)
        return 0;
    const float *p = picture + row * DIGIT_SIDE + column;
    return (1 - below) * ((1 - right) * p[0] + right * p[1]) +
           below * ((1 - right) * p[DIGIT_SIDE] + right * p[DIGIT_SIDE + 1]);
}

void digits_augment(const struct digits *digits, int index, uint64_t seed, float *pixels)
{
    const float *picture = digits->pixels + (size_t)index * DIGIT_PIXELS;
    const float centre = (DIGIT_SIDE - 1) / 2.0f;
    struct random random = random_for(seed, PURPOSE_AUGMENT, (uint64_t)index);
    float turn = random_about_0(&random, 0.25f);
    float stretch = 1 + random_about_0(&random, 0.15f);
    float along = stretch * cosf(turn), across = stretch * sinf(turn);
    float right = random_about_0(&random, 2), down = random_about_0(&random, 2);

    for (int row = 0; row < DIGIT_SIDE; row++)
        for (int column = 0; column < DIGIT_SIDE; column++) {
            float x = (float)column - centre - right, y = (float)row - centre - down;
            *pixels++ =
                sample(picture, along * x - across * y + centre, across * x + along * y + centre) +
                random_about_0(&random, 0.3f);
        }
}

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
    loader->make =
        (struct part){.text = "make_batch", .stage = SS_STAGE_PRODUCE, .flags = SS_FLAG_PRODUCER};
    loader->read = (struct part){.text = "read", .stage = SS_STAGE_USER, .flags = SS_FLAG_PRODUCER};
    loader->augment =
        (struct part){.text = "augment", .stage = SS_STAGE_USER, .flags = SS_FLAG_PRODUCER};
    truth_watch(truth, &loader->make);
    truth_watch(truth, &loader->read);
    truth_watch(truth, &loader->augment);
}

int loader_start(struct loader *loader, const struct digits *digits, int batch_size, uint64_t seed,
                 struct faults *faults, struct truth *truth)
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
    loader->running = complete && pthread_create(&loader->thread, NULL, run_loader, loader) == 0;
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
