/* A training loop that is steered from outside, so that a test knows how far it has come.
 *
 *     steered_trainer <<<"steps 10"
 *
 * Says "ready", then reads lines: `steps N` makes N steps, `workers N` forks N processes one after
 * the other that record a span each, `leavers N` the same with workers that end by _exit(), `open`
 * opens a span that it leaves open. After each it says how many steps it has made. Ends with the
 * input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepscope/recorder.h"

static ss_name data, compute, work;

static void make_steps(long count)
{
    for (long i = 0; i < count; i++) {
        ss_step(32);
        ss_begin(data, 0);
        ss_switch(compute, SS_FLAG_TRAIN);
        ss_end(0, 0);
    }
}

/* exit() tells the recorder, _exit() does not. */
static void make_workers(long count, void (*leave)(int code))
{
    for (long i = 0; i < count; i++) {
        if (fork() == 0) {
            ss_begin(work, 0);
            ss_end(0, 0);
            leave(0);
        }
        wait(NULL);
    }
}

int main(void)
{
    char line[64];
    long steps = 0;

    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0); /* exit() of a worker would rewind a file */
    data = ss_intern("next batch", SS_STAGE_DATA, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    compute = ss_intern("train", SS_STAGE_COMPUTE, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    work = ss_intern("work", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    printf("ready\n");
    while (fgets(line, sizeof line, stdin)) {
        char *number = strchr(line, ' ');
        long count = number ? strtol(number, NULL, 10) : 0;
        if (strncmp(line, "steps", 5) == 0) {
            make_steps(count);
            steps += count;
        } else if (strncmp(line, "workers", 7) == 0) {
            make_workers(count, exit);
        } else if (strncmp(line, "leavers", 7) == 0) {
            make_workers(count, _exit);
        } else if (strncmp(line, "open", 4) == 0) {
            ss_begin(work, 0);
        }
        printf("%ld steps\n", steps);
    }
    return 0;
}
