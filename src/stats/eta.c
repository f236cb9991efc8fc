#include "stats/eta.h"

#include <math.h>

#include "stats/student.h"

struct interval eta_mean(int64_t count, double sum_ns, double sum_of_squares)
{
    if (count <= 0)
        return (struct interval){0, 0, INFINITY};
    double n = (double)count;
    double mean = sum_ns / n;
    double half = mean;
    if (count > 1) {
        double variance = fmax(sum_of_squares - n * mean * mean, 0) / (n - 1);
        half = student_quantile(0.975, n - 1) * sqrt(variance / n);
    }
    return (struct interval){fmax(mean - half, 0), mean, mean + half};
}

struct interval eta_left(const struct eta_part *parts, size_t count)
{
    double mid = 0;
    double below2 = 0;
    double above2 = 0;
    for (size_t i = 0; i < count; i++) {
        const struct eta_part *part = &parts[i];
        if (part->left <= 0)
            continue;
        double left = (double)part->left;
        double wider = sqrt(1 + (double)part->seen / left);
        double below = (part->mean_ns.mid - part->mean_ns.low) * left * wider;
        double above = (part->mean_ns.high - part->mean_ns.mid) * left * wider;
        mid += part->mean_ns.mid * left;
        below2 += below * below;
        above2 += above * above;
    }
    return (struct interval){fmax(mid - sqrt(below2), 0), mid, mid + sqrt(above2)};
}

enum eta_verdict eta_deadline(struct interval left, int64_t elapsed_ns,
                              int64_t deadline_ns)
{
    double room = (double)(deadline_ns - elapsed_ns);
    if (left.low > room)
        return ETA_MISSED;
    if (left.high <= room)
        return ETA_HOLDS;
    return isfinite(left.high) ? ETA_UNSURE : ETA_UNKNOWN;
}
