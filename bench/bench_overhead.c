/* What recording costs a training: the steps of the built-in trainer, about 1.4 ms each, as
 * neighbouring pairs. Of each pair one step is recorded and one is not, in an order drawn for each
 * pair; what counts is the ratio of the two. Whatever disturbs the machine for longer than two
 * steps hits both, and the median over many pairs does not see what is shorter. Pairs of which
 * neither step is recorded run in between: their ratio is 1 but for the noise. On a machine that is
 * busy with other things the ratio of CPU times says more than that of wall times; no call of the
 * recorder waits.
 *
 * Beside it: what the events of a step cost by the recorder's own measurement, the CPU time of its
 * helper thread while every step is recorded, and that of `stepscope run` around a training.
 *
 * The recorder has no switch for single steps. Here its gate (src/record/gate.h) is closed and
 * opened between steps, so this program is linked with its parts. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clocks.h"
#include "demo/trainer.h"
#include "harness.h"
#include "record/gate.h"
#include "recording.h"

enum { STEP_NS = 1400000, WARM_UP = 300, CALIBRATION = 200 };

struct times { /* of a step, in ns; or the ratios of a pair */
    double wall, cpu;
};

struct bench {
    struct trainer trainer;
    const struct batch *batch;
    int32_t gate; /* its number while it is open */
    uint64_t recorded_steps;
    uint64_t random;
};

static void open_gate(const struct bench *bench, bool open)
{
    atomic_store(atomic_load(&gate_page), open ? bench->gate : GATE_OFF);
}

static double thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* One step as the trainer makes it, but for the wait: the batch is always the same. */
static struct times run_step(struct bench *bench, bool recorded)
{
    struct trainer *trainer = &bench->trainer;
    open_gate(bench, recorded);
    bench->recorded_steps += recorded;
    double cpu = thread_cpu_ns();
    int64_t start = clock_ns();
    ss_step((uint64_t)trainer->batch);
    part_begin(&trainer->data);
    part_end(&trainer->data);
    trainer_learn(trainer, bench->batch);
    double wall = (double)(clock_ns() - start);
    trainer->step++;
    return (struct times){wall, thread_cpu_ns() - cpu};
}

static bool draw_bit(struct bench *bench)
{
    bench->random ^= bench->random << 13;
    bench->random ^= bench->random >> 7;
    bench->random ^= bench->random << 17;
    return bench->random >> 40 & 1;
}

/* Ratio of a step, recorded or not, to a neighbour that is not. */
static struct times run_pair(struct bench *bench, bool recorded)
{
    bool first = draw_bit(bench);
    struct times a = run_step(bench, recorded && first);
    struct times b = run_step(bench, recorded && !first);
    return first ? (struct times){a.wall / b.wall, a.cpu / b.cpu}
                 : (struct times){b.wall / a.wall, b.cpu / a.cpu};
}

static void start_trainer(struct bench *bench, const struct demo_settings *settings)
{
    if (trainer_init(&bench->trainer, settings)) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    bench->batch = loader_next(&bench->trainer.loader);
    loader_stop(&bench->trainer.loader);
}

/* What a step takes when nothing disturbs it, as far as that happens here. */
static double quiet_step(struct bench *bench, bool recorded)
{
    double best = INFINITY;
    for (size_t i = 0; i < CALIBRATION; i++)
        best = fmin(best, run_step(bench, recorded).wall);
    return best;
}

/* As many samples as make a step of the wanted length. Nothing is recorded yet. */
static int calibrate(struct demo_settings *settings)
{
    static struct bench bench = {.gate = GATE_OFF};
    start_trainer(&bench, settings);
    double ns = quiet_step(&bench, false);
    trainer_release(&bench.trainer);
    double batch = settings->batch * (double)STEP_NS / ns;
    return batch < 8 ? 8 : batch > 1024 ? 1024 : (int)batch;
}

static double *new_ratios(size_t count)
{
    double *ratios = calloc(count, sizeof *ratios);
    if (!ratios) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    return ratios;
}

static void print_ratio(const char *what, struct interval ratio)
{
    printf("  %-38s %.5f [%.5f, %.5f]\n", what, ratio.middle, ratio.low, ratio.high);
}

/* A ratio is not resolved where that of the pairs of which no step is recorded is not 1. */
static void print_result(const char *name, struct interval recorded, struct interval twins,
                         const char *spoilt)
{
    double noise = fmax(twins.high - 1, 1 - twins.low);
    if (twins.low > 1 || twins.high < 1)
        noise = 1;
    result_print(name, recorded, 1.003, 0.003, noise, spoilt);
}

/* Spans of a step. */
static uint64_t spans_of(const struct bench *bench)
{
    const struct trainer *trainer = &bench->trainer;
    uint64_t callbacks = 0;
    for (int i = 0; i < TRAINER_CALLBACKS; i++)
        callbacks += trainer->callbacks[i].scope == SS_SCOPE_BATCH_BEGIN ||
                     trainer->callbacks[i].scope == SS_SCOPE_BATCH_END;
    return 4 + (uint64_t)trainer->network->count + callbacks;
}

struct row {
    struct interval wall, cpu;
};

static struct row medians(double *wall, double *cpu, size_t count)
{
    return (struct row){interval_of_median(wall, count), interval_of_median(cpu, count)};
}

static void run_pairs(struct bench *bench, struct row *twins, struct row *recorded)
{
    size_t pairs = bench_setting("BENCH_PAIRS", 15000);
    double *ratio[2][2]; /* by kind of pair and clock */
    for (int i = 0; i < 4; i++)
        ratio[i / 2][i % 2] = new_ratios(pairs);
    for (size_t i = 0; i < pairs; i++) {
        bool order = draw_bit(bench);
        for (int k = 0; k < 2; k++) {
            bool kind = order ^ k;
            struct times got = run_pair(bench, kind);
            ratio[kind][0][i] = got.wall;
            ratio[kind][1][i] = got.cpu;
        }
    }
    *twins = medians(ratio[0][0], ratio[0][1], pairs);
    *recorded = medians(ratio[1][0], ratio[1][1], pairs);
    printf("\n%zu pairs of each kind, steps of %d samples\n", pairs, bench->trainer.batch);
    for (int i = 0; i < 4; i++)
        free(ratio[i / 2][i % 2]);
}

/* Runs recorded steps until the recorder has written down the CPU time of its helper thread again,
 * which it does every second. */
static uint64_t next_helper_ns(struct bench *bench, const struct recording *recording)
{
    const volatile uint64_t *helper_ns = &recording->header->helper_cpu_ns;
    uint64_t before = *helper_ns;
    while (*helper_ns == before)
        run_step(bench, true);
    return *helper_ns;
}

/* Share of a core that the helper thread takes while every step is recorded. */
static double run_recorded(struct bench *bench, const struct recording *recording)
{
    size_t seconds = bench_setting("BENCH_SECONDS", 10);
    uint64_t before = next_helper_ns(bench, recording), after = before;
    int64_t start = clock_ns();
    while (clock_ns() - start < (int64_t)seconds * 1000000000)
        after = next_helper_ns(bench, recording);
    return (double)(after - before) / (double)(clock_ns() - start);
}

static double read_number(const char *path)
{
    char text[128] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = '\0';
        close(fd);
    }
    return strtod(text, NULL);
}

/* CPU time of the threads of a process, from the scheduler; 0 if it is gone. */
static double cpu_ns_of(pid_t pid)
{
    char path[PATH_MAX];
    double sum = 0;
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    while (threads && (entry = readdir(threads))) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
        sum += entry->d_name[0] == '.' ? 0 : read_number(path);
    }
    if (threads)
        closedir(threads);
    return sum;
}

/* Starts `stepscope run -- stepscope demo`, the command that lies beside this program. */
static pid_t start_supervised(const char *dir, const char *steps)
{
    char path[PATH_MAX] = "", command[PATH_MAX + 16];
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        return -1;
    snprintf(command, sizeof command, "%s/stepscope", dirname(path));
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execl(command, command, "run", "--dir", dir, "--", command, "demo", "--steps", steps,
              (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat;
    (void)kind;
    (void)place;
    return remove(path);
}

static void pause_ms(long ms)
{
    nanosleep(&(const struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Share of a core that the supervisor takes while a training runs; negative if it does not run. */
static double run_supervised(void)
{
    char dir[PATH_MAX];
    size_t seconds = bench_setting("BENCH_SECONDS", 10);
    snprintf(dir, sizeof dir, "%s/stepscope-bench-XXXXXX", recording_place());
    if (!mkdtemp(dir))
        return -1;
    pid_t pid = start_supervised(dir, "10000000");
    pause_ms(2000); /* past its start */
    int64_t start = clock_ns();
    double before = cpu_ns_of(pid);
    pause_ms((long)seconds * 1000);
    double share = (cpu_ns_of(pid) - before) / (double)(clock_ns() - start);
    bool ran = waitpid(pid, NULL, WNOHANG) == 0;
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return ran ? share : -1;
}

static void print_share(const char *result, const char *what, double share, double target)
{
    if (share < 0) {
        printf("  %-38s could not be run\n", what);
        return;
    }
    printf("  %-38s %.3f %% of a core\n", what, 100 * share);
    result_print(result, (struct interval){share, share, share}, target, target, 0, NULL);
}

int main(void)
{
    static struct bench bench = {.random = 0x9e3779b97f4a7c15u};
    struct demo_settings settings = DEMO_DEFAULTS;
    struct recording recording;
    struct row twins, recorded;
    char text[128];

    open_gate(&bench, false);
    settings.batch = calibrate(&settings);
    settings.batch = calibrate(&settings);
    start_trainer(&bench, &settings);
    atomic_store(atomic_load(&gate_page), GATE_UNDECIDED);
    recording_start(&recording);
    bench.gate = gate_now();
    for (int i = 0; i < WARM_UP; i++)
        run_step(&bench, i % 2);
    double step_ns = quiet_step(&bench, true);
    run_pairs(&bench, &twins, &recorded);
    double helper = run_recorded(&bench, &recording);
    open_gate(&bench, true);
    uint64_t spans = spans_of(&bench);
    struct recording_check check = recording_finish(&recording);
    const char *spoilt = recording_spoilt(check, spans * bench.recorded_steps, text, sizeof text);
    trainer_release(&bench.trainer);

    double cost_ns = (double)check.span_cost_ps / 1000 * (double)(spans + 2);
    print_ratio("not recorded / not recorded, wall time", twins.wall);
    print_ratio("recorded / not recorded, wall time", recorded.wall);
    print_ratio("not recorded / not recorded, CPU time", twins.cpu);
    print_ratio("recorded / not recorded, CPU time", recorded.cpu);
    printf("  %-38s %.0f ns = %.4f %% of a step of %.2f ms\n", "events of a step x their cost",
           cost_ns, 100 * cost_ns / step_ns, step_ns / 1e6);
    print_result("overhead_1ms", recorded.wall, twins.wall, spoilt);
    print_result("overhead_1ms_cpu", recorded.cpu, twins.cpu, spoilt);
    print_share("helper_thread", "helper thread", helper, 0.0015);
    print_share("supervisor", "supervisor", run_supervised(), 0.003);
    return 0;
}
