"""Trainings of some 25 s whose every number is known, as run directories."""

import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "report"))

from report_runs import (  # noqa: E402 (tests/report/report_runs.py)
    BATCH_END, CALLBACK, MS, NAMES, PID, Thread, noise, one_step, process)
from builder import counter, plan  # noqa: E402

LOSS, ACCURACY, MORE = 20, 21, 22
EPOCHS, EPOCH_STEPS = 4, 500
NAMED = NAMES + ((LOSS, b"loss", b"", 0, 0, 0), (ACCURACY, b"val_accuracy", b"", 0, 0, 0))


def loss_of(step):
    return 2.0 / (1 + 0.01 * step)


def course(tid=PID, seed=1):
    """Epochs of 500 steps of about 11 ms with a loss; an evaluation and a checkpoint an epoch."""
    thread = Thread(tid)
    random = noise(seed)
    thread.wait(80 * MS)
    thread.mark(plan, EPOCHS * EPOCH_STEPS, EPOCHS, EPOCH_STEPS, 32)
    thread.loop(True)
    for number in range(EPOCHS):
        thread.epoch(number)
        for i in range(EPOCH_STEPS):
            one_step(thread, data=4 * MS * (1 + 0.3 * next(random)),
                     callback=MS / 5 * (1 + 0.1 * next(random)),
                     other=MS / 10 + (30 * MS if i % 100 == 50 else 0))
            thread.mark(counter, loss_of(number * EPOCH_STEPS + i), name=LOSS)
        thread.span(6, 600 * MS, 0)
        thread.mark(counter, 0.5 + number / 10, name=ACCURACY)
        thread.epoch()
        thread.span(7, 250 * MS, 0)
        thread.span(11, 20 * MS, 0)
    thread.loop(False)
    thread.wait(5 * MS)
    return thread


def training(**header):
    return process(course(), names=NAMED, **header)


def rank(number, world=2):
    made = process(course(PID + number, number + 1), names=NAMED, rank=number, pid=PID + number)
    made.poke(92, "I", world)
    return made


def two_fits(first=60, second=80, after=0):
    """Two loops one after the other, both inside a window; the loss tells which of them it is of, and
    what is recorded `after` ms behind the first one is still of that one."""
    thread = Thread()
    for number, steps in ((0, first), (1, second)):
        thread.loop(True)
        for i in range(steps):
            one_step(thread, callback=(1 + number) * MS)
            thread.mark(counter, number + i / 1000, name=LOSS)
        thread.loop(False)
        thread.wait((1 + after) * MS)
        thread.mark(counter, 0.5 + number, name=ACCURACY)
        thread.wait(MS)
    return process(thread, names=NAMED)


def many_loops(count=70):
    """More loops than there are directories for."""
    thread = Thread()
    for _ in range(count):
        thread.loop(True)
        for _ in range(3):
            one_step(thread)
        thread.loop(False)
        thread.wait(MS)
    return process(thread, names=NAMED)


HOSTILE = [b"\x1b[31mred", b"two\nlines", b"\xff\xfe bytes", "\u202eevil".encode(), b"x" * 300,
           "前向传播".encode() * 20, b"", b"a/b/../c", b"<script>alert(1)</script>",
           b"**bold** [l](j:x)"]


def hostile():
    """Names of callbacks and counters that are no good as tags."""
    names = NAMED
    for i, text in enumerate(HOSTILE):
        names += ((30 + i, text, text[:20] + b"#2", CALLBACK, 0, BATCH_END),
                  (60 + i, text, b"", 0, 0, 0))
    thread = Thread()
    thread.loop(True)
    for i in range(60):
        one_step(thread)
        for k in range(len(HOSTILE)):
            thread.span(30 + k, MS)
            thread.mark(counter, float(i), name=60 + k)
    thread.loop(False)
    return process(thread, names=names)
