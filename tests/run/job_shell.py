"""A shell with job control and nothing else, for tests: runs one command in the foreground.

    job_shell.py EVENTS ORDERS COMMAND ...

It is the leader of its session and owns its terminal (its standard input). On the descriptor EVENTS
it writes a line whenever the command changes: "stopped N", "exited N" or "killed N", with "core" behind
it after a core dump. A line on ORDERS lets a stopped command go on: "fg" as a shell does, in the
foreground, with SIGCONT to the whole group.
"""

import os
import signal
import sys


def tell(events, status):
    if os.WIFSTOPPED(status):
        line = f"stopped {os.WSTOPSIG(status)}"
    elif os.WIFSIGNALED(status):
        line = f"killed {os.WTERMSIG(status)}{' core' if os.WCOREDUMP(status) else ''}"
    else:
        line = f"exited {os.WEXITSTATUS(status)}"
    os.write(events, f"{line}\n".encode())


def start(command):
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    return pid


def main():
    events, orders = int(sys.argv[1]), os.fdopen(int(sys.argv[2]))
    os.set_inheritable(events, False)
    os.set_inheritable(orders.fileno(), False)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # to take the terminal back
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    pid = start(sys.argv[3:])
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        tell(events, status)
        if not os.WIFSTOPPED(status) or not orders.readline():
            break
        os.tcsetpgrp(0, pid)
        os.killpg(pid, signal.SIGCONT)


if __name__ == "__main__":
    main()
