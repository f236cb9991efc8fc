"""A rank of a training that meets the others in each step: STEPS SLOW [KILLED]. Those that are slow
work 20 ms longer in forward; one that is to be killed does so to itself in the middle."""

import os
import signal
import socket
import sys
import time

import stepscope

RANK = int(os.environ.get("SLURM_PROCID", os.environ.get("RANK", "0")))
WORLD = int(os.environ.get("SLURM_NTASKS", os.environ.get("WORLD_SIZE", "1")))
PLACE = os.environ["MEETING"]
steps, slow, killed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""


def meet():
    """A connection to rank 0 of each other one, and what they wait for each other with."""
    if RANK == 0:
        server = socket.socket(socket.AF_UNIX)
        server.bind(PLACE + ".new")
        server.listen(WORLD)
        os.rename(PLACE + ".new", PLACE)
        return [server.accept()[0] for _ in range(WORLD - 1)]
    while True:
        mine = socket.socket(socket.AF_UNIX)
        try:
            mine.connect(PLACE)
        except OSError:
            mine.close()
            time.sleep(0.01)
        else:
            return [mine]


def wait(others):
    if RANK == 0:
        gone = [other for other in others if not other.recv(1)]
        for other in others:
            if other not in gone:
                other.send(b"x")
        return not gone
    try:
        others[0].send(b"x")
        return bool(others[0].recv(1))
    except OSError:
        return False


others = meet()
for step in range(steps):
    stepscope.step()
    with stepscope.stage("forward"):
        time.sleep(0.001 + (0.02 if RANK == slow else 0))
    if killed == str(RANK) and step == steps // 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if killed == "supervisor%d" % RANK and step == steps // 2:
        parent = os.getppid()
        os.kill(parent, signal.SIGKILL)
    with stepscope.stage("comm"):
        if not wait(others):
            break
