#include "supervise/witness.h"

#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "supervise/descriptors.h"

/* Says once that it holds nothing of the command any more. Then answers questions, until the other
 * end of the socket is closed. */
static void testify(int fd)
{
    unsigned char signal = 0;

    descriptors_keep_only(&fd, 1);
    if (send(fd, &signal, 1, 0) != 1)
        return;
    while (recv(fd, &signal, 1, 0) == 1) {
        const struct timespec now = {0};
        sigset_t asked;
        sigemptyset(&asked);
        sigaddset(&asked, signal);
        unsigned char got = sigtimedwait(&asked, NULL, &now) == signal;
        if (send(fd, &got, 1, 0) != 1)
            break;
    }
}

void witness_start(struct witness *witness)
{
    int ends[2];

    *witness = (struct witness){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    witness->pid = fork();
    if (witness->pid == 0) {
        testify(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    unsigned char ready;
    if (witness->pid > 0 && recv(ends[0], &ready, 1, 0) == 1)
        witness->fd = ends[0];
    else
        close(ends[0]);
}

enum testimony witness_ask(struct witness *witness, int signal)
{
    unsigned char question = (unsigned char)signal, answer;

    if (witness->fd < 0)
        return WITNESS_IS_GONE;
    if (send(witness->fd, &question, 1, MSG_NOSIGNAL) == 1 &&
        recv(witness->fd, &answer, 1, 0) == 1)
        return answer ? WITNESS_GOT_IT : WITNESS_DID_NOT;
    witness_stop(witness);
    return WITNESS_IS_GONE;
}

void witness_stop(struct witness *witness)
{
    if (witness->fd >= 0)
        close(witness->fd);
    witness->fd = -1;
}
