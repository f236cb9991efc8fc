/* Fits a line through rows of a text file, which are read and parsed for each batch, and saves the
 * weights at the end of each epoch. It records itself. */
#include <stdio.h>
#include <stdlib.h>

#include "stepscope/recorder.h"

enum { COLUMNS = 32, ROWS = 256, BATCHES = 100, EPOCHS = 4 };

static struct {
    ss_name loop, read, compute, update, save;
} names;

static double x[ROWS][COLUMNS], y[ROWS], weights[COLUMNS], gradient[COLUMNS];

static void write_rows(FILE *file)
{
    unsigned state = 71;
    for (int row = 0; row < ROWS * BATCHES; row++) {
        double sum = 0;
        for (int column = 0; column < COLUMNS; column++) {
            state = state * 1664525u + 1013904223u;
            const double value = (state >> 8) / 16777216.0;
            sum += value * column;
            fprintf(file, "%.9f,", value);
        }
        fprintf(file, "%.9f\n", sum);
    }
}

static void read_batch(FILE *file)
{
    SS_SPAN(names.read);
    for (int row = 0; row < ROWS; row++) {
        char line[1024];
        if (!fgets(line, sizeof line, file)) {
            rewind(file);
            row--;
            continue;
        }
        char *at = line;
        for (int column = 0; column < COLUMNS; column++)
            x[row][column] = strtod(at, &at), at++;
        y[row] = strtod(at, NULL);
    }
}

static double compute(void)
{
    SS_SPAN(names.compute);
    double loss = 0;
    for (int column = 0; column < COLUMNS; column++)
        gradient[column] = 0;
    for (int row = 0; row < ROWS; row++) {
        double error = -y[row];
        for (int column = 0; column < COLUMNS; column++)
            error += weights[column] * x[row][column];
        for (int column = 0; column < COLUMNS; column++)
            gradient[column] += error * x[row][column] / ROWS;
        loss += error * error / ROWS;
    }
    return loss;
}

static void update(void)
{
    SS_SPAN(names.update);
    for (int column = 0; column < COLUMNS; column++)
        weights[column] -= 0.05 * gradient[column];
}

static void save(void)
{
    SS_SPAN(names.save);
    FILE *file = tmpfile();
    if (file) {
        fwrite(weights, sizeof weights, 1, file);
        fclose(file);
    }
}

int main(void)
{
    names.loop = ss_intern("train", SS_STAGE_USER, SS_ROLE_LOOP, SS_SCOPE_NONE, NULL);
    names.read = ss_intern("read_batch", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    names.compute = ss_intern("compute", SS_STAGE_COMPUTE, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    names.update =
        ss_intern("update", SS_STAGE_OPTIMIZER, SS_ROLE_UPDATE, SS_SCOPE_NONE, "gradient descent");
    names.save = ss_intern("save", SS_STAGE_CHECKPOINT, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    FILE *file = tmpfile();
    if (!file)
        return 1;
    write_rows(file);
    rewind(file);
    ss_loop_begin(names.loop);
    double loss = 0;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (int batch = 0; batch < BATCHES; batch++) {
            read_batch(file);
            loss = compute();
            update();
        }
        save();
        printf("epoch %d: %.9g\n", epoch, loss);
    }
    ss_loop_end(0);
    ss_stop();
    fclose(file);
    return 0;
}
