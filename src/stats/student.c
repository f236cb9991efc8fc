#include "stats/student.h"

#include <math.h>

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
    double front =
        exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_below(double t, double freedom)
{
    double tail = beta_below(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
    return t > 0 ? 1 - tail : tail;
}

double student_quantile(double p, double freedom)
{
    if (freedom < 1)
        freedom = 1;
    if (p < 0.5)
        return -student_quantile(1 - p, freedom);
    if (p >= 1)
        return INFINITY;
    double high = 1;
    while (student_below(high, freedom) < p)
        high *= 2;
    double low = 0;
    while (high - low > 1e-10 * high) {
        double middle = (low + high) / 2;
        if (student_below(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
