/* Digits, drawn by strokes of a pen that is never quite the same. */
#ifndef DEMO_DIGITS_H
#define DEMO_DIGITS_H

#include <stdint.h>

enum { DIGIT_SIDE = 20, DIGIT_PIXELS = DIGIT_SIDE * DIGIT_SIDE, DIGIT_CLASSES = 10 };

struct digits {
    int count;
    float *pixels; /* DIGIT_PIXELS each, 0 to 1 */
    uint8_t *labels;
};

/* Draws `count` digits; 0, or -1 if memory is short. Release it in both cases. */
int digits_draw(struct digits *digits, int count, uint64_t seed);
void digits_release(struct digits *digits);

/* One of them, turned, moved, stretched and made noisy at random: what a training sees. */
void digits_augment(const struct digits *digits, int index, uint64_t seed, float *pixels);

#endif
