/* What the scenes of life_writer share. A scene returns the exit code of the program. */
#ifndef TESTS_LIFE_H
#define TESTS_LIFE_H

#include <sys/types.h>

struct scene {
    const char *name;
    int (*run)(char **arguments);
};

extern const struct scene process_scenes[], thread_scenes[], library_scenes[];

/* Records this many spans; each one's argument is its number. */
void record_spans(long count);

/* Tells the test what a file of this process must hold: spans, with those that are unfinished, and
 * ends without a begin. A process that must have no file says so, too. */
void say(long spans, long unbalanced, long unfinished);
void say_no_file(void);

/* Ends the program with a message if something is not so. */
void must(int so, const char *what);

void must_exit_with(pid_t child, int code);

/* A number in /proc/self/status; a number of lines in /proc/self/maps. */
long status_number(const char *key);
long mappings(void);

#endif
