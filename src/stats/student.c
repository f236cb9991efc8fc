#include "stats/student.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { MAX_TERMS = 1000 };

static double not_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function, by Lentz's method: even and odd terms
 * have a form of their own. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1;
    double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
    double value = d;
    for (int m = 1; m < MAX_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return value;
}

/* lgamma() writes the global signgam; its re-entrant form does not. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* The share of the beta distribution (a, b) that lies below x. */
static double beta_below(double a, double b, double x)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_below(double t, double freedom)
{
    double tail = beta_below(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

/* Of the levels that reports ask for: the logarithm of the quantile, from 1 degree of freedom to
 * any number, as a Chebyshev polynomial in 2 / freedom - 1, to 14 digits. A polynomial, since
 * degrees of freedom are fractions; between the points of a table one would have to interpolate. */
enum { TERMS = 28 };

static const struct table {
    double p;
    double term[TERMS];
} tables[] = {
    {0.975, {1.533874183165565,       0.94010800948226241,     0.074148752032393457,
             -0.0057194750813847045,  -0.00050494953068793941, 0.00019820947814236614,
             -1.0444575412671346e-05, -4.6933000239651059e-06, 7.6790670265299617e-07,
             1.2350156334404199e-07,  -4.7320901560176868e-08, -3.5893561072002052e-09,
             5.1591383581689118e-09,  -1.4413960282428426e-09, 1.5374823608763387e-10,
             4.3633469758260208e-11,  -3.4824740420172238e-11, 1.5854231923916002e-11,
             -5.8459324814309666e-12, 1.6592684199744525e-12,  -2.4747726189750756e-13,
             -8.3344020781408417e-14, 9.4572449256424333e-14,  -5.2439410933000284e-14,
             2.1860525426374071e-14,  -7.1271452823686021e-15, 1.6122507401238943e-15,
             -1.2865196220783966e-16}},
    {0.8, {0.066131999731430706,    0.24616768970303867,     0.0073122257047650112,
           -0.00021277502040209014, 7.2256376677226449e-05,  -1.3842761380452674e-05,
           2.8406900909661835e-07,  6.0994386792443891e-07,  -2.3550587596738731e-07,
           5.3809712562316623e-08,  -5.7829622309405786e-09, -1.7391953725624411e-09,
           1.3591194773170066e-09,  -5.2556034282355334e-10, 1.4005987108645413e-10,
           -2.0141484758155395e-11, -4.5915030834821161e-12, 5.1478460742478225e-12,
           -2.548459957874092e-12,  9.1148555494364642e-13,  -2.3342280189363011e-13,
           2.3076324573620311e-14,  1.8935057795721392e-14,  -1.642433428147527e-14,
           8.455782528706858e-15,   -3.3504880717800325e-15, 1.0403564800085396e-15,
           -2.319211300947232e-16}},
};

/* By Clenshaw's recurrence. */
static double from_table(const struct table *table, double freedom)
{
    const double x = 2 / freedom - 1;
    double last = 0;
    double before = 0;
    for (int i = TERMS - 1; i > 0; i--) {
        const double now = 2 * x * last - before + table->term[i];
        before = last;
        last = now;
    }
    return exp(x * last - before + table->term[0]);
}

/* Whether the quantile lies above t. `guess`: what the table says it is; NAN: there is none. Near
 * the guess the distribution itself decides, so that a table changes no digit of the result. */
static bool lies_above(double t, double p, double freedom, double guess)
{
    if (fabs(t - guess) > 1e-11 * guess)
        return guess > t;
    return student_below(t, freedom) < p;
}

static double bisect(double p, double freedom, double guess)
{
    double high = 1;
    while (lies_above(high, p, freedom, guess))
        high *= 2;
    double low = 0;
    while (high - low > 1e-10 * high) {
        double middle = (low + high) / 2;
        if (lies_above(middle, p, freedom, guess))
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double student_solve(double p, double freedom)
{
    if (freedom < 1)
        freedom = 1;
    if (p < 0.5)
        return -student_solve(1 - p, freedom);
    return p < 1 ? bisect(p, freedom, NAN) : INFINITY;
}

double student_quantile(double p, double freedom)
{
    if (freedom < 1)
        freedom = 1;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (p == tables[i].p && freedom <= STUDENT_TABLE_MOST)
            return bisect(p, freedom, from_table(&tables[i], freedom));
    return student_solve(p, freedom);
}
