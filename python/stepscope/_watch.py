"""The machine beside a recording that no `stepscope run` supervises: a process of the command takes the
same samples of it. Without the command, or where it cannot be started, there are none."""

import atexit
import os
import socket

from . import _command

_PATIENCE_S = 10
_watched = None  # the socket that the process of the command listens to, and whose it is


def _spawn(command, run, theirs):
    with open(os.devnull, "r+b", buffering=0) as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                   (os.POSIX_SPAWN_DUP2, nothing.fileno(), 1),
                   (os.POSIX_SPAWN_DUP2, nothing.fileno(), 2)]
        child = os.posix_spawn(command, ["stepscope", "_watch", run, str(os.getpid())], os.environ,
                               file_actions=actions)
    os.waitpid(child, 0)  # what watches is no child of ours


def _begin(run):
    command = _command.find()
    if command is None:
        return None
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            _spawn(command, os.path.abspath(run), theirs)
        ours.settimeout(_PATIENCE_S)
        if ours.recv(1):
            return ours
    except OSError:
        pass
    ours.close()
    return None


def begin(run):
    """From now on, until end() or the end of this process."""
    global _watched
    end()
    line = _begin(run)
    if line is not None:
        _watched = line, os.getpid()


def end():
    """All that was seen is in the run when this returns. In a child, which has a copy of the socket, it
    does nothing."""
    global _watched
    if _watched is None:
        return
    (line, owner), _watched = _watched, None
    with line:
        if owner != os.getpid():
            return
        try:
            line.shutdown(socket.SHUT_WR)
            while line.recv(64):
                pass
        except OSError:
            pass


atexit.register(end)
