"""Trainings whose every number is known, as run directories. Ticks are nanoseconds (clock 0)."""

import os
import sys
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "cli"))

import support  # noqa: E402 (tests/cli/support.py; finds builder)
from builder import (  # noqa: E402
    FAILED, START, TRAIN, ProcessFile, at, calibration, hook, info, name, open_span, plan, span,
    step, thread_begin)

US = 1_000
MS = 1_000_000
REALTIME = 1_763_200_000 * 1_000_000_000  # 2025-11-15 09:46:40 UTC
PID = 4711
BLOCK_UNITS, SEGMENT_UNITS = 192, 2046

# Stages and roles by number (format 4).
(DATA, TRANSFER, FORWARD, BACKWARD, OPTIMIZER, COMPUTE, COMM, SYNC, CALLBACK, EVAL, INFER,
 CHECKPOINT, COMPILE, SETUP, GC, PRODUCE, USER) = range(1, 18)
UPDATE, TRAIN_CALL = 1, 2
BATCH_END, EPOCH_END = 2, 4
PERTURBED, OVERLAY, PRODUCER = 1 << 4, 1 << 5, 1 << 6
NEST = 0x60  # there is a span around it, of another stage than user; plus its stage
CLOSED = 0x80

# The names of every run here: number, text, object, stage, role, scope.
NAMES = (
    (1, b"next batch", b"", DATA, 0, 0), (2, b"forward", b"Net", FORWARD, 0, 0),
    (3, b"backward", b"", BACKWARD, 0, 0), (4, b"step", b"Adam", OPTIMIZER, UPDATE, 0),
    (5, b"EarlyStopping", b"", CALLBACK, 0, BATCH_END), (6, b"evaluate", b"", EVAL, 0, 0),
    (7, b"save", b"model.bin", CHECKPOINT, 0, 0), (8, b"predict", b"", INFER, 0, 0),
    (9, b"decode", b"", USER, 0, 0), (10, b"train", b"", 0, 0, 0),
    (11, b"Logger", b"Logger#2", CALLBACK, 0, EPOCH_END))


def noise(seed):
    """Numbers between -1 and 1 that are the same each time."""
    state = seed * 2654435761 % 2**32 or 1
    while True:
        state = (1103515245 * state + 12345) % 2**31
        yield state / 2**30 - 1


class Thread:
    """What one thread records, one thing after the other."""

    def __init__(self, tid=PID, start=START, text=b"main"):
        self.tid = tid
        self.now = start
        self.open = []
        self.records = [thread_begin(start, tid, text)]

    def wait(self, ns):
        self.now += int(ns)

    def span(self, number, ns, flags=TRAIN, argument=0, **head):
        """A span that lasts from now on."""
        start = self.now
        self.now += int(ns)
        self.records.append(span(start, self.now, argument, name=number, flags=flags, **head))

    def mark(self, record, *arguments, **head):
        self.records.append(record(self.now, *arguments, **head))

    def loop(self, begins, number=10):
        self.records.append(at(3 if begins else 4, self.now, name=number))

    def epoch(self, number=None):
        """Begins epoch `number`, or ends the one that is open."""
        if number is None:
            self.records.append(at(6, self.now))
        else:
            self.records.append(at(5, self.now, number, form="Q"))


def add_thread(made, lane, thread):
    """Puts the records into the block of the lane and as many segments as they need."""
    def units(record):
        return len(record) // 32

    parts, room = [[]], BLOCK_UNITS
    for record in thread.records:
        if units(record) > room:
            parts.append([])
            room = SEGMENT_UNITS
        parts[-1].append(record)
        room -= units(record)
    made.block(lane, *parts[0], spans=thread.open)
    made.poke(made.block_offset(lane) + 8, "II", thread.tid, 1)
    for seq, part in enumerate(parts[1:], 1):
        made.records(lane, seq, *part)


def process(*threads, end=None, names=NAMES, control=(), **header):
    """A process that exited 10 ms after the last of its threads recorded something."""
    values = {"pid": PID, "start_raw_ns": START, "ticks_per_s": 1_000_000_000,
              "start_realtime_ns": REALTIME,
              "end_ticks": max([START, *(t.now for t in threads)]) + 10 * MS if end is None else end}
    values.update(header)
    start = values["start_raw_ns"]
    made = ProcessFile(**values)
    made.block(0, info(b"command", b"python train.py --epochs 3"), info(b"host", b"box"),
               *(name(n, text, obj, stage=stage, role=role, scope=scope)
                 for n, text, obj, stage, role, scope in names), *control,
               calibration(start + MS, start + MS, REALTIME + MS, 40))
    for lane, thread in enumerate(threads, 1):
        add_thread(made, lane, thread)
    return made


def one_step(thread, data=4 * MS, forward=2 * MS, backward=3 * MS, optimizer=MS / 2, callback=0,
             other=MS / 10):
    """A step of 9.6 ms, marked and with spans for its stages."""
    thread.mark(step, 32)
    thread.span(1, data)
    thread.span(2, forward)
    thread.span(3, backward)
    thread.span(4, optimizer)
    if callback:
        thread.span(5, callback)
    thread.wait(other)


def steady(steps=200, start=50 * MS, jitter=0.02, seed=1, tid=PID, slow=None, uneven="data", **stages):
    """A thread with one loop of like steps, of which one stage is uneven. `slow`: a function of the step
    gives more ns of that stage."""
    thread = Thread(tid)
    thread.wait(start)
    random = noise(seed)
    thread.loop(True)
    for i in range(steps):
        times = dict({"data": 4 * MS}, **stages)
        times[uneven] = times[uneven] * (1 + jitter * next(random)) + (slow(i) if slow else 0)
        one_step(thread, **times)
    thread.loop(False)
    return thread


def healthy(**header):
    return process(steady(), **header)


def full():
    """Everything at once: epochs, evaluation, a checkpoint, callbacks, predictions, a plan."""
    thread = Thread()
    random = noise(7)
    thread.wait(80 * MS)
    thread.mark(plan, 300, 3, 100, 32)
    thread.span(8, 3 * MS, 0)
    thread.loop(True)
    for number in range(3):
        thread.epoch(number)
        for i in range(100):
            warm = 20 * MS if number == 0 and i < 3 else 0
            one_step(thread, data=4 * MS * (1 + 0.03 * next(random)) + warm,
                     callback=MS / 5 * (1 + 0.1 * next(random)),
                     other=MS / 10 + (30 * MS if i == 50 else 0))
        thread.span(6, 60 * MS, 0)
        thread.epoch()
        thread.span(7, 25 * MS, 0)
        thread.span(11, 2 * MS, 0)
    thread.loop(False)
    for _ in range(20):
        thread.span(8, 3 * MS * (1 + 0.2 * next(random)), 0)
    thread.wait(5 * MS)
    return process(thread)


def too_few():
    return process(steady(steps=12))


def watched(steps):
    """All of it by another profiler."""
    thread = Thread()
    for _ in range(steps):
        thread.mark(step, 32)
        thread.span(2, 3 * MS, TRAIN | PERTURBED)
    thread.mark(step, 32)
    return process(thread)


def untrained(*hooked):
    """No step: a script of which functions were timed, with hooks that did not fit, and some that did."""
    thread = Thread()
    thread.wait(5 * MS)
    for target in hooked:
        thread.mark(hook, target)
    thread.mark(hook, b"torch.optim.Optimizer.step", b"torch is not installed", flags=FAILED)
    thread.mark(hook, b"atexit")
    for _ in range(10):
        thread.span(8, 3 * MS, 0)
        start = thread.now
        thread.span(1, 6 * MS, 0, depth=1, nest=0x51)
        thread.wait(MS)
        thread.records.append(span(start, thread.now, name=9))
    return process(thread)


def two_models():
    """Two loops, one after the other, on one thread: the second one is longer."""
    thread = steady(steps=60, jitter=0.05, seed=3, forward=4 * MS)
    thread.wait(20 * MS)
    thread.loop(True, 9)
    for _ in range(120):
        one_step(thread, data=MS, forward=8 * MS)
    thread.loop(False, 9)
    return process(thread)


def rank(number, world=2, steps=120):
    """One of several replicas."""
    thread = steady(steps=steps, seed=number + 1, tid=PID + number,
                    forward=2 * MS + number * MS / 2)
    made = process(thread, rank=number, pid=PID + number)
    made.poke(92, "I", world)
    return made


def alive(thread, end, **header):
    """Header fields of a process that has not ended: its last sign of life is `end`."""
    values = {"state": 1, "end_ticks": 0, "beats": 2, "beat0_ticks": end, "beat0_ns": end}
    values.update(header)
    return process(thread, **values)


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        return bytes.fromhex(boot.read().strip().replace("-", ""))


def process_start():
    """When this process was started, as /proc says it."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as stat:
        return int(stat.read().rpartition(")")[2].split()[19])


def killed():
    """Died inside the forward of its 101st step: there was such a process, now there is none."""
    thread = steady(steps=100)
    thread.records.pop()  # the loop's end
    thread.mark(step, 32)
    thread.span(1, 4 * MS)
    thread.open = [open_span(thread.now, 2, flags=TRAIN)]
    thread.wait(30 * MS)
    return alive(thread, thread.now, pid=os.getpid(), process_start=1, boot_id=boot_id())


def live(planned=1000):
    """In its 101st step, and still recording: the process is this one.

    Its records are old enough to be given out; its last sign of life is a little in the future, so
    that a slow machine still finds it alive. It takes 25 s so far.
    """
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    thread = Thread(os.getpid(), now - 5_000 * MS)
    thread.mark(plan, planned)
    random = noise(5)
    for _ in range(101):
        one_step(thread, data=4 * MS * (1 + 0.02 * next(random)))
    return alive(thread, now + 20_000 * MS, pid=os.getpid(), process_start=process_start(),
                 boot_id=boot_id(), start_ticks=now - 5_000 * MS, start_raw_ns=now - 5_000 * MS)


def damaged():
    """A whole training whose second segment of records makes no sense from some point on."""
    made = process(steady(steps=1000))
    offset = 2 * 65536 + 64 + 32 * 1500
    made.data[offset:offset + 2] = b"\x01\x00"  # a span of 0 units
    return made


def changing(kind):
    """Slower and slower ("drift"), slower at once ("shift"), or slow every 50 steps ("spikes")."""
    more = {"drift": lambda i: i * 2 * US, "shift": lambda i: 3 * MS if i >= 250 else 0,
            "spikes": lambda i: 12 * MS if i % 50 == 7 else 0}
    return process(steady(steps=600, slow=more[kind]))


def overlapping():
    """Spans appended over others: the stages of a step are more than the step."""
    thread = steady(steps=40)
    start = thread.now
    thread.mark(step, 32)
    for _ in range(3):
        thread.records.append(span(start, start + 4 * MS, name=2, flags=TRAIN | 128))
    thread.now = start + 5 * MS
    thread.mark(step, 32)
    return process(thread)


def in_calls(many):
    """Calls of 10 ms that get this many batches by themselves, each after 2 ms of waiting on a thread
    of its own."""
    loop, other = Thread(), Thread(PID + 1, text=b"tf_Compute")
    loop.loop(True)
    random = noise(3)
    for _ in range(100):
        start = loop.now
        loop.span(12, 10 * MS * (1 + 0.02 * next(random)), argument=1)
        for batch in range(many):
            other.now = start + (1 + 3 * batch) * MS
            other.span(13, 2 * MS, OVERLAY, argument=4096)
        loop.wait(MS / 10)
    loop.loop(False)
    return process(loop, other, names=NAMES + (
        (12, b"train_function", b"", COMPUTE, TRAIN_CALL, 0), (13, b"GetNext", b"", DATA, 0, 0)))


def extremes():
    """Names that take nanoseconds beside such that take a day."""
    thread = Thread()
    for i in range(60):
        one_step(thread, data=1_000, forward=3_600_000 * MS if i == 30 else 1, backward=7 * US,
                 optimizer=86_400_000 * MS if i == 40 else 900, callback=12_345_678 * MS)
        for number in (6, 7, 8, 11):
            thread.span(number, 10 ** (number + 2), 0)
    return process(thread)


HOSTILE = [b"\x1b[31mred\x1b[0m", b"two\nlines\r\ttab", b"\xff\xfe bytes", "\u202eevil".encode(),
           b"\xc2\x9b2J", b"x" * 300, "前向传播".encode() * 20, b""]


def hostile():
    """Names, objects, infos, threads, hooks and loops that attack a terminal."""
    names = [(i + 1, text, text[:20] + b"#2", (DATA, FORWARD, CALLBACK, USER)[i % 4], 0, i % 7)
             for i, text in enumerate(HOSTILE)]
    names += [(i + 9, text, b"", INFER, 0, 0) for i, text in enumerate(HOSTILE)]
    thread = Thread(text=b"\x1b[2Jthread")
    thread.mark(hook, b"\x1b[1m" * 20, b"\x07" * 90, flags=FAILED)
    thread.loop(True, 1)
    for _ in range(40):
        thread.mark(step, 1)
        for i in range(2 * len(HOSTILE)):
            thread.span(i + 1, MS)
    thread.loop(False, 1)
    thread.loop(True, 2)
    thread.mark(step, 1)
    thread.span(1, MS)
    thread.mark(step, 1)
    thread.loop(False, 2)
    made = process(thread, names=names)
    at_command = bytes(made.data).index(b"python train.py --epochs 3")
    made.data[at_command:at_command + 26] = b"\x1b]0;title\x07\xff\n" + "\u202e".encode() * 4 + b"zz"
    return made
