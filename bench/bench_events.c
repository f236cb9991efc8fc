/* What a scalar for TensorBoard costs us: CPU time and bytes, as the supervisor writes them.
 *
 *     bench_events DIR SCALARS AN_EVENT
 *
 * Writes SCALARS scalars, AN_EVENT of them in each event and one write an event, into a file in
 * DIR. Prints nanoseconds of CPU and bytes of file a scalar. For bench_tensorboard.py. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "export/event_file.h"

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int count, char **words)
{
    const long scalars = count == 4 ? strtol(words[2], NULL, 10) : 0;
    const long each = count == 4 ? strtol(words[3], NULL, 10) : 0;
    struct event_file file;
    struct event event = {0};
    char name[32];

    if (scalars < 1 || each < 1 || event_file_init(&file, words[1], "bench", false) != 0)
        return 2;
    const int64_t start_ns = cpu_ns();
    for (long done = 0; done < scalars; done += each) {
        event_begin(&event, INT64_C(1800000000000000000) + done, done);
        for (long i = 0; i < each; i++) {
            snprintf(name, sizeof name, "loss%.0ld", i); /* "loss", "loss1", ... */
            event_scalar(&event, "metrics", name, (double)(done + i));
        }
        event_file_add(&file, &event);
        event_file_flush(&file);
    }
    const int64_t took_ns = cpu_ns() - start_ns;
    if (file.given_up > 0 || event.failed)
        return 1;
    printf("%.1f %.1f\n", (double)took_ns / (double)scalars, (double)file.size / (double)scalars);
    event_release(&event);
    event_file_release(&file);
    return 0;
}
