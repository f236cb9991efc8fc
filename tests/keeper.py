#!/usr/bin/python3
"""Runs a command and leaves no process of it behind.

    tests/keeper.py NOTE TIMEOUT_S COMMAND...

The keeper is the reaper of everything that the command starts, whatever its session or process group.
When the command has ended, its processes have GRACE_S to end too; what is left then is killed and
named. On SIGTERM, SIGINT or SIGHUP, after TIMEOUT_S, and when the parent of the keeper is gone, all of
it is killed at once.

NOTE becomes a JSON file: `code` (of the command; negative for a signal), `cpu_s` (of all processes),
`late` (it was killed after TIMEOUT_S) and `left` (command lines of what it left behind). The keeper
exits with 0 if it has written it.
"""

import ctypes
import glob
import json
import os
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GRACE_S = float(os.environ.get("KEEPER_GRACE_S", "30"))
STOPS = signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM


class Stopped(Exception):
    """By a signal, whose number is its argument."""


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def children_of(pid):
    """Of all its threads; [] if it is gone."""
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += map(int, file.read().split())
        except OSError:
            pass
    return found


def descendants():
    """All processes below this one, parents first."""
    found = children_of(os.getpid())
    for pid in found:
        found += children_of(pid)
    return found


def command_line(pid):
    """As one text; "" if the process is gone, a zombie or not yet a program of its own."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().replace("\0", " ").strip()
    except OSError:
        return ""


def kill_all():
    """Until none is left: one that is about to fork has its child seen in the next round."""
    while True:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


class Keeper:
    def __init__(self):
        self.code = None
        self.cpu_s = 0.0
        self.pid = None

    def start(self, command):
        """In a session of its own, with the signals as every program finds them."""
        self.pid = os.fork()
        if self.pid:
            return
        try:
            os.setsid()
            for number in (*STOPS, signal.SIGQUIT, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            os.execvp(command[0], command)
        except OSError as wrong:
            print(f"{command[0]}: {wrong.strerror}", file=sys.stderr, flush=True)
        os._exit(127)

    def reap(self, flags=0):
        """One process. False if none has ended."""
        pid, status, usage = os.wait4(-1, flags)
        self.cpu_s += usage.ru_utime + usage.ru_stime
        if pid == self.pid:
            self.code = os.waitstatus_to_exitcode(status)
        return pid != 0

    def wait_for_command(self):
        while self.code is None:
            self.reap()

    def wait_for_rest(self):
        """Command lines of what has not ended in time."""
        until = time.monotonic() + GRACE_S
        try:
            while time.monotonic() < until:
                if not self.reap(os.WNOHANG):
                    time.sleep(0.01)
        except ChildProcessError:
            return []
        return [line for line in map(command_line, descendants()) if line]


def be_stopped_no_more():
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


def stop(number, _frame):
    be_stopped_no_more()
    raise Stopped(number)


def main():
    note, timeout_s, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    parent = os.getppid()
    for number in STOPS:
        signal.signal(number, stop)
    keeper, late, left = Keeper(), False, []
    try:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            return 1
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        keeper.start(command)
        keeper.wait_for_command()
        left = keeper.wait_for_rest()
        be_stopped_no_more()
    except Stopped as stopped:
        if stopped.args[0] != signal.SIGALRM:
            kill_all()
            return 128 + stopped.args[0]
        late = True
    kill_all()
    with open(note, "w", encoding="utf-8") as file:
        json.dump({"code": keeper.code, "cpu_s": keeper.cpu_s, "late": late, "left": left}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
