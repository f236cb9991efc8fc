#include "doctor/interpreters.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "supervise/now.h"

extern char **environ;

#define ANSWER_NS ((int64_t)1500000000) /* for all of them */

enum { CANDIDATES = 64, ANSWER_SIZE = PATH_MAX + 128 };

/* For any Python 3: where stepscope would be imported from is where the extension counts. */
static const char question[] =
    "import _imp, os, sys\n"
    "from importlib.machinery import PathFinder\n"
    "found = PathFinder.find_spec('stepscope')\n"
    "places = list(found.submodule_search_locations or ()) if found else []\n"
    "fits = any(os.path.exists(place + '/_core' + end)\n"
    "           for place in places + [sys.argv[1]] for end in _imp.extension_suffixes())\n"
    "print(sys.implementation.name, '%d.%d.%d' % sys.version_info[:3], int(fits),\n"
    "      int('t' in sys.abiflags), os.path.realpath(sys.executable))\n";

struct candidate {
    char path[PATH_MAX], real[PATH_MAX];
    bool is_first;
    pid_t pid; /* 0: it could not be started */
    int answer;
};

struct search {
    struct candidate *candidate;
    size_t count;
};

/* A script in place of an interpreter is a shim of pyenv or conda: it starts slowly, and what it
 * leads to is found elsewhere. Only the one that a user would get is worth it. */
static bool is_script(const char *path)
{
    char start[2] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool found = file >= 0 && read(file, start, 2) == 2 && memcmp(start, "#!", 2) == 0;

    if (file >= 0)
        close(file);
    return found;
}

static void consider(struct search *search, const char *path, bool is_first)
{
    char real[PATH_MAX];

    if (search->count == CANDIDATES || strlen(path) >= PATH_MAX || access(path, X_OK) != 0 ||
        !realpath(path, real) || (!is_first && is_script(real)))
        return;
    for (size_t i = 0; i < search->count; i++)
        if (strcmp(search->candidate[i].real, real) == 0)
            return;
    struct candidate *new = &search->candidate[search->count++];
    *new = (struct candidate){.is_first = is_first};
    memcpy(new->path, path, strlen(path) + 1);
    memcpy(new->real, real, strlen(real) + 1);
}

/* "python3.12" and "python3.14t", not "python3.12-config". */
static bool is_versioned(const char *path)
{
    const char *rest = strrchr(path, '/') + sizeof "/python3." - 1;

    while (isdigit((unsigned char)*rest))
        rest++;
    rest += *rest == 't';
    return *rest == '\0';
}

static bool consider_versioned(void *search, const char *path)
{
    if (is_versioned(path))
        consider(search, path, false);
    return true;
}

static void search_folder(struct search *search, const char *folder, size_t size, bool *has_first)
{
    struct buf path = {0}, first = {0};

    buf_add(&path, folder, size);
    buf_printf(&first, "%s/python3", buf_text(&path));
    if (!path.failed && !first.failed && !*has_first && access(first.data, X_OK) == 0) {
        *has_first = true;
        consider(search, first.data, true);
    }
    if (!path.failed)
        path_match(path.data, "python3.[0-9]*", consider_versioned, search);
    buf_release(&first);
    buf_release(&path);
}

static void search_all(struct search *search)
{
    const char *path = getenv("PATH"), *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
    bool has_first = false;
    struct buf pyenv = {0};

    for (const char *at = path ? path : ""; *at; at += *at == ':') {
        const size_t size = strcspn(at, ":");
        if (size > 0)
            search_folder(search, at, size, &has_first);
        at += size;
    }
    if (root && *root)
        buf_printf(&pyenv, "%s", root);
    else
        buf_printf(&pyenv, "%s/.pyenv", home ? home : "");
    if (!pyenv.failed)
        path_match(pyenv.data, "versions/*/bin/python3.[0-9]*", consider_versioned, search);
    buf_release(&pyenv);
}

static void start(struct candidate *candidate, const char *package)
{
    char alone[] = "-I", code[] = "-c";
    char *const words[] = {candidate->path,
                           alone,
                           code,
                           (char *)(uintptr_t)question,
                           (char *)(uintptr_t)package,
                           NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (posix_spawn(&candidate->pid, candidate->path, &actions, NULL, words, environ) != 0)
        candidate->pid = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    candidate->answer = ends[0];
    if (!candidate->pid)
        close(ends[0]);
}

/* All that it prints until it ends, or the time is over. */
static void read_answer(int file, int64_t deadline_ns, char out[ANSWER_SIZE])
{
    size_t size = 0;

    while (size < ANSWER_SIZE - 1) {
        const int64_t left = deadline_ns - now_ns();
        struct pollfd ready = {.fd = file, .events = POLLIN};
        if (left <= 0 || poll(&ready, 1, (int)(left / 1000000) + 1) <= 0)
            break;
        const ssize_t more = read(file, out + size, ANSWER_SIZE - 1 - size);
        if (more <= 0)
            break;
        size += (size_t)more;
    }
    out[size] = '\0';
}

bool interpreters_parse(const char *text, struct interpreter *out)
{
    const size_t size = strlen(text);
    const char *line = text + size;
    char extension[2], free_threaded[2];
    int begin = 0;

    while (line > text && line[-1] == '\n')
        line--;
    const char *end = line;
    while (line > text && line[-1] != '\n')
        line--;
    if (end - line >= PATH_MAX ||
        sscanf(line, "%31s %31s %1[01] %1[01] %n", out->implementation, out->version, extension,
               free_threaded, &begin) != 4 ||
        begin == 0 || line + begin >= end || line[begin] != '/') {
        out->implementation[0] = out->version[0] = '\0';
        return false;
    }
    memcpy(out->path, line + begin, (size_t)(end - line) - (size_t)begin);
    out->path[end - line - begin] = '\0';
    out->has_extension = extension[0] == '1';
    out->is_free_threaded = free_threaded[0] == '1';
    return true;
}

static void ask(struct candidate *candidate, int64_t deadline_ns, struct interpreter *out)
{
    char answer[ANSWER_SIZE];

    *out = (struct interpreter){.is_first = candidate->is_first};
    memcpy(out->path, candidate->path, sizeof out->path);
    if (!candidate->pid)
        return;
    read_answer(candidate->answer, deadline_ns, answer);
    close(candidate->answer);
    kill(candidate->pid, SIGKILL); /* it has answered, or never will */
    while (waitpid(candidate->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    out->answered = interpreters_parse(answer, out);
}

/* A shim is known by what it leads to. */
static bool is_known(const struct interpreter *list, size_t count, const struct interpreter *new)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].path, new->path) == 0)
            return true;
    return false;
}

size_t interpreters_find(struct interpreter *out, size_t most, const char *package)
{
    struct search search = {calloc(CANDIDATES, sizeof *search.candidate), 0};
    size_t count = 0;

    if (!search.candidate)
        return 0;
    search_all(&search);
    for (size_t i = 0; i < search.count; i++)
        start(&search.candidate[i], package);
    const int64_t deadline_ns = now_ns() + ANSWER_NS;
    for (size_t i = 0; i < search.count; i++) {
        struct interpreter found;
        ask(&search.candidate[i], deadline_ns, &found);
        if (count < most && !is_known(out, count, &found))
            out[count++] = found;
    }
    free(search.candidate);
    return count;
}
