#include "ticks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static int kernel_keeps_time_with(const char *source)
{
    char text[64] = {0};
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    size_t len = strlen(source);
    return n > (ssize_t)len && strncmp(text, source, len) == 0 && text[len] == '\n';
}

enum ss_clock ticks_choose(void)
{
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx = 0;
    int readable = 0;
    int invariant = __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8));
    if (prctl(PR_GET_TSC, &readable) == 0 && readable == PR_TSC_ENABLE && invariant &&
        kernel_keeps_time_with("tsc"))
        return SS_CLOCK_TSC;
#elif defined(__aarch64__)
    if (kernel_keeps_time_with("arch_sys_counter"))
        return SS_CLOCK_ARM;
#endif
    return SS_CLOCK_RAW;
}

void ticks_read_pair(enum ss_clock clock, int tries, struct ticks_pair *out)
{
    out->bracket_ticks = UINT64_MAX;
    for (int i = 0; i < tries; i++) {
        uint64_t before = ticks_now(clock);
        int64_t raw = ticks_clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t after = ticks_now(clock);
        if (after - before < out->bracket_ticks) {
            out->bracket_ticks = after - before;
            out->ticks = clock == SS_CLOCK_RAW ? (uint64_t)raw : before + (after - before) / 2;
            out->raw_ns = raw;
            out->realtime_ns = ticks_clock_ns(CLOCK_REALTIME);
        }
    }
}

uint64_t ticks_per_second(const struct ticks_pair *a, const struct ticks_pair *b)
{
    int64_t ns = b->raw_ns - a->raw_ns;
    if (ns <= 0 || b->ticks <= a->ticks)
        return 0;
    return (uint64_t)((unsigned __int128)(b->ticks - a->ticks) * 1000000000u / (uint64_t)ns);
}
