/* What else happens on the cores that we may use: everything since the doctor began that was not the doctor. */
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "doctor/checks.h"
#include "supervise/allowed_cores.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

#define S_NS ((int64_t)1000000000)
#define WINDOW_NS (S_NS / 2) /* /proc/stat counts ticks of 10 ms */
#define LONG_GAP_NS (S_NS / 1000)

static const double BUSY_CORES = 0.5, BUSY_SHARE = 0.1, STEAL_SHARE = 0.02;

static int64_t cpu_ns(int who)
{
    struct rusage usage;

    if (getrusage(who, &usage) != 0)
        return 0;
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * S_NS +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void look(struct doctor_before *at)
{
    static char text[PROC_TEXT_SIZE];
    static struct proc_cpus cpus;
    struct allowed_cores allowed;
    uint64_t in = 0, out = 0;

    allowed_cores_look(&allowed);
    at->time_ns = now_ns();
    at->own_cpu_ns = cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN);
    at->has_cpus =
        proc_read("/proc/stat", text, sizeof text) && proc_text_cpus(text, &cpus);
    at->cores = allowed.count;
    if (!allowed_cores_busy(&allowed, &cpus, &at->busy_ticks)) {
        at->cores = cpus.count;
        at->busy_ticks = cpus.busy;
    }
    at->steal_ticks = cpus.steal;
    at->has_swaps = proc_read("/proc/vmstat", text, sizeof text) &&
                    proc_text_field(text, "pswpin", &in) &&
                    proc_text_field(text, "pswpout", &out);
    at->swaps = in + out;
}

void check_load_begin(struct doctor *doctor)
{
    look(&doctor->before);
}

static double seconds_of(uint64_t ticks)
{
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static bool say_others(struct doctor *doctor, const struct doctor_before *now,
                       double seconds)
{
    const struct doctor_before *before = &doctor->before;
    const double cores = (double)now->cores;
    const double own = (double)(now->own_cpu_ns - before->own_cpu_ns) / (double)S_NS;
    const double busy = seconds_of(now->busy_ticks - before->busy_ticks) - own;
    const double others = busy > 0 ? busy / seconds : 0;
    const bool is_busy = others >= BUSY_CORES || others >= BUSY_SHARE * cores;

    doctor_say(doctor, "other work", is_busy ? DOCTOR_WARN : DOCTOR_OK,
               "keeps %.2f of %zu core%s busy", others, now->cores,
               now->cores == 1 ? "" : "s");
    doctor_value(doctor, others, "cores");
    if (is_busy)
        doctor_advise(doctor, "stop it, or expect steps that vary: top shows what it is");
    return is_busy;
}

static bool say_steal(struct doctor *doctor, const struct doctor_before *now,
                      double seconds, double cores)
{
    char text[UNITS_SIZE];
    const double stolen = seconds_of(now->steal_ticks - doctor->before.steal_ticks);
    const bool is_much = stolen >= STEAL_SHARE * seconds * cores;

    doctor_say(doctor, "steal", is_much ? DOCTOR_WARN : DOCTOR_OK,
               "%s of the time taken by the hypervisor",
               units_share(text, stolen, seconds * cores));
    doctor_value(doctor, stolen / (seconds * cores), "share");
    if (is_much)
        doctor_advise(doctor,
                      "other guests of this host take its cores: take more steps, "
                      "or a dedicated host");
    return is_much;
}

/* `cause`: what a warning above says of the same time; NULL: nothing does. One cause, one warning. */
static void say_gap(struct doctor *doctor, const char *cause)
{
    char gap[UNITS_SIZE], time[UNITS_SIZE];
    const bool is_long = doctor->longest_gap_ns >= LONG_GAP_NS;

    if (doctor->spin_ns == 0)
        return;
    doctor_say(doctor, "gaps", is_long && !cause ? DOCTOR_WARN : DOCTOR_OK,
               "%s at most without the core, in %s%s%s",
               units_duration(gap, doctor->longest_gap_ns),
               units_duration(time, doctor->spin_ns), is_long && cause ? ": by " : "",
               is_long && cause ? cause : "");
    doctor_value(doctor, (double)doctor->longest_gap_ns, "ns");
    if (is_long && !cause)
        doctor_advise(
            doctor, "something takes the core now and then: take more steps to be sure");
}

static void say_swapping(struct doctor *doctor, const struct doctor_before *now)
{
    const uint64_t pages = now->swaps - doctor->before.swaps;

    doctor_say(doctor, "swapping", pages > 0 ? DOCTOR_WARN : DOCTOR_OK,
               pages > 0 ? "%llu pages moved" : "none", (unsigned long long)pages);
    doctor_value(doctor, (double)pages, "pages");
    if (pages > 0)
        doctor_advise(doctor, "memory is short: end what holds it before you measure");
}

/* A window of half a second at least, so that a tick more or less does not matter. */
static void let_time_pass(const struct doctor_before *before)
{
    const int64_t left = before->time_ns + WINDOW_NS - now_ns();

    if (left > 0)
        nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
}

void check_load(struct doctor *doctor)
{
    struct doctor_before now;

    let_time_pass(&doctor->before);
    look(&now);
    const double seconds = (double)(now.time_ns - doctor->before.time_ns) / (double)S_NS;
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    const char *cause = NULL;
    if (now.has_cpus && doctor->before.has_cpus) {
        if (say_others(doctor, &now, seconds))
            cause = "other work";
        if (say_steal(doctor, &now, seconds, cores))
            cause = cause ? "other work and steal" : "steal";
    } else {
        doctor_say_unknown(doctor, "other work", "/proc/stat cannot be read");
    }
    say_gap(doctor, cause);
    if (now.has_swaps && doctor->before.has_swaps)
        say_swapping(doctor, &now);
    else
        doctor_say_unknown(doctor, "swapping", "/proc/vmstat does not tell");
}
