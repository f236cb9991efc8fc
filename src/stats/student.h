/* Student's t distribution: how many standard errors an interval is wide (method 3.1). */
#ifndef STATS_STUDENT_H
#define STATS_STUDENT_H

/* The share of Student's t with `freedom` degrees, a fraction if need be, that lies below t. */
double student_below(double t, double freedom);

/* The t below which the share `p` of 0..1 lies, to 9 digits. Freedom below 1 counts as 1. For p of
 * 0.975 and 0.8 a table does most of the work, up to this many degrees of freedom. */
enum { STUDENT_TABLE_MOST = 512 };
double student_quantile(double p, double freedom);

/* The same without a table, bit for bit, with some 35 times as much work. */
double student_solve(double p, double freedom);

#endif
