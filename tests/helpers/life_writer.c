/* Programs that live and die in all the ways there are, and record; tests/record/test_life.py runs
 * them.
 *
 *     life_writer SCENE [ARGUMENT ...]
 *
 * Lines "truth PID SPANS UNBALANCED UNFINISHED" say what must be found in a file of a process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "life.h"
#include "stepscope/recorder.h"

enum { WATCHDOG_S = 60 };

void record_spans(long count)
{
    static _Atomic ss_name once;
    if (!once)
        once = ss_intern("work", SS_STAGE_COMPUTE, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    const ss_name name = once;
    for (long i = 0; i < count; i++) {
        ss_begin(name, 0);
        ss_end(0, i);
    }
}

void say(long spans, long unbalanced, long unfinished)
{
    dprintf(STDOUT_FILENO, "truth %ld %ld %ld %ld\n", (long)getpid(), spans, unbalanced,
            unfinished);
}

void say_no_file(void)
{
    dprintf(STDOUT_FILENO, "truth %ld no file\n", (long)getpid());
}

void must(int so, const char *what)
{
    if (!so) {
        dprintf(STDERR_FILENO, "life_writer: %s\n", what);
        _exit(1);
    }
}

void must_exit_with(pid_t child, int code)
{
    int status = 0;
    must(child > 0 && waitpid(child, &status, 0) == child, "a child");
    must(WIFEXITED(status) && WEXITSTATUS(status) == code, "exit code of a child");
}

long status_number(const char *key)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    must(file != NULL, "/proc/self/status");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key) + 1, NULL, 10);
    fclose(file);
    return value;
}

long mappings(void)
{
    long lines = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    must(file != NULL, "/proc/self/maps");
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

static const struct scene *find(const struct scene *scenes, const char *name)
{
    for (; scenes->name; scenes++)
        if (strcmp(scenes->name, name) == 0)
            return scenes;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct scene *tables[] = {process_scenes, thread_scenes, library_scenes};
    alarm(WATCHDOG_S); /* what hangs is to fail */
    for (size_t i = 0; argc > 1 && i < sizeof tables / sizeof tables[0]; i++) {
        const struct scene *scene = find(tables[i], argv[1]);
        if (scene)
            return scene->run(argv + 2);
    }
    fprintf(stderr, "usage: life_writer SCENE [ARGUMENT ...]\n");
    return 2;
}
