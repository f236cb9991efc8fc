/* What the scenes of life_writer share. A scene returns the exit code of the program. */
#ifndef TESTS_LIFE_H
#define TESTS_LIFE_H

#include <sys/types.h>

struct scene {
    const char *name;
    int (*run)(char **arguments);
};

extern const struct scene process_scenes[], thread_scenes[], library_scenes[];

/* Records so many spans; each one's argument is its number. */
void record_spans(long count);

/* Tells the test what this process recorded, spans with those that end by themselves, and ends that
 * had no begin. A process that recorded nothing says so, too: then it must have no file. */
void say(long spans, long unbalanced, long unfinished);

/* Ends the program with a message if something is not so. */
void must(int so, const char *what);

void must_exit_with(pid_t child, int code);

/* A number in /proc/self/status; a number of lines in /proc/self/maps. */
long status_number(const char *key);
long mappings(void);

#endif
