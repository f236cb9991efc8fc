#include "digits.h"

#include "random.h"
#include <math.h>
#include <stdlib.h>

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
            *pixels++ = sample(picture, along * x - across * y + centre,
                               across * x + along * y + centre) +
                        random_about_0(&random, 0.3f);
        }
}
