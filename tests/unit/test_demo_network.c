/* demo/: what the trainer calculates is right, by OpenBLAS and in plain C. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demo/matrix.h"
#include "demo/network.h"
#include "demo/random.h"

enum { INPUTS = 7, HIDDEN = 5, CLASSES = 4, ROWS = 6 };

static void fill(float *values, int count, uint64_t seed)
{
    struct random random = {seed};
    for (int i = 0; i < count; i++)
        values[i] = random_about_0(&random, 1);
}

/* As it is defined, in double. */
static double product_at(struct matrix a, struct matrix b, int row, int column, int rows,
                         int columns, int inner)
{
    double sum = 0;
    for (int k = 0; k < inner; k++)
        sum += (double)a.at[a.turned ? k * rows + row : row * inner + k] *
               (double)b.at[b.turned ? column * inner + k : k * columns + column];
    return sum;
}

static void check_product(bool turn_a, bool turn_b, int rows, int columns, int inner)
{
    float a[64 * 40], b[64 * 40], c[64 * 40];
    struct matrix left = {a, turn_a}, right = {b, turn_b};

    fill(a, rows * inner, 1);
    fill(b, inner * columns, 2);
    memset(c, 0xff, sizeof c); /* what was there does not count */
    matrix_multiply(c, left, right, rows, columns, inner);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            assert_true(fabs((double)c[i * columns + j] -
                             product_at(left, right, i, j, rows, columns, inner)) < 1e-4);
}

static void check_products(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {16, 8, 24}, {40, 33, 17}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_product(false, false, sizes[i][0], sizes[i][1], sizes[i][2]);
        check_product(true, false, sizes[i][0], sizes[i][1], sizes[i][2]);
        check_product(false, true, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
}

/* Before matrix_choose() all is plain C. */
static void products_in_plain_c_are_right(void **state)
{
    (void)state;
    check_products();
}

static void products_by_openblas_are_right(void **state)
{
    (void)state;
    if (strcmp(matrix_choose(), "OpenBLAS") != 0)
        skip();
    check_products();
}

static float loss_of(struct network *network, const float *input, const uint8_t *labels)
{
    int correct;
    for (int i = 0; i < network->count; i++)
        network_forward(network, i, input, ROWS);
    return network_loss(network, labels, ROWS, &correct);
}

/* Each parameter is moved a little to both sides: the loss must follow its gradient. (With this
 * seed nothing is so near to 0 that ReLU would bend the loss.) */
static void gradients_say_how_the_loss_moves(void **state)
{
    (void)state;
    static const int sizes[] = {INPUTS, HIDDEN, HIDDEN, CLASSES};
    static const uint8_t labels[ROWS] = {0, 1, 2, 3, 1, 2};
    const float little = 3e-4f;
    float input[ROWS * INPUTS];
    struct network *network = network_new(sizes, 3, ROWS, 1);

    assert_non_null(network);
    fill(input, ROWS * INPUTS, 3);
    loss_of(network, input, labels);
    network_backward(network, input, ROWS);
    for (size_t i = 0; i < network->parameters; i++) {
        float value = network->values[i];
        network->values[i] = value + little;
        double above = loss_of(network, input, labels);
        network->values[i] = value - little;
        double below = loss_of(network, input, labels);
        network->values[i] = value;
        assert_true(fabs((above - below) / (2 * (double)little) - (double)network->gradients[i]) <
                    2e-3);
    }
    network_free(network);
}

static void training_makes_the_loss_small(void **state)
{
    (void)state;
    static const int sizes[] = {INPUTS, HIDDEN, CLASSES};
    static const uint8_t labels[ROWS] = {0, 1, 2, 3, 1, 2};
    float input[ROWS * INPUTS];
    int correct;
    struct network *network = network_new(sizes, 2, ROWS, 5);

    assert_non_null(network);
    fill(input, ROWS * INPUTS, 3);
    for (int step = 0; step < 500; step++) {
        loss_of(network, input, labels);
        network_backward(network, input, ROWS);
        network_update(network, 0.02f);
    }
    assert_true(loss_of(network, input, labels) < 0.05f);
    network_loss(network, labels, ROWS, &correct);
    assert_int_equal(correct, ROWS);
    network_free(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_in_plain_c_are_right),
        cmocka_unit_test(gradients_say_how_the_loss_moves),
        cmocka_unit_test(training_makes_the_loss_small),
        cmocka_unit_test(products_by_openblas_are_right),
        cmocka_unit_test(training_makes_the_loss_small),
    };
    return cmocka_run_group_tests_name("the network of the demo", tests, NULL, NULL);
}
