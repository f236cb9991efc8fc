/* What the kernel lets us see: waits, stacks, hardware counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "doctor/checks.h"
#include "supervise/proc_file.h"
#include "supervise/proc_text.h"

static void say_pressure(struct doctor *doctor)
{
    char text[512];
    uint64_t some, full;

    if (proc_read("/proc/pressure/memory", text, sizeof text) &&
        proc_text_pressure(text, &some, &full)) {
        doctor_say(doctor, "pressure", DOCTOR_OK,
                   "waits for cores, memory and disks are seen");
        return;
    }
    doctor_say_unknown(doctor, "pressure", "this kernel has no /proc/pressure");
    doctor_advise(doctor, "boot it with psi=1 to see waits for memory and disks");
}

static void say_run_queue(struct doctor *doctor)
{
    char text[128];
    uint64_t ran, waited;

    if (proc_read("/proc/self/schedstat", text, sizeof text) &&
        proc_text_schedstat(text, &ran, &waited))
        doctor_say(doctor, "run queue", DOCTOR_OK,
                   "waits of a thread for a core are seen");
    else
        doctor_say_unknown(doctor, "run queue", "this kernel has no schedstat");
}

/* The sampler of Python stacks reads its own process in this way. */
static void say_own_memory(struct doctor *doctor)
{
    int there = 4711, here = 0;
    const struct iovec to = {&here, sizeof here}, from = {&there, sizeof there};

    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof here &&
        here == there) {
        doctor_say(doctor, "stacks", DOCTOR_OK, "a process may read its own memory");
        return;
    }
    const int why = errno;
    doctor_say(doctor, "stacks", DOCTOR_WARN, "process_vm_readv() on itself: %s",
               strerror(why));
    doctor_advise(doctor,
                  "Python stacks are read through /proc/self/mem instead; if that is "
                  "closed too, allow it in the seccomp profile");
}

/* A number that says who may do what. We need neither: it is told for those who compare tools. */
static void say_permission(struct doctor *doctor, const char *name, const char *path,
                           const char *const *meanings, long most)
{
    char text[32], *end;

    if (!proc_read(path, text, sizeof text)) {
        doctor_say_unknown(doctor, name, "the kernel does not say");
        return;
    }
    const long level = strtol(text, &end, 10);
    if (end == text) {
        doctor_say_unknown(doctor, name, "the kernel does not say");
        return;
    }
    const long meaning = level < 0 ? 0 : level > most ? most : level;
    doctor_say(doctor, name, DOCTOR_OK, "%s (not needed)", meanings[meaning]);
    doctor_value(doctor, (double)level, "level");
}

void check_counters(struct doctor *doctor)
{
    static const char *const perf[] = {"open to all", "open, but for the whole machine",
                                       "open for one's own processes, without the kernel",
                                       "closed to users"};
    static const char *const ptrace[] = {"open for one's own processes",
                                         "open for one's own children",
                                         "open for administrators only", "closed"};

    say_pressure(doctor);
    say_run_queue(doctor);
    say_own_memory(doctor);
    say_permission(doctor, "perf", "/proc/sys/kernel/perf_event_paranoid", perf, 3);
    if (access("/proc/sys/kernel/yama", F_OK) == 0)
        say_permission(doctor, "ptrace", "/proc/sys/kernel/yama/ptrace_scope", ptrace, 3);
    else
        doctor_say(doctor, "ptrace", DOCTOR_OK, "%s (not needed)", ptrace[0]);
}
