/* What the training has of the machine: cores, limits, memory, GPUs, and what else uses them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "doctor/checks.h"
#include "render/units.h"
#include "supervise/allowed_cores.h"
#include "supervise/cgroup_limits.h"
#include "supervise/gpus.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

/* Cores that this process may use, and whether their clock changes with the load. */
static bool read_of_core(int core, const char *name, char *out, size_t size)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", core, name);
    if (!proc_read(path, out, size))
        return false;
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static void say_governor(struct doctor *doctor, int core)
{
    char governor[64], now[32], most[32];

    if (core < 0 || !read_of_core(core, "scaling_governor", governor, sizeof governor)) {
        doctor_say_unknown(doctor, "governor", "no cpufreq, as in most virtual machines");
        return;
    }
    const bool is_steady = strcmp(governor, "performance") == 0;
    const double now_ghz =
        read_of_core(core, "scaling_cur_freq", now, sizeof now) ? strtod(now, NULL) / 1e6 : 0;
    const double most_ghz =
        read_of_core(core, "cpuinfo_max_freq", most, sizeof most) ? strtod(most, NULL) / 1e6 : 0;
    doctor_say(doctor, "governor", is_steady ? DOCTOR_OK : DOCTOR_WARN,
               "%s, core %d at %.2f of %.2f GHz", governor, core, now_ghz, most_ghz);
    doctor_value(doctor, now_ghz * 1e9, "Hz");
    if (!is_steady)
        doctor_advise(
            doctor,
            "clocks follow the load; for steady numbers: cpupower frequency-set -g performance");
}

void check_cores(struct doctor *doctor)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    struct allowed_cores allowed;
    int first = -1;

    allowed_cores_look(&allowed);
    if (allowed.count == 0) {
        doctor_say_unknown(doctor, "cores", "the affinity cannot be read");
        say_governor(doctor, 0);
        return;
    }
    for (int core = 0; core < CPU_SETSIZE && first < 0; core++)
        first = CPU_ISSET((size_t)core, &allowed.set) ? core : -1;
    doctor_say(doctor, "cores", allowed.count < 2 ? DOCTOR_WARN : DOCTOR_OK, "%zu of %ld available",
               allowed.count, online);
    doctor_value(doctor, (double)allowed.count, "cores");
    if (allowed.count < 2)
        doctor_advise(
            doctor,
            "training, its data loaders and the recorder share one core; allow more with taskset or in the container's settings");
    say_governor(doctor, first);
}

/* Limits of CPU time and memory that a cgroup sets, as containers and job queues do. */

#define ROOT "/sys/fs/cgroup"
#define MB ((double)(1 << 20))

static const double little_bytes = 1024 * MB, too_little_bytes = 64 * MB;

static void say_cpu(struct doctor *doctor, struct cgroup_limit limit)
{
    struct allowed_cores allowed;

    allowed_cores_look(&allowed);
    if (!limit.is_seen) {
        doctor_say_unknown(doctor, "CPU", "no cgroup limit found");
        return;
    }
    if (limit.most == 0) {
        doctor_say(doctor, "CPU", DOCTOR_OK, "none");
        return;
    }
    const bool bites = limit.most < (double)allowed.count;
    doctor_say(doctor, "CPU", bites ? DOCTOR_WARN : DOCTOR_OK, "%.2f cores, limited by a cgroup",
               limit.most);
    doctor_value(doctor, limit.most, "cores");
    if (bites)
        doctor_advise(
            doctor,
            "all threads stop each time the limit is reached: start no more threads than that, or raise it");
}

static void say_memory(struct doctor *doctor, struct cgroup_limit limit)
{
    char left_text[UNITS_SIZE], most_text[UNITS_SIZE];

    if (!limit.is_seen) {
        doctor_say_unknown(doctor, "memory", "no cgroup limit found");
        return;
    }
    if (limit.most == 0) {
        doctor_say(doctor, "memory", DOCTOR_OK, "none");
        return;
    }
    const double left = limit.most > limit.used ? limit.most - limit.used : 0;
    const enum doctor_state state = left < too_little_bytes ? DOCTOR_BAD
                                    : left < little_bytes   ? DOCTOR_WARN
                                                            : DOCTOR_OK;
    doctor_say(doctor, "memory", state, "%s, limited by a cgroup; %s left",
               units_bytes(most_text, (uint64_t)limit.most),
               units_bytes(left_text, (uint64_t)left));
    doctor_value(doctor, limit.most, "bytes");
    if (state != DOCTOR_OK)
        doctor_advise(doctor, "raise it, or the training will be killed when it runs out");
}

void check_cgroup(struct doctor *doctor)
{
    char cgroups[4096];

    (void)proc_read("/proc/self/cgroup", cgroups, sizeof cgroups);
    say_cpu(doctor, cgroup_limit_cpu(ROOT, cgroups));
    say_memory(doctor, cgroup_limit_memory(ROOT, cgroups));
}

/* Memory that is left, and swap. */

#define KB ((uint64_t)1024)
#define LITTLE_BYTES (1024 * KB * KB)
#define TOO_LITTLE_BYTES (128 * KB * KB)

static void say_available(struct doctor *doctor, const char *meminfo)
{
    char left[UNITS_SIZE], all[UNITS_SIZE];
    uint64_t available, total;

    if (!proc_text_field(meminfo, "MemAvailable", &available) ||
        !proc_text_field(meminfo, "MemTotal", &total)) {
        doctor_say_unknown(doctor, "available", "cannot read /proc/meminfo");
        return;
    }
    const uint64_t bytes = available * KB;
    const enum doctor_state state = bytes < TOO_LITTLE_BYTES ? DOCTOR_BAD
                                    : bytes < LITTLE_BYTES   ? DOCTOR_WARN
                                                             : DOCTOR_OK;
    doctor_say(doctor, "available", state, "%s of %s", units_bytes(left, bytes),
               units_bytes(all, total * KB));
    doctor_value(doctor, (double)bytes, "bytes");
    if (state != DOCTOR_OK)
        doctor_advise(doctor, "free memory first, or the training will swap or be killed");
}

static void say_swap(struct doctor *doctor, const char *meminfo)
{
    char used[UNITS_SIZE], all[UNITS_SIZE];
    uint64_t total, left;

    if (!proc_text_field(meminfo, "SwapTotal", &total) ||
        !proc_text_field(meminfo, "SwapFree", &left) || left > total) {
        doctor_say_unknown(doctor, "swap", "cannot read /proc/meminfo");
        return;
    }
    if (total == 0)
        doctor_say(doctor, "swap", DOCTOR_OK, "none");
    else
        doctor_say(doctor, "swap", DOCTOR_OK, "%s of %s in use",
                   units_bytes(used, (total - left) * KB), units_bytes(all, total * KB));
    doctor_value(doctor, (double)((total - left) * KB), "bytes");
}

void check_memory(struct doctor *doctor)
{
    char meminfo[PROC_TEXT_SIZE];

    (void)proc_read("/proc/meminfo", meminfo, sizeof meminfo);
    say_available(doctor, meminfo);
    say_swap(doctor, meminfo);
}

/* What else happens on the cores that we may use: everything since the doctor began that was not
 * the doctor. */

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
    at->has_cpus = proc_read("/proc/stat", text, sizeof text) && proc_text_cpus(text, &cpus);
    at->cores = allowed.count;
    if (!allowed_cores_busy(&allowed, &cpus, &at->busy_ticks)) {
        at->cores = cpus.count;
        at->busy_ticks = cpus.busy;
    }
    at->steal_ticks = cpus.steal;
    at->has_swaps = proc_read("/proc/vmstat", text, sizeof text) &&
                    proc_text_field(text, "pswpin", &in) && proc_text_field(text, "pswpout", &out);
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

static bool say_others(struct doctor *doctor, const struct doctor_before *now, double seconds)
{
    const struct doctor_before *before = &doctor->before;
    const double cores = (double)now->cores;
    const double own = (double)(now->own_cpu_ns - before->own_cpu_ns) / (double)S_NS;
    const double busy = seconds_of(now->busy_ticks - before->busy_ticks) - own;
    const double others = busy > 0 ? busy / seconds : 0;
    const bool is_busy = others >= BUSY_CORES || others >= BUSY_SHARE * cores;

    doctor_say(doctor, "other work", is_busy ? DOCTOR_WARN : DOCTOR_OK,
               "keeps %.2f of %zu core%s busy", others, now->cores, now->cores == 1 ? "" : "s");
    doctor_value(doctor, others, "cores");
    if (is_busy)
        doctor_advise(doctor, "stop it, or expect noisy step times: top shows what it is");
    return is_busy;
}

static bool say_steal(struct doctor *doctor, const struct doctor_before *now, double seconds,
                      double cores)
{
    char text[UNITS_SIZE];
    const double stolen = seconds_of(now->steal_ticks - doctor->before.steal_ticks);
    const bool is_much = stolen >= STEAL_SHARE * seconds * cores;

    doctor_say(doctor, "steal", is_much ? DOCTOR_WARN : DOCTOR_OK,
               "%s of the time taken by the hypervisor",
               units_share(text, stolen, seconds * cores));
    doctor_value(doctor, stolen / (seconds * cores), "share");
    if (is_much)
        doctor_advise(
            doctor,
            "other guests use this host's cores: record more steps, or use a dedicated host");
    return is_much;
}

/* `cause`: what a warning above says of the same time; NULL: nothing does. One cause, one
 * warning. */
static void say_gap(struct doctor *doctor, const char *cause)
{
    char gap[UNITS_SIZE], time[UNITS_SIZE];
    const bool is_long = doctor->longest_gap_ns >= LONG_GAP_NS;

    if (doctor->spin_ns == 0)
        return;
    doctor_say(doctor, "gaps", is_long && !cause ? DOCTOR_WARN : DOCTOR_OK,
               "longest pause %s in %s%s%s", units_duration(gap, doctor->longest_gap_ns),
               units_duration(time, doctor->spin_ns), is_long && cause ? ": due to " : "",
               is_long && cause ? cause : "");
    doctor_value(doctor, (double)doctor->longest_gap_ns, "ns");
    if (is_long && !cause)
        doctor_advise(doctor, "something takes the core now and then: record more steps");
}

static void say_swapping(struct doctor *doctor, const struct doctor_before *now)
{
    const uint64_t pages = now->swaps - doctor->before.swaps;

    doctor_say(doctor, "swapping", pages > 0 ? DOCTOR_WARN : DOCTOR_OK,
               pages == 0   ? "none"
               : pages == 1 ? "%llu page moved"
                            : "%llu pages moved",
               (unsigned long long)pages);
    doctor_value(doctor, (double)pages, "pages");
    if (pages > 0)
        doctor_advise(doctor, "memory is short: free some before you measure");
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
        doctor_say_unknown(doctor, "swapping", "cannot read /proc/vmstat");
}

/* NVIDIA GPUs: can NVML be loaded, does it start, and what does it find? */
#define START_NS (S_NS / 2) /* a sleeping GPU takes longer, and must not count as a hang */

/* A driver without its library is a mistake; neither is a machine without such a GPU. */
static void say_no_library(struct doctor *doctor, const char *why)
{
    if (access("/dev/nvidiactl", F_OK) != 0 && access("/proc/driver/nvidia", F_OK) != 0) {
        doctor_say_unknown(doctor, "NVML", "no NVIDIA driver");
        return;
    }
    doctor_say(doctor, "NVML", DOCTOR_WARN, "NVIDIA driver found, but NVML failed: %s", why);
    doctor_advise(
        doctor, "install libnvidia-ml; in a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility");
}

static void say_found(struct doctor *doctor, struct gpus *gpus, int count)
{
    char name[GPUS_NAME_SIZE] = "";
    const int64_t until = now_ns() + START_NS;

    while (name[0] == '\0' && now_ns() < until) {
        gpus_name(gpus, 0, name);
        usleep(1000);
    }
    if (count == 1)
        doctor_say(doctor, "NVML", DOCTOR_OK, "1 GPU: %s", name);
    else
        doctor_say(doctor, "NVML", DOCTOR_OK, "%d GPUs, the first: %s", count, name);
    doctor_value(doctor, count, count == 1 ? "GPU" : "GPUs");
}

void check_gpus(struct doctor *doctor)
{
    struct gpus *gpus = gpus_start();
    const char *why = "no thread can be started";
    const int count = gpus ? gpus_wait(gpus, START_NS, &why) : GPUS_NO_START;

    if (count == GPUS_NO_LIBRARY) {
        say_no_library(doctor, why);
    } else if (count < 0) {
        doctor_say(doctor, "NVML", DOCTOR_WARN, "%s", why);
        doctor_advise(doctor, "run nvidia-smi to see why: GPUs will be missing in reports");
    } else if (count == 0) {
        doctor_say(doctor, "NVML", DOCTOR_OK, "no GPU found");
        doctor_value(doctor, 0, "GPUs");
    } else {
        say_found(doctor, gpus, count);
    }
    gpus_stop(gpus);
}
