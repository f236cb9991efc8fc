/* Scenes of life_writer: the recorder inside shared objects that come and go. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "life.h"

enum { ROUNDS = 50, ALLOCATORS = 4 };

static sem_t recorded, closed;

static void *loaded(void *library, const char *name)
{
    must(library != NULL, "a shared object");
    void *symbol = dlsym(library, name);
    must(symbol != NULL, name);
    return symbol;
}

/* Of a plugin, see plugin.c. */
typedef void record_function(long count);

static void *record_then_end(void *function)
{
    ((record_function *)(uintptr_t)function)(20);
    sem_post(&recorded);
    sem_wait(&closed);
    return NULL;
}

/* Each time a thread records through the plugin, and ends after it was closed. */
static int plugin_comes_and_goes(char **arguments)
{
    sem_init(&recorded, 0, 0);
    sem_init(&closed, 0, 0);
    for (int i = 1; i <= ROUNDS; i++) {
        void *plugin = dlopen(arguments[0], RTLD_NOW | RTLD_LOCAL);
        pthread_t thread;
        pthread_create(&thread, NULL, record_then_end, loaded(plugin, "plugin_record"));
        sem_wait(&recorded);
        must(dlclose(plugin) == 0, "dlclose");
        sem_post(&closed);
        pthread_join(thread, NULL);
        if (i == 5 || i == ROUNDS)
            dprintf(STDOUT_FILENO, "mappings %ld, %ld KB\n", mappings(), status_number("VmSize:"));
    }
    say(ROUNDS * 20L, 0, 0);
    return 0;
}

/* The program's own copy, that of the shared library, and that inside a plugin. */
static int copies_side_by_side(char **arguments)
{
    void *shared = dlopen(arguments[0], RTLD_NOW | RTLD_LOCAL);
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    void (*begin)(uint32_t, unsigned) = loaded(shared, "ss_begin");
    void (*end)(unsigned, int64_t) = loaded(shared, "ss_end");
    record_function *record = (record_function *)(uintptr_t)loaded(plugin, "plugin_record");
    for (int i = 0; i < 30; i++) {
        begin(0, 0);
        record_spans(1);
        end(0, i);
    }
    record(10);
    pid_t child = fork();
    if (child == 0) {
        record(5);
        say(5, 0, 0);
        exit(0);
    }
    must_exit_with(child, 0);
    say(30, 0, 0);
    say(30, 0, 0);
    say(10, 0, 0);
    return 0;
}

static void *allocate(void *unused)
{
    (void)unused;
    for (size_t i = 1; i <= 5000; i++) {
        unsigned char *memory = malloc(i % 500 + 1);
        must(memory != NULL, "memory");
        memory[0] = 1;
        free(memory);
    }
    return NULL;
}

/* With malloc_hook.c loaded before, each malloc is a span: in threads, forks and dlopen(). */
static int allocate_everywhere(char **arguments)
{
    pthread_t threads[ALLOCATORS];
    for (int i = 0; i < ALLOCATORS; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    for (int i = 0; i < 10; i++) {
        void *plugin = dlopen(arguments[0], RTLD_NOW | RTLD_LOCAL);
        pid_t child = fork();
        if (child == 0) {
            allocate(NULL);
            exit(0);
        }
        must_exit_with(child, 0);
        dlclose(plugin);
    }
    for (int i = 0; i < ALLOCATORS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

const struct scene library_scenes[] = {{"plugin_comes_and_goes", plugin_comes_and_goes},
                                       {"copies_side_by_side", copies_side_by_side},
                                       {"allocate_everywhere", allocate_everywhere},
                                       {NULL, NULL}};
