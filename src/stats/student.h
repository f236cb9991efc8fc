/* Student's t distribution: how many standard errors an interval is wide (rule book 6.3). */
#ifndef STATS_STUDENT_H
#define STATS_STUDENT_H

/* The share of Student's t with `freedom` degrees, a fraction if need be, that lies below t. */
double student_below(double t, double freedom);

/* The t below which the share `p` of 0..1 lies, to 9 digits. Freedom below 1 counts as 1. */
double student_quantile(double p, double freedom);

#endif
