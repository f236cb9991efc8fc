/* The counters that the supervisor samples, once for the writer and the reader. In a
 * run a counter is the name of SYSTEM records; its text here never changes its meaning.
 *
 *   X(id, text, unit, kind, subject, meaning)
 *
 * kind: GAUGE, a value at the time of the record; TOTAL, counted since some start, so that only
 * differences say something. subject: what the record's subject is. */
#ifndef STEPSCOPE_COUNTERS_H
#define STEPSCOPE_COUNTERS_H

#include <stdint.h>

#define SS_COUNTERS(X)                                                                             \
    X(CPU_BUSY, "cpu.busy", NS, TOTAL, CPU, "time in which a core worked; of all cores")           \
    X(CPU_ALLOWED, "cpu.allowed", CORES, GAUGE, NONE,                                              \
      "cores that the loops may use; before there are any, the command")                           \
    X(CPU_ALLOWED_BUSY, "cpu.allowed_busy", NS, TOTAL, NONE,                                       \
      "time in which those worked; recorded where they are not all")                               \
    X(CPU_ALLOWED_STEAL, "cpu.allowed_steal", NS, TOTAL, NONE,                                     \
      "time that the hypervisor took of those; recorded where they are not all")                   \
    X(CPU_STEAL, "cpu.steal", NS, TOTAL, NONE, "time that the hypervisor took, all cores")         \
    X(CPU_FREQUENCY, "cpu.frequency", HZ, GAUGE, CPU, "clock of a core it may use")                \
    X(CPU_THROTTLES, "cpu.throttles", COUNT, TOTAL, NONE, "slowed down by heat, cores it may use") \
    X(PSI_CPU, "psi.cpu.some", NS, TOTAL, NONE, "something waited for a core")                     \
    X(PSI_MEMORY, "psi.memory.some", NS, TOTAL, NONE, "memory pressure")                           \
    X(PSI_MEMORY_FULL, "psi.memory.full", NS, TOTAL, NONE, "all waited for memory")                \
    X(PSI_IO, "psi.io.some", NS, TOTAL, NONE, "something waited for input or output")              \
    X(PSI_IO_FULL, "psi.io.full", NS, TOTAL, NONE, "all waited for input or output")               \
    X(MEMORY_TOTAL, "memory.total", BYTES, GAUGE, NONE, "memory of the machine")                   \
    X(MEMORY_AVAILABLE, "memory.available", BYTES, GAUGE, NONE, "what could be had")               \
    X(SWAP_IN, "swap.in", BYTES, TOTAL, NONE, "read back from swap, whole machine")                \
    X(SWAP_OUT, "swap.out", BYTES, TOTAL, NONE, "written to swap, whole machine")                  \
    X(DISK_READ, "disk.read", BYTES, TOTAL, NONE, "read from disks, whole machine")                \
    X(DISK_WRITE, "disk.write", BYTES, TOTAL, NONE, "written to disks, whole machine")             \
    X(NET_RECEIVED, "net.received", BYTES, TOTAL, NONE, "all interfaces but loopback")             \
    X(NET_SENT, "net.sent", BYTES, TOTAL, NONE, "all interfaces but loopback")                     \
    X(CGROUP_CPU_LIMIT, "cgroup.cpu_limit", CORES, GAUGE, NONE, "cores it may use; 0: all")        \
    X(CGROUP_PERIODS, "cgroup.periods", COUNT, TOTAL, NONE, "periods of that limit")               \
    X(CGROUP_THROTTLED_PERIODS, "cgroup.throttled_periods", COUNT, TOTAL, NONE,                    \
      "of them, those in which the limit was hit")                                                 \
    X(CGROUP_THROTTLED, "cgroup.throttled", NS, TOTAL, NONE, "kept waiting by the limit")          \
    X(CGROUP_MEMORY_LIMIT, "cgroup.memory_limit", BYTES, GAUGE, NONE, "0: none")                   \
    X(CGROUP_MEMORY, "cgroup.memory", BYTES, GAUGE, NONE, "used of that limit")                    \
    X(PROCESS_USER, "process.user", NS, TOTAL, PID, "CPU time of a process")                       \
    X(PROCESS_SYSTEM, "process.system", NS, TOTAL, PID, "the same, in the kernel")                 \
    X(PROCESS_RSS, "process.rss", BYTES, GAUGE, PID, "memory of a process")                        \
    X(PROCESS_THREADS, "process.threads", COUNT, GAUGE, PID, "")                                   \
    X(PROCESS_MINOR_FAULTS, "process.minor_faults", COUNT, TOTAL, PID, "fresh pages")              \
    X(PROCESS_MAJOR_FAULTS, "process.major_faults", COUNT, TOTAL, PID, "pages read in")            \
    X(PROCESS_READ, "process.read", BYTES, TOTAL, PID, "read from storage")                        \
    X(PROCESS_WRITE, "process.write", BYTES, TOTAL, PID, "written to storage")                     \
    X(THREAD_CPU, "thread.cpu", NS, TOTAL, PID_TID, "CPU time of a loop thread")                   \
    X(THREAD_WAIT, "thread.wait", NS, TOTAL, PID_TID, "ready to run, but no core was free")        \
    X(THREAD_SWITCHES, "thread.switches", COUNT, TOTAL, PID_TID, "gave up its core")               \
    X(THREAD_PREEMPTIONS, "thread.preemptions", COUNT, TOTAL, PID_TID, "lost its core")            \
    X(THREAD_STATE, "thread.state", STATE, GAUGE, PID_TID, "0 runs, 1 waits, 2 waits for a disk")  \
    X(TREE_CPU, "tree.cpu", NS, TOTAL, NONE, "CPU time of the command and all below it")           \
    X(TREE_RSS, "tree.rss", BYTES, GAUGE, NONE, "memory of all of them")                           \
    X(TREE_PROCESSES, "tree.processes", COUNT, GAUGE, NONE, "")                                    \
    X(TREE_THREADS, "tree.threads", COUNT, GAUGE, NONE, "")                                        \
    X(TREE_READ, "tree.read", BYTES, TOTAL, NONE, "read from storage by all of them")              \
    X(TREE_WRITE, "tree.write", BYTES, TOTAL, NONE, "written to storage by all of them")           \
    X(POOL_THREADS, "pool.threads", COUNT, GAUGE, PID,                                             \
      "threads named as the loop's, as those of OpenMP are, that ran or were ready to")            \
    X(POOL_CPU, "pool.cpu", NS, TOTAL, PID, "CPU time of these")                                   \
    X(POOL_WAIT, "pool.wait", NS, TOTAL, PID, "they were ready to run, but no core was free")      \
    X(POOL_RUNTIME, "pool.runtime", STATE, GAUGE, PID,                                             \
      "OpenMP in that process: 0 none, 1 libgomp, 2 libiomp or libomp")                            \
    X(OTHER_CPU, "other.cpu", NS, TOTAL, NAME, "CPU time of other programs of one name, at least") \
    X(SELF_CPU, "self.cpu", NS, TOTAL, NONE, "CPU time of the supervisor")                         \
    X(GPU_BUSY, "gpu.busy", SHARE, GAUGE, GPU, "part of the time in which kernels ran")            \
    X(GPU_MEMORY_BUSY, "gpu.memory_busy", SHARE, GAUGE, GPU, "the same of its memory")             \
    X(GPU_MEMORY_USED, "gpu.memory_used", BYTES, GAUGE, GPU, "")                                   \
    X(GPU_MEMORY_TOTAL, "gpu.memory_total", BYTES, GAUGE, GPU, "")                                 \
    X(GPU_CLOCK, "gpu.clock", HZ, GAUGE, GPU, "of its processors")                                 \
    X(GPU_CLOCK_MOST, "gpu.clock_most", HZ, GAUGE, GPU, "the highest that it allows")              \
    X(GPU_MEMORY_CLOCK, "gpu.memory_clock", HZ, GAUGE, GPU, "")                                    \
    X(GPU_HELD, "gpu.held", BITS, GAUGE, GPU, "why clocks are held down, as NVML says it")         \
    X(GPU_HELD_HEAT, "gpu.held_heat", SHARE, GAUGE, GPU, "1 while heat holds them down")           \
    X(GPU_HELD_POWER, "gpu.held_power", SHARE, GAUGE, GPU, "1 while a cap on power does")          \
    X(GPU_HELD_HARDWARE, "gpu.held_hardware", SHARE, GAUGE, GPU,                                   \
      "1 while the hardware's own slowdown does")                                                  \
    X(GPU_HELD_OTHER, "gpu.held_other", SHARE, GAUGE, GPU,                                         \
      "1 while something else does that no user has set")                                          \
    X(GPU_POWER, "gpu.power", WATTS, GAUGE, GPU, "")                                               \
    X(GPU_POWER_LIMIT, "gpu.power_limit", WATTS, GAUGE, GPU, "")                                   \
    X(GPU_TEMPERATURE, "gpu.temperature", CELSIUS, GAUGE, GPU, "")                                 \
    X(GPU_RECEIVED, "gpu.received", BYTES_PER_S, GAUGE, GPU, "over PCIe")                          \
    X(GPU_SENT, "gpu.sent", BYTES_PER_S, GAUGE, GPU, "over PCIe")                                  \
    X(GPU_PROCESS_MEMORY, "gpu.process_memory", BYTES, GAUGE, GPU_PID,                             \
      "of a process of the run; pid 0: of all whose numbers are those of the host")

enum ss_counter_unit {
    SS_UNIT_NS,
    SS_UNIT_BYTES,
    SS_UNIT_COUNT,
    SS_UNIT_HZ,
    SS_UNIT_CORES,
    SS_UNIT_SHARE,
    SS_UNIT_STATE,
    SS_UNIT_BITS,
    SS_UNIT_WATTS,
    SS_UNIT_CELSIUS,
    SS_UNIT_BYTES_PER_S
};
enum ss_counter_kind { SS_COUNTER_GAUGE, SS_COUNTER_TOTAL };
enum ss_counter_subject {
    SS_SUBJECT_NONE,
    SS_SUBJECT_CPU, /* or SS_ALL_CPUS */
    SS_SUBJECT_PID,
    SS_SUBJECT_PID_TID, /* pid << 32 | tid */
    SS_SUBJECT_GPU,
    SS_SUBJECT_GPU_PID, /* gpu << 32 | pid */
    SS_SUBJECT_NAME     /* a number N: the info "other.N" of the supervisor's file is its name */
};
#define SS_ALL_CPUS UINT64_MAX
enum { SS_GPUS_MOST = 64 }; /* more are not looked at: one bit of a word each */

enum ss_openmp { SS_OPENMP_NONE, SS_OPENMP_GNU, SS_OPENMP_LLVM };
enum ss_thread_state { SS_THREAD_RUNS, SS_THREAD_WAITS, SS_THREAD_WAITS_FOR_DISK };

#define SS_ENUM_COUNTER(id, text, unit, kind, subject, meaning) SS_COUNTER_ID_##id,
enum ss_counter_id { SS_COUNTERS(SS_ENUM_COUNTER) SS_COUNTER_IDS };

#endif
