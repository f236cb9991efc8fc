/* Records what its arguments say: `secret_writer NAME OBJECT MARK`, in this process, in one that it
 * forks, and in one that it clones without the handlers of fork(). */
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepscope/recorder.h"

static void record(char **words)
{
    const ss_name name = ss_intern(words[1], SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, words[2]);
    const ss_name note = ss_intern("note", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);

    ss_begin(name, 0);
    ss_mark(note, words[3]);
    ss_mark(note, NULL);
    ss_end(0, 0);
}

static int record_in(pid_t child, char **words)
{
    int status = -1;

    if (child == 0) {
        record(words);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char **words)
{
    if (count < 4)
        return 2;
    record(words);
    const int forked = record_in(fork(), words);
    const int cloned = record_in((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL), words);
    return forked && cloned ? 0 : 1;
}
