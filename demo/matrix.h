/* Matrix products by OpenBLAS on one thread, or in plain C where it is not installed. OpenBLAS is
 * loaded when the demo runs and not linked: no other command has to wait for it, or for the
 * threads that it starts. */
#ifndef DEMO_MATRIX_H
#define DEMO_MATRIX_H

#include <stdbool.h>

/* Looks for OpenBLAS. Which of the two it is from now on: "OpenBLAS" or "plain C". */
const char *matrix_choose(void);

/* Row after row; `turned` (transposed) matrices are given as they lie in memory. */
struct matrix {
    const float *at;
    bool turned;
};

/* c (rows x columns) = a (rows x inner) * b (inner x columns) */
void matrix_multiply(float *c, struct matrix a, struct matrix b, int rows, int columns, int inner);

#endif
