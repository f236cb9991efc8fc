#include "diagnose/cheap_cures.h"

#include <math.h>
#include <string.h>

#include "read/run.h"
#include "stepscope/counters.h"
#include "summary/snapshot.h"

/* The threads of the pool waited for a core for this part of the time, each (as the loop,
 * method 8.2); and half of one was active on average (ours). */
static const double pool_waits = 0.02, pool_least = 0.5;

static bool is_any_set(const struct diagnosis_input *input, const char *const *variables)
{
    for (; *variables; variables++)
        if (cause_has_variable(input, *variables))
            return true;
    return false;
}

static double mean_of(const struct diagnosis_input *input, unsigned counter)
{
    const struct snap_resource *row =
        snapshot_value(input->snapshot, counter, run_pid(input->run, input->loop->process));

    return row ? row->mean : NAN;
}

/* TensorFlow and JAX compute in threads of their own, that may have the same name. With more
 * threads than cores libgomp hardly spins. */
void cure_spinning(struct finding *finding, const struct diagnosis_input *input)
{
    static const char *const variables[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME",
                                            NULL};
    const double threads = mean_of(input, SS_COUNTER_ID_POOL_THREADS),
                 waits = mean_of(input, SS_COUNTER_ID_POOL_WAIT) / 1e9 / threads,
                 runtime = mean_of(input, SS_COUNTER_ID_POOL_RUNTIME);
    const bool is_gnu = runtime < (SS_OPENMP_GNU + SS_OPENMP_LLVM) / 2.0;

    if (!(threads >= pool_least) || !(waits >= pool_waits) ||
        (!is_on_torch(input->framework) && input->framework != FRAMEWORK_OTHER))
        return;
    cause_more(finding->evidence,
               "; %.0f OpenMP %s (%s) had no core for %.0f %% of the time either", fmax(1, threads),
               threads < 1.5 ? "thread" : "threads", is_gnu ? "libgomp" : "libiomp or libomp",
               100 * fmin(1, waits));
    if (is_any_set(input, variables) ||
        (is_gnu && threads >= cause_cores(input) + pool_least && cause_cores(input) > 0))
        return;
    char advice[FINDING_TEXT_SIZE];
    memcpy(advice, finding->advice, sizeof advice);
    cause_text(
        finding->advice,
        "set OMP_WAIT_POLICY=passive, so that OpenMP threads sleep at barriers instead of spinning; then %s",
        advice);
}

void cure_fresh_memory(struct finding *finding, const struct diagnosis_input *input)
{
    static const char *const variables[] = {"MALLOC_TRIM_THRESHOLD_",
                                            "MALLOC_MMAP_THRESHOLD_",
                                            "MALLOC_MMAP_MAX_",
                                            "MALLOC_TOP_PAD_",
                                            "GLIBC_TUNABLES",
                                            "LD_PRELOAD",
                                            NULL};
    const struct ss_text libc = ss_run_info(input->run, input->loop->process, "libc");

    if (libc.size < 5 || memcmp(libc.data, "glibc", 5) != 0 || is_any_set(input, variables))
        return;
    cause_more(
        finding->advice,
        "; to make glibc keep freed memory, set MALLOC_TRIM_THRESHOLD_=-1 MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TOP_PAD_=268435456 in the environment");
}
