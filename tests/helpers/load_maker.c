/* A training loop that uses the machine in a known way and says how much it used.
 *
 *   load_maker SECONDS [early] [touch BYTES] [write FILE BYTES] [read FILE BYTES] [map FILE BYTES]
 *              [children COUNT MILLISECONDS] [unwaited MILLISECONDS] [hide]
 *              [threads COUNT] [aside] [fresh BYTES]
 *
 * Each step waits 5 ms (data) and burns 5 ms of CPU time (forward). What is asked for happens once,
 * after a quarter of the time, or before the loop if it is early; read and map take the file from
 * storage, not from the cache, as far as the file system allows. At the end one line of JSON: what
 * the kernel says was used; faults are those of what was asked for. Aside: the loop is in another
 * thread. Fresh: from then on each step takes that much memory from the kernel, page by page, and
 * gives it back. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stepscope/recorder.h"

enum { STEP_NS = 5000000, PIECE = 1 << 20, PAGE = 4096 };

static char piece[PIECE];
static long long unwaited_ns;
static int is_aside;
static size_t fresh_bytes;
static struct rusage before, after;

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

static void burn(int64_t ns)
{
    const int64_t until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns) {
    }
}

static void touch_memory(size_t bytes)
{
    static char *volatile memory; /* kept to the end */

    memory = malloc(bytes);
    if (!memory)
        abort();
    memset(memory, 1, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
}

static void take_fresh(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE); /* not where there are none */
    for (size_t at = 0; at < bytes; at += PAGE)
        *(volatile char *)(memory + at) = 1;
    munmap(memory, bytes);
}

static void write_file(const char *path, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    for (size_t done = 0; done < bytes; done += sizeof piece)
        if (write(fd, piece, sizeof piece) != sizeof piece)
            abort();
    if (fsync(fd) != 0)
        abort();
    close(fd);
}

/* A file that is on storage only. */
static int open_cold(const char *path, size_t bytes)
{
    write_file(path, bytes);
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        abort();
    return fd;
}

static void read_file(const char *path, size_t bytes)
{
    const int fd = open_cold(path, bytes);

    for (size_t done = 0; done < bytes; done += sizeof piece)
        if (read(fd, piece, sizeof piece) != sizeof piece)
            abort();
    close(fd);
}

static void map_file(const char *path, size_t bytes)
{
    const int fd = open_cold(path, bytes);
    const char *memory = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);

    if (memory == MAP_FAILED || madvise((void *)(uintptr_t)memory, bytes, MADV_RANDOM))
        abort();
    for (size_t at = 0; at < bytes; at += PAGE)
        (void)*(const volatile char *)(memory + at);
    close(fd);
}

/* A child that no parent accounts for: the kernel reaps it. */
static void have_unwaited(long ms)
{
    signal(SIGCHLD, SIG_IGN);
    const pid_t pid = fork();
    if (pid == 0) {
        burn(ms * 1000000);
        _exit(0);
    }
    unwaited_ns += ms * 1000000LL;
    if (pid < 0 || wait(NULL) != -1) /* until it is gone */
        abort();
    signal(SIGCHLD, SIG_DFL);
}

static void have_children(long count, long ms)
{
    for (long i = 0; i < count; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            burn(ms * 1000000);
            _exit(0);
        }
        if (waitpid(pid, NULL, 0) != pid)
            abort();
    }
}

static void *short_loop(void *barrier)
{
    for (int i = 0; i < 3; i++)
        ss_step(1);
    pthread_barrier_wait(barrier);
    for (;;)
        pause();
    return NULL;
}

/* Each has a loop, and stays. */
static void have_threads(unsigned count)
{
    static pthread_barrier_t barrier;
    pthread_t thread;

    if (pthread_barrier_init(&barrier, NULL, count + 1) != 0)
        abort();
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&thread, NULL, short_loop, &barrier) != 0)
            abort();
    pthread_barrier_wait(&barrier);
}

static const struct {
    const char *word;
    void (*act)(const char *path, size_t bytes);
} acts[] = {{"write", write_file}, {"read", read_file}, {"map", map_file}};

/* Returns how many words it was. */
static int do_one(char **words)
{
    const char *word = words[0];

    if (strcmp(word, "hide") == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        return 1;
    }
    if (strcmp(word, "aside") == 0) {
        is_aside = 1;
        return 1;
    }
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (strcmp(word, acts[i].word) == 0) {
            acts[i].act(words[1], strtoull(words[2], NULL, 10));
            return 3;
        }
    if (strcmp(word, "fresh") == 0)
        fresh_bytes = strtoull(words[1], NULL, 10);
    else if (strcmp(word, "touch") == 0)
        touch_memory(strtoull(words[1], NULL, 10));
    else if (strcmp(word, "threads") == 0)
        have_threads((unsigned)strtoul(words[1], NULL, 10));
    else if (strcmp(word, "unwaited") == 0)
        have_unwaited(strtol(words[1], NULL, 10));
    else
        have_children(strtol(words[1], NULL, 10), strtol(words[2], NULL, 10));
    return strcmp(word, "children") == 0 ? 3 : 2;
}

static void do_once(int count, char **words)
{
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < count;)
        i += do_one(words + i);
    getrusage(RUSAGE_SELF, &after);
}

struct training {
    int64_t seconds;
    int count; /* of what is done on the way */
    char **words;
};

static void *train(void *argument)
{
    const struct training *training = argument;
    const ss_name data = ss_intern("data", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    const ss_name forward =
        ss_intern("forward", SS_STAGE_FORWARD, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    const struct timespec pause = {0, STEP_NS};
    const int64_t begin_ns = now_ns(CLOCK_MONOTONIC), length_ns = training->seconds * 1000000000;
    int done = 0;

    for (int64_t age_ns = 0; age_ns < length_ns; age_ns = now_ns(CLOCK_MONOTONIC) - begin_ns) {
        ss_step(1);
        ss_begin(data, 0);
        nanosleep(&pause, NULL);
        ss_switch(forward, 0);
        burn(STEP_NS);
        if (fresh_bytes > 0)
            take_fresh(fresh_bytes);
        ss_end(0, 0);
        if (!done && age_ns > length_ns / 4) {
            do_once(training->count, training->words);
            done = 1;
        }
    }
    return NULL;
}

static unsigned long long field_of(const char *path, const char *key)
{
    char line[256];
    unsigned long long value = 0;
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoull(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static long long cpu_ns(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
}

int main(int argc, char **argv)
{
    unsigned long long ran = 0, waited = 0;
    struct rusage own;

    if (argc < 2)
        return 2;
    const int early = argc > 2 && strcmp(argv[2], "early") == 0;
    if (early)
        do_once(argc - 3, argv + 3);
    struct training training = {strtol(argv[1], NULL, 10), early ? 0 : argc - 2, argv + 2};
    pthread_t thread;
    if (!is_aside)
        train(&training);
    else if (pthread_create(&thread, NULL, train, &training) != 0 ||
             pthread_join(thread, NULL) != 0)
        return 1;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%llu %llu", &ran, &waited) != 2)
        return 1;
    fclose(file);
    getrusage(RUSAGE_SELF, &own);
    printf("{\"cpu_ns\": %lld, \"rss_bytes\": %lld, \"read_bytes\": %llu, "
           "\"wrote_bytes\": %llu, \"ran_ns\": %llu, \"waited_ns\": %llu, "
           "\"minor_faults\": %ld, \"major_faults\": %ld}\n",
           cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN) + unwaited_ns, own.ru_maxrss * 1024LL,
           field_of("/proc/self/io", "read_bytes:"), field_of("/proc/self/io", "write_bytes:"), ran,
           waited, after.ru_minflt - before.ru_minflt, after.ru_majflt - before.ru_majflt);
    return 0;
}
