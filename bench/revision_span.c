/* What a span costs with the recorder of this build, against that of another revision, both in one
 * process and one race.
 *
 *     revision_span OLD_LIBRARY NEW_LIBRARY FOLDER
 *     revision_span --write LIBRARY FOLDER SPANS     a training with that many spans, to report on
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "stepscope/recorder.h"

enum { OPERATIONS = 1000, WARM_UP = 100, ROUNDS = 1000, BATCH = 32 };
enum { SPANS_OF_A_STEP = 4, STEPS_TO_REST = 2000, REST_US = 5000 };

struct recorder {
    int (*start)(const struct ss_options *options);
    void (*stop)(void);
    ss_name (*intern)(const char *text, enum ss_stage stage, enum ss_role role, enum ss_scope scope,
                      const char *object);
    void (*begin)(ss_name name, unsigned flags);
    void (*end)(unsigned flags, int64_t arg);
    void (*change)(ss_name next, unsigned flags);
    void (*step)(uint64_t samples);
    ss_name name;
};

static struct recorder before, now;

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "bench: %s\n", dlerror());
        exit(1);
    }
    return found;
}

/* ISO C has no cast from an object's address to a function's; POSIX has the representation. */
#define GET(own, field, name)                                                                      \
    do {                                                                                           \
        void *const found = function(library, name);                                               \
        memcpy(&(own)->field, &found, sizeof found);                                               \
    } while (0)

/* The names of the library are its own: two revisions do not see each other. */
static void start(struct recorder *own, const char *path, const char *dir)
{
    const struct ss_options options = {.dir = dir, .rank = -1};
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "bench: %s\n", dlerror());
        exit(1);
    }
    GET(own, start, "ss_start");
    GET(own, stop, "ss_stop");
    GET(own, intern, "ss_intern");
    GET(own, begin, "ss_begin");
    GET(own, end, "ss_end");
    GET(own, change, "ss_switch");
    GET(own, step, "ss_step");
    if (own->start(&options) != 0) {
        fprintf(stderr, "bench: %s does not record into %s\n", path, dir);
        exit(1);
    }
    own->name = own->intern("bench", SS_STAGE_FORWARD, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
}

static void pairs(const struct recorder *own, size_t operations)
{
    for (size_t i = 0; i < operations; i++) {
        own->begin(own->name, 0);
        own->end(0, (int64_t)i);
    }
}

static void switches(const struct recorder *own, size_t operations)
{
    own->begin(own->name, 0);
    for (size_t i = 0; i < operations; i++)
        own->change(own->name, 0);
    own->end(0, 0);
}

static void pairs_before(unsigned thread, size_t operations)
{
    (void)thread;
    pairs(&before, operations);
}

static void pairs_now(unsigned thread, size_t operations)
{
    (void)thread;
    pairs(&now, operations);
}

static void switches_before(unsigned thread, size_t operations)
{
    (void)thread;
    switches(&before, operations);
}

static void switches_now(unsigned thread, size_t operations)
{
    (void)thread;
    switches(&now, operations);
}

/* The helpers of both recorders prepare what the next blocks need. */
static void rest(void)
{
    static unsigned rounds;
    if (++rounds % 20 == 0)
        usleep(REST_US);
}

static int compare(const char *old_library, const char *new_library, const char *folder)
{
    const struct contender contenders[] = {
        {.name = "pair, before", .run = pairs_before, .floor = 0},
        {.name = "the same again", .run = pairs_before, .floor = 0, .twin = true},
        {.name = "pair", .run = pairs_now, .floor = 0, .result = "against_pair", .target = 1.05},
        {.name = "switch, before", .run = switches_before, .floor = 3},
        {.name = "the same again", .run = switches_before, .floor = 3, .twin = true},
        {.name = "switch",
         .run = switches_now,
         .floor = 3,
         .result = "against_switch",
         .target = 1.05}};
    struct race race = {.title = "A span, with the recorder of both revisions",
                        .contenders = contenders,
                        .count = sizeof contenders / sizeof *contenders,
                        .threads = 1,
                        .operations = OPERATIONS,
                        .warm_up = WARM_UP,
                        .rounds = bench_setting("BENCH_ROUNDS", ROUNDS),
                        .between = rest};
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/before", folder);
    start(&before, old_library, dir);
    snprintf(dir, sizeof dir, "%s/now", folder);
    start(&now, new_library, dir);
    if (race_run(&race) != 0) {
        perror("race");
        return 1;
    }
    race_print_table(&race);
    race_print_results(&race, NULL);
    race_release(&race);
    before.stop();
    now.stop();
    return 0;
}

static int write_run(const char *library, const char *dir, unsigned long spans)
{
    static const struct {
        const char *text;
        enum ss_stage stage;
    } parts[SPANS_OF_A_STEP] = {{"batch", SS_STAGE_DATA},
                                {"forward", SS_STAGE_FORWARD},
                                {"backward", SS_STAGE_BACKWARD},
                                {"update", SS_STAGE_OPTIMIZER}};
    ss_name name[SPANS_OF_A_STEP];
    start(&now, library, dir);
    for (size_t i = 0; i < SPANS_OF_A_STEP; i++)
        name[i] = now.intern(parts[i].text, parts[i].stage, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    for (unsigned long step = 0; step < spans / SPANS_OF_A_STEP; step++) {
        now.step(BATCH);
        for (size_t i = 0; i < SPANS_OF_A_STEP; i++) {
            now.begin(name[i], 0);
            now.end(0, 0);
        }
        if (step % STEPS_TO_REST == 0)
            usleep(REST_US);
    }
    now.stop();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--write") == 0)
        return write_run(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    if (argc == 4)
        return compare(argv[1], argv[2], argv[3]);
    fprintf(stderr, "usage: revision_span OLD NEW FOLDER | --write LIBRARY FOLDER SPANS\n");
    return 2;
}
