#include "supervise/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/risky_calls.h"
#include "supervise/descriptors.h"

void signals_block(struct signals *signals)
{
    sigset_t all;
    const struct sigaction standard = {.sa_handler = SIG_DFL};

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals->mask_before);
    sigaction(SIGCHLD, &standard, &signals->child_before);
    signals->fd = -1;
}

void signals_restore(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->child_before, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

bool signals_open(struct signals *signals)
{
    sigset_t all;

    sigfillset(&all);
    signals->fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

bool signals_next(const struct signals *signals, struct signalfd_siginfo *info)
{
    ssize_t got;

    do {
        got = read(signals->fd, info, sizeof *info);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *info;
}

/* Lets `signal` through with its usual effect and sends it. */
static void raise_for_real(int signal)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigset_t only;

    sigemptyset(&only);
    sigaddset(&only, signal);
    sigaction(signal, &standard, &before);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    sigprocmask(SIG_BLOCK, &only, NULL);
    sigaction(signal, &before, NULL);
}

void signals_stop_self(int signal)
{
    raise_for_real(signal);
}

void signals_die_by(int signal)
{
    const struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* where a program takes the core dumps */
    raise_for_real(signal);
}

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

enum { WITNESS_STARTS_MS = 5000, WITNESS_ANSWERS_MS = 500 };

static bool hear(int fd, unsigned char *byte, int patience_ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, patience_ms) == 1 && recv(fd, byte, 1, MSG_DONTWAIT) == 1;
}

void signal_witness_start(struct signal_witness *witness)
{
    int ends[2];

    *witness = (struct signal_witness){.fd = -1};
    if (risky_call_kills(RISKY_SOCKET_PAIR) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    witness->pid = fork();
    if (witness->pid == 0) {
        testify(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    unsigned char ready;
    if (witness->pid > 0 && hear(ends[0], &ready, WITNESS_STARTS_MS))
        witness->fd = ends[0];
    else
        close(ends[0]);
}

static bool is_our_child(pid_t pid)
{
    siginfo_t info = {0};

    return pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

/* A stop of the group stopped it too, and not every SIGCONT goes to the group. The one that wakes
 * it is taken out of its way again. */
static bool hear_woken(struct signal_witness *witness, unsigned char *answer)
{
    const unsigned char drain = SIGCONT;
    unsigned char ignored;

    if (!is_our_child(witness->pid) || kill(witness->pid, SIGCONT) != 0 ||
        !hear(witness->fd, answer, WITNESS_ANSWERS_MS))
        return false;
    return send(witness->fd, &drain, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 &&
           hear(witness->fd, &ignored, WITNESS_ANSWERS_MS);
}

enum testimony signal_witness_ask(struct signal_witness *witness, int signal)
{
    unsigned char question = (unsigned char)signal, answer;

    if (witness->fd < 0)
        return WITNESS_IS_GONE;
    const bool asked = send(witness->fd, &question, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    if (asked && hear(witness->fd, &answer, WITNESS_ANSWERS_MS))
        return answer ? WITNESS_GOT_IT : WITNESS_DID_NOT;
    if (asked && hear_woken(witness, &answer)) /* it was stopped: SIGCONT had not come to it */
        return answer && signal != SIGCONT ? WITNESS_GOT_IT : WITNESS_DID_NOT;
    signal_witness_stop(witness);
    return WITNESS_IS_GONE;
}

void signal_witness_stop(struct signal_witness *witness)
{
    if (witness->fd < 0)
        return;
    close(witness->fd);
    witness->fd = -1;
    if (is_our_child(witness->pid))
        kill(witness->pid, SIGKILL);
}
