/* What measuring costs here, what the kernel lets us see, and what this build has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "doctor/checks.h"
#include "render/units.h"
#include "stepscope/error.h"
#include "stepscope/recorder.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

#define MS_NS ((int64_t)1000000)
#define SPIN_NS (100 * MS_NS)
#define SLOW_READ_NS 100 /* the kernel has no fast way to this clock */

enum { BATCH = 1000 };

/* The clock: what a read costs, whether it ever runs backwards, and (for doctor->longest_gap_ns)
 * how long the longest gap is in a loop that does nothing but read it. */
struct spin {
    int64_t longest_gap_ns;
    double read_ns; /* of the fastest 1000 in a row: what a read costs undisturbed */
    uint64_t backwards;
};

static struct spin spin_around(void)
{
    struct spin spin = {.read_ns = 1e9};
    const int64_t begin = now_raw_ns();
    int64_t last = begin;

    while (last - begin < SPIN_NS && spin.backwards == 0) {
        const int64_t batch_begin = last;
        for (int i = 0; i < BATCH; i++) {
            const int64_t now = now_raw_ns();
            if (now - last > spin.longest_gap_ns)
                spin.longest_gap_ns = now - last;
            spin.backwards += now < last;
            last = now;
        }
        const double each = (double)(last - batch_begin) / BATCH;
        spin.read_ns = each < spin.read_ns ? each : spin.read_ns;
    }
    return spin;
}

static void say_source(struct doctor *doctor)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
    char text[64];

    if (!proc_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
                   sizeof text)) {
        doctor_say_unknown(doctor, "source", "the kernel does not name its clock");
        return;
    }
    text[strcspn(text, "\n")] = '\0';
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
        if (strcmp(text, slow[i]) != 0)
            continue;
        doctor_say(doctor, "source", DOCTOR_WARN, "%s, which is slow and coarse", text);
        doctor_advise(doctor, "check the kernel log for why it does not trust the TSC");
        return;
    }
    doctor_say(doctor, "source", DOCTOR_OK, "%s", text);
}

static void say_reads(struct doctor *doctor, const struct spin *spin)
{
    char cost[UNITS_SIZE];
    const bool is_slow = spin->read_ns > SLOW_READ_NS;

    if (spin->backwards > 0) {
        doctor_say(doctor, "reads", DOCTOR_BAD, "the clock ran backwards");
        doctor_advise(doctor, "do not trust any time measured here: use another machine");
        return;
    }
    doctor_say(doctor, "reads", is_slow ? DOCTOR_WARN : DOCTOR_OK, "%s each, never backwards",
               units_duration(cost, (int64_t)spin->read_ns));
    doctor_value(doctor, spin->read_ns, "ns");
    if (is_slow)
        doctor_advise(doctor, "stages shorter than 100 times that cannot be measured well here");
}

void check_clock(struct doctor *doctor)
{
    const struct spin spin = spin_around();

    say_source(doctor);
    say_reads(doctor, &spin);
    doctor->spin_ns = spin.backwards == 0 ? SPIN_NS : 0;
    doctor->longest_gap_ns = spin.longest_gap_ns;
}

/* What a span costs here: recorded through the public interface, as any program does. */

enum { SPANS = 2000, TRIES = 20, USUAL_NS = 300 };

/* The fastest of several: what else happens on the machine is not the span's. */
static double fastest_ns(void)
{
    const ss_name name = ss_intern("doctor", SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    double best = 1e9;

    for (int i = 0; i < TRIES; i++) {
        const int64_t begin = now_raw_ns();
        for (int k = 0; k < SPANS; k++) {
            ss_begin(name, 0);
            ss_end(0, 0);
        }
        const double each = (double)(now_raw_ns() - begin) / SPANS;
        best = each < best ? each : best;
    }
    return best;
}

void check_span(struct doctor *doctor)
{
    const struct ss_options options = {.dir = doctor->probe, .rank = -1};
    char cost[UNITS_SIZE];

    if (doctor->probe[0] == '\0') {
        doctor_say_unknown(doctor, "a span", "the run directory cannot be written");
        return;
    }
    const int failed = ss_start(&options);
    if (failed) {
        check_place_end(doctor);
        doctor_say(doctor, "a span", DOCTOR_BAD, "cannot record one: %s", ss_error_text(failed));
        doctor_advise(doctor, "choose another place with --dir");
        return;
    }
    const double ns = fastest_ns();
    ss_stop();
    check_place_end(doctor);
    doctor_say(doctor, "a span", ns > USUAL_NS ? DOCTOR_WARN : DOCTOR_OK,
               "costs %s; 100 per step cost %s", units_duration(cost, (int64_t)ns),
               units_duration((char[UNITS_SIZE]){0}, (int64_t)(100 * ns)));
    doctor_value(doctor, ns, "ns");
    if (ns > USUAL_NS)
        doctor_advise(doctor, "30 ns is typical: the clock is slow, or the machine is emulated");
}

/* What the kernel lets us see: waits, stacks, hardware counters. */

static void say_pressure(struct doctor *doctor)
{
    char text[512];
    uint64_t some, full;

    if (proc_read("/proc/pressure/memory", text, sizeof text) &&
        proc_text_pressure(text, &some, &full)) {
        doctor_say(doctor, "pressure", DOCTOR_OK, "waits for cores, memory and disks are measured");
        return;
    }
    doctor_say_unknown(doctor, "pressure", "this kernel has no /proc/pressure");
    doctor_advise(doctor, "boot with psi=1 to measure waits for memory and disks");
}

static void say_run_queue(struct doctor *doctor)
{
    char text[128];
    uint64_t ran, waited;

    if (proc_read("/proc/self/schedstat", text, sizeof text) &&
        proc_text_schedstat(text, &ran, &waited))
        doctor_say(doctor, "run queue", DOCTOR_OK, "waits of a thread for a core are measured");
    else
        doctor_say_unknown(doctor, "run queue", "this kernel has no schedstat");
}

/* The sampler of Python stacks reads its own process in this way. */
static void say_own_memory(struct doctor *doctor)
{
    int there = 4711, here = 0;
    const struct iovec to = {&here, sizeof here}, from = {&there, sizeof there};

    const bool kills = risky_call_kills(RISKY_OWN_MEMORY);
    if (!kills && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof here &&
        here == there) {
        doctor_say(doctor, "stacks", DOCTOR_OK, "a process may read its own memory");
        return;
    }
    const char *const why = kills ? "a filter of system calls kills for it" : strerror(errno);
    doctor_say(doctor, "stacks", DOCTOR_WARN, "process_vm_readv() on itself: %s", why);
    doctor_advise(
        doctor,
        "Python stacks are read through /proc/self/mem instead; if that is blocked too, allow it in the seccomp profile");
}

/* A number that says who may do what. We need neither: it is shown for those who compare tools. */
static void say_permission(struct doctor *doctor, const char *name, const char *path,
                           const char *const *meanings, long most)
{
    char text[32], *end;

    if (!proc_read(path, text, sizeof text)) {
        doctor_say_unknown(doctor, name, "the kernel does not report it");
        return;
    }
    const long level = strtol(text, &end, 10);
    if (end == text) {
        doctor_say_unknown(doctor, name, "the kernel does not report it");
        return;
    }
    const long meaning = level < 0 ? 0 : level > most ? most : level;
    doctor_say(doctor, name, DOCTOR_OK, "%s (not needed)", meanings[meaning]);
    doctor_value(doctor, (double)level, "level");
}

void check_counters(struct doctor *doctor)
{
    static const char *const perf[] = {"open to all", "open, except machine-wide",
                                       "own processes only, without kernel events",
                                       "closed to users"};
    static const char *const ptrace[] = {"own processes", "own child processes only",
                                         "administrators only", "closed"};

    say_pressure(doctor);
    say_run_queue(doctor);
    say_own_memory(doctor);
    say_permission(doctor, "perf", "/proc/sys/kernel/perf_event_paranoid", perf, 3);
    if (access("/proc/sys/kernel/yama", F_OK) == 0)
        say_permission(doctor, "ptrace", "/proc/sys/kernel/yama/ptrace_scope", ptrace, 3);
    else
        doctor_say(doctor, "ptrace", DOCTOR_OK, "%s (not needed)", ptrace[0]);
}

/* What this stepscope was built without: SS_LEFT_OUT, which meson.build makes with the reasons. */
void check_build(struct doctor *doctor)
{
    if (SS_LEFT_OUT[0] == '\0') {
        doctor_say(doctor, "features", DOCTOR_OK, "all are built in");
        return;
    }
    doctor_say(doctor, "features", DOCTOR_WARN, "built without " SS_LEFT_OUT);
    doctor_advise(
        doctor, "install a wheel of stepscope, which has all, or what is missing, and build again");
}
