/* Other programs that use the cores: which, for the disturbances of a run to be named (method 8.2).
 *
 * All processes of the machine are gone through, which takes some microseconds each: so rarely that
 * it is no more than a thousandth of a core at first, and a third of that later. What a process
 * used since the last time counts for the programs of its name; one that comes and goes in between
 * is not seen. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervise/now.h"
#include "supervise/sources.h"

enum {
    PROCESSES_MOST = 16384,
    COST_OF = 3000,
    COST_OF_FIRST = 1000,
    FIRST_LOOKS = 8,
    OF_A_CORE = 20
};
static const int64_t apart_least_ns = 2000000000, first_ns = 300000000;

static uint16_t program_of(struct source_others *others, const char *name)
{
    for (size_t i = 0; i < others->programs; i++)
        if (strcmp(others->program[i].name, name) == 0)
            return (uint16_t)i;
    if (others->programs == OTHERS_MOST)
        return OTHERS_MOST;
    struct other_program *program = &others->program[others->programs];
    *program = (struct other_program){.number = 0};
    snprintf(program->name, sizeof program->name, "%s", name);
    return (uint16_t)others->programs++;
}

struct list {
    struct other_process *process;
    size_t count, capacity;
};

static bool add(struct list *list, const struct other_process *process)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? list->capacity * 2 : 256;
        struct other_process *grown =
            capacity > PROCESSES_MOST ? NULL : realloc(list->process, capacity * sizeof *grown);
        if (!grown)
            return false;
        list->process = grown;
        list->capacity = capacity;
    }
    list->process[list->count++] = *process;
    return true;
}

static int compare_pids(const void *pid, const void *process)
{
    const pid_t a = *(const pid_t *)pid, b = ((const struct other_process *)process)->pid;

    return (a > b) - (a < b);
}

/* What it used since the last look. One that is new has used all of it since then; but at the
 * first look, and of one that had only left the command, it is not known since when. */
static uint64_t gained(const struct source_others *others, const struct other_process *now)
{
    const struct other_process *before =
        others->count
            ? bsearch(&now->pid, others->process, others->count, sizeof *before, compare_pids)
            : NULL;

    if (before && before->start_ticks == now->start_ticks)
        return now->used_ticks > before->used_ticks ? now->used_ticks - before->used_ticks : 0;
    return others->is_begun && now->start_ticks >= others->newest_ticks ? now->used_ticks : 0;
}

static bool read_process(struct source_others *others, pid_t pid, struct other_process *out)
{
    char path[64], text[1024], name[PROGRAM_NAME_SIZE];
    struct proc_process stat;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (!proc_read(path, text, sizeof text) || !proc_text_process(text, &stat))
        return false;
    proc_text_name(text, name, sizeof name);
    *out = (struct other_process){.pid = pid,
                                  .program = program_of(others, name),
                                  .start_ticks = stat.start_ticks,
                                  .used_ticks = stat.user + stat.system};
    return true;
}

/* The kernel lists processes by pid. */
static void look(struct source_others *others)
{
    struct list now = {0};
    struct other_process process;
    uint64_t newest = others->newest_ticks;
    DIR *dir = opendir("/proc");
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid() || pid == getppid() ||
            source_tree_has(others->tree, pid, 0) || !read_process(others, pid, &process) ||
            !add(&now, &process))
            continue;
        newest = process.start_ticks > newest ? process.start_ticks : newest;
        if (process.program < OTHERS_MOST)
            others->program[process.program].used_ticks += gained(others, &process);
    }
    if (dir)
        closedir(dir);
    free(others->process);
    others->process = now.process;
    others->count = now.count;
    others->capacity = now.capacity;
    others->newest_ticks = newest;
}

/* From the time on at which it used a twentieth of a core. */
static void tell(struct source_others *others, int64_t passed_ns, struct sample_sink *sink)
{
    const int64_t tick_ns = INT64_C(1000000000) / sysconf(_SC_CLK_TCK);
    char key[24];

    for (size_t i = 0; i < others->programs; i++) {
        struct other_program *program = &others->program[i];
        const int64_t rose_ns = (int64_t)(program->used_ticks - program->before_ticks) * tick_ns;
        if (!program->number && others->told < OTHERS_TOLD && rose_ns * OF_A_CORE > passed_ns) {
            program->number = ++others->told;
            snprintf(key, sizeof key, "other.%u", (unsigned)program->number);
            sample_file_note(sink->file, key, program->name);
        }
        if (program->number)
            sample_value(sink, SS_COUNTER_ID_OTHER_CPU, program->number,
                         (double)program->used_ticks * (double)tick_ns);
        program->before_ticks = program->used_ticks;
    }
}

void source_others_read(void *source, struct sample_sink *sink)
{
    struct source_others *others = source;
    const int64_t begin_ns = now_ns();

    if (begin_ns < others->due_ns)
        return;
    const int64_t began_cpu_ns = now_cpu_ns();
    look(others);
    if (others->is_begun)
        tell(others, begin_ns - others->read_ns, sink);
    const int64_t apart_ns =
        (now_cpu_ns() - began_cpu_ns) * (others->looks++ < FIRST_LOOKS ? COST_OF_FIRST : COST_OF);
    others->due_ns = begin_ns + (!others->is_begun           ? first_ns
                                 : apart_ns > apart_least_ns ? apart_ns
                                                             : apart_least_ns);
    others->read_ns = begin_ns;
    others->is_begun = true;
}

void source_others_release(struct source_others *others)
{
    free(others->process);
    *others = (struct source_others){0};
}
