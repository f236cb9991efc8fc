/* Scenes of life_writer: fork, clone, exec, and how a process ends. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "life.h"
#include "stepscope/recorder.h"

enum { RECORDERS = 3, GENERATIONS = 3, CHILDREN = 3 };

extern char **environ;
static char program[] = "life_writer", leaf_scene[] = "leaf";
static char *const LEAF[] = {program, leaf_scene, NULL};
static const char SELF[] = "/proc/self/exe";

static int leaf(char **unused)
{
    (void)unused;
    record_spans(10);
    say(10, 0, 0);
    return 0;
}

static int fork_with_open_spans(char **unused)
{
    (void)unused;
    ss_name name = ss_intern("open", SS_STAGE_CALLBACK, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    ss_begin(name, 0);
    ss_begin(name, 0);
    record_spans(100);
    pid_t child = fork();
    if (child == 0) {
        ss_end(0, 0); /* of spans that the parent began: none of this process is open */
        ss_end(0, 0);
        record_spans(50);
        say(50, 2, 0);
        exit(3);
    }
    must_exit_with(child, 3);
    record_spans(100);
    ss_end(0, 0);
    ss_end(0, 0);
    say(202, 0, 0);
    return 0;
}

static atomic_bool enough;

static void *record_until_enough(void *count)
{
    while (!atomic_load(&enough)) {
        record_spans(1);
        atomic_fetch_add((atomic_long *)count, 1);
    }
    return NULL;
}

static void *fork_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            record_spans(10);
            say(10, 0, 0);
            _exit(0);
        }
        must_exit_with(child, 0);
    }
    return NULL;
}

static int fork_from_a_thread(char **unused)
{
    (void)unused;
    pthread_t recorders[RECORDERS], forker;
    static atomic_long counts[RECORDERS];
    for (int i = 0; i < RECORDERS; i++)
        pthread_create(&recorders[i], NULL, record_until_enough, &counts[i]);
    pthread_create(&forker, NULL, fork_many, NULL);
    pthread_join(forker, NULL);
    atomic_store(&enough, true);
    long sum = 0;
    for (int i = 0; i < RECORDERS; i++) {
        pthread_join(recorders[i], NULL);
        sum += counts[i];
    }
    say(sum, 0, 0);
    return 0;
}

static int fork_100_times(char **unused)
{
    (void)unused;
    pid_t children[100];
    record_spans(5);
    for (int i = 0; i < 100; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            record_spans(1);
            say(1, 0, 0);
            _exit(0);
        }
        record_spans(1);
    }
    for (int i = 0; i < 100; i++)
        must_exit_with(children[i], 0);
    say(105, 0, 0);
    return 0;
}

static void family(int generations)
{
    record_spans(5);
    say(5, 0, 0);
    pid_t children[CHILDREN];
    for (int i = 0; generations > 0 && i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            family(generations - 1);
            exit(0);
        }
    }
    for (int i = 0; generations > 0 && i < CHILDREN; i++)
        must_exit_with(children[i], 0);
}

static int fork_generations(char **unused)
{
    (void)unused;
    family(GENERATIONS);
    return 0;
}

/* Keeps the locks of the recorder busy: a clone finds them taken by a thread that it has not. */
static void *intern_until_enough(void *unused)
{
    (void)unused;
    char text[32];
    for (int i = 0; !atomic_load(&enough); i++) {
        snprintf(text, sizeof text, "name %d", i % 5000);
        ss_intern(text, SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
        (void)ss_status();
    }
    return NULL;
}

/* What the child of a clone does first, other than record. */
static void first_call(int which)
{
    if (which == 0) {
        ss_intern("cloned", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    } else if (which == 1) {
        (void)ss_status();
    } else if (which == 2) {
        (void)ss_ticks_of_ns(1000);
        (void)ss_start(NULL);
    } else if (which == 3) {
        ss_stop();
        must(ss_start(NULL) == 0, "start after stop in a clone");
    }
}

static int raw_clone(char **unused)
{
    (void)unused;
    pthread_t interner;
    pthread_create(&interner, NULL, intern_until_enough, NULL);
    record_spans(10);
    for (int i = 0; i < 50; i++) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            first_call(i % 5);
            record_spans(10);
            say(10, 0, 0);
            _exit(0);
        }
        must_exit_with(child, 0);
        record_spans(1);
    }
    atomic_store(&enough, true);
    pthread_join(interner, NULL);
    say(60, 0, 0);
    return 0;
}

/* Without recording, too, a child must not find a lock taken. */
static int fork_while_interning(char **unused)
{
    (void)unused;
    pthread_t interners[RECORDERS];
    for (int i = 0; i < RECORDERS; i++)
        pthread_create(&interners[i], NULL, intern_until_enough, NULL);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            ss_intern("forked", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
            _exit(0);
        }
        must_exit_with(child, 0);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(interners[i], NULL);
    return 0;
}

static int vfork_and_exec(char **unused)
{
    (void)unused;
    record_spans(10);
    pid_t child = vfork();
    if (child == 0) {
        execv(SELF, LEAF);
        _exit(1);
    }
    must_exit_with(child, 0);
    record_spans(10);
    say(20, 0, 0);
    return 0;
}

static void spawn_leaf(void)
{
    pid_t child = -1;
    must(posix_spawn(&child, SELF, NULL, NULL, LEAF, environ) == 0, "posix_spawn");
    must_exit_with(child, 0);
}

static int spawn(char **unused)
{
    (void)unused;
    record_spans(10);
    spawn_leaf();
    record_spans(10);
    say(20, 0, 0);
    return 0;
}

static int exec_itself(char **unused)
{
    (void)unused;
    record_spans(30);
    say(30, 0, 0);
    execv(SELF, LEAF);
    return 1;
}

static int daemonise(char **arguments)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    record_spans(10);
    say(10, 0, 0);
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        if (fork() != 0) {
            say_no_file();
            _exit(0);
        }
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
        must(chdir("/") == 0, "chdir");
        record_spans(20);
        must(open("/dev/null", O_RDONLY) == STDIN_FILENO, "descriptor 0 is free");
        must(open(arguments[0], O_WRONLY | O_CREAT, 0600) == STDOUT_FILENO, "so is 1");
        say(20, 0, 0);
        exit(0);
    }
    must_exit_with(middle, 0);
    int status = -1;
    must(wait(&status) > 0 && status == 0, "the daemon ends well");
    return 0;
}

/* Ends with its threads in the middle of recording: how far each was is in the file `counts`. */
static int end_with_threads(char **arguments)
{
    int fd = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0 && ftruncate(fd, sizeof(atomic_long[RECORDERS])) == 0, "the file of counts");
    atomic_long *counts =
        mmap(NULL, sizeof(atomic_long[RECORDERS]), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 0; i < RECORDERS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, record_until_enough, &counts[i]);
    }
    for (int i = 0; i < RECORDERS; i++)
        while (atomic_load(&counts[i]) < 20000)
            sched_yield();
    if (strcmp(arguments[0], "exit") == 0)
        exit(5);
    else if (strcmp(arguments[0], "_exit") == 0)
        _exit(6);
    else if (strcmp(arguments[0], "abort") == 0)
        abort();
    return 1;
}

static int return_with_open_spans(char **unused)
{
    (void)unused;
    ss_name name = ss_intern("open", SS_STAGE_EVAL, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    record_spans(10);
    ss_begin(name, 0);
    ss_begin(name, 0);
    record_spans(10);
    ss_begin(name, 0);
    say(23, 0, 3);
    return 9;
}

/* A tree of which some record and some do not. */
static int tree(char **unused)
{
    (void)unused;
    pid_t recorder = fork();
    if (recorder == 0) {
        record_spans(5);
        say(5, 0, 0);
        pid_t silent = fork();
        if (silent == 0) {
            say_no_file();
            exit(0);
        }
        must_exit_with(silent, 0);
        spawn_leaf();
        exit(4);
    }
    pid_t silent_parent = fork();
    if (silent_parent == 0) {
        ss_intern("never used", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
        must(strcmp(ss_status(), "off") == 0, "a name alone starts nothing");
        pid_t child = fork();
        if (child == 0) {
            record_spans(7);
            say(7, 0, 0);
            exit(0);
        }
        must_exit_with(child, 0);
        say_no_file();
        exit(0);
    }
    must_exit_with(recorder, 4);
    must_exit_with(silent_parent, 0);
    say_no_file();
    return 0;
}

/* Python says that a program with several threads forks if it finds some right after it did. */
static int count_threads(char **unused)
{
    (void)unused;
    record_spans(10);
    long before = status_number("Threads:");
    pid_t child = fork();
    if (child == 0) {
        dprintf(STDOUT_FILENO, "child %ld\n", status_number("Threads:"));
        record_spans(10);
        dprintf(STDOUT_FILENO, "recording child %ld\n", status_number("Threads:"));
        _exit(0);
    }
    dprintf(STDOUT_FILENO, "parent %ld then %ld\n", before, status_number("Threads:"));
    must_exit_with(child, 0);
    return 0;
}

const struct scene process_scenes[] = {{"leaf", leaf},
                                       {"fork_with_open_spans", fork_with_open_spans},
                                       {"fork_from_a_thread", fork_from_a_thread},
                                       {"fork_100_times", fork_100_times},
                                       {"fork_generations", fork_generations},
                                       {"fork_while_interning", fork_while_interning},
                                       {"raw_clone", raw_clone},
                                       {"vfork_and_exec", vfork_and_exec},
                                       {"spawn", spawn},
                                       {"exec_itself", exec_itself},
                                       {"daemonise", daemonise},
                                       {"end_with_threads", end_with_threads},
                                       {"return_with_open_spans", return_with_open_spans},
                                       {"tree", tree},
                                       {"count_threads", count_threads},
                                       {NULL, NULL}};
