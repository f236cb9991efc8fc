#include "matrix.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Of cblas.h, which need not be installed. */
enum { CBLAS_ROW_MAJOR = 101, CBLAS_AS_IT_IS = 111, CBLAS_TURNED = 112 };
typedef void sgemm_function(int order, int turn_a, int turn_b, int m, int n, int k, float alpha,
                            const float *a, int stride_a, const float *b, int stride_b, float beta,
                            float *c, int stride_c);

static sgemm_function *sgemm;

const char *matrix_choose(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};

    /* Sums in the same order each time need one thread. Read when the library is loaded. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    for (int i = 0; i < 2 && !sgemm; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
        memcpy(&sgemm, &symbol, sizeof sgemm); /* ISO C casts no data to functions */
    }
    return sgemm ? "OpenBLAS" : "plain C";
}

static void add_scaled_row(float *restrict c, const float *restrict b, float factor, int columns)
{
    for (int j = 0; j < columns; j++)
        c[j] += factor * b[j];
}

/* Eight sums at once: what fits the vector registers of any machine. */
static float dot(const float *restrict a, const float *restrict b, int count)
{
    float sum[8] = {0}, rest = 0;
    int i = 0;

    for (; i + 8 <= count; i += 8)
        for (int lane = 0; lane < 8; lane++)
            sum[lane] += a[i + lane] * b[i + lane];
    for (; i < count; i++)
        rest += a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

static void multiply_plain(float *c, struct matrix a, struct matrix b, int rows, int columns,
                           int inner)
{
    memset(c, 0, (size_t)rows * (size_t)columns * sizeof *c);
    for (int i = 0; i < rows; i++) {
        float *row = c + (size_t)i * (size_t)columns;
        if (b.turned)
            for (int j = 0; j < columns; j++)
                row[j] =
                    dot(a.at + (size_t)i * (size_t)inner, b.at + (size_t)j * (size_t)inner, inner);
        else
            for (int k = 0; k < inner; k++)
                add_scaled_row(row, b.at + (size_t)k * (size_t)columns,
                               a.turned ? a.at[(size_t)k * (size_t)rows + (size_t)i]
                                        : a.at[(size_t)i * (size_t)inner + (size_t)k],
                               columns);
    }
}

void matrix_multiply(float *c, struct matrix a, struct matrix b, int rows, int columns, int inner)
{
    if (!sgemm) {
        multiply_plain(c, a, b, rows, columns, inner);
        return;
    }
    sgemm(CBLAS_ROW_MAJOR, a.turned ? CBLAS_TURNED : CBLAS_AS_IT_IS,
          b.turned ? CBLAS_TURNED : CBLAS_AS_IT_IS, rows, columns, inner, 1, a.at,
          a.turned ? rows : inner, b.at, b.turned ? inner : columns, 0, c, columns);
}
