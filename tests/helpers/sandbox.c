/* Runs a command under a filter of system calls.
 *
 *     sandbox kill|ERRNO CALL[,CALL...] COMMAND ...
 *
 * Each CALL is a number; such a call ends the process, or fails with that errno. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CALLS_MOST = 16, USAGE = 2, FAILED = 3 };

static unsigned short fill(struct sock_filter *code, char *calls, unsigned action)
{
    const struct sock_filter load =
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, action);
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    unsigned short count = 0;

    code[count++] = load;
    for (char *end = calls; *calls && count < 2 * CALLS_MOST; calls = *end ? end + 1 : end) {
        const unsigned call = (unsigned)strtoul(calls, &end, 10);
        const struct sock_filter is_it = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
        code[count++] = is_it;
        code[count++] = refuse;
    }
    code[count++] = allow;
    return count;
}

int main(int argc, char **argv)
{
    struct sock_filter code[2 * CALLS_MOST + 4];
    struct sock_fprog program = {.filter = code};

    if (argc < 4) {
        fprintf(stderr, "usage: sandbox kill|ERRNO CALL[,CALL...] COMMAND ...\n");
        return USAGE;
    }
    const unsigned action = strcmp(argv[1], "kill") == 0
                                ? SECCOMP_RET_KILL_PROCESS
                                : SECCOMP_RET_ERRNO | (unsigned)strtoul(argv[1], NULL, 10);
    program.len = fill(code, argv[2], action);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("sandbox");
        return FAILED;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return FAILED;
}
