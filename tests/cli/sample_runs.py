"""Runs whose every number is known, for exact expectations. Ticks are nanoseconds (clock 0)."""

import os
import time

import support  # finds builder
from builder import (
    FAILED, START, TRAIN, ProcessFile, at, calibration, counter, hook, info, mark, name, open_span,
    plan, span, step, system, thread_begin, thread_end)

MS = 1_000_000
REALTIME = 1_763_200_000 * 1_000_000_000  # 2025-11-15 09:46:40 UTC

DATA, FORWARD, CALLBACK, LOSS = 1, 2, 3, 4
IN_CALLBACK = 0xE9  # nest: there is a span around it, closed and opaque, of stage callback


def at_ms(ms):
    """Ticks of a time in ms after the start."""
    return START + int(ms * MS)


def names():
    return [name(DATA, b"next batch", stage=1), name(FORWARD, b"forward", b"Net", stage=3),
            name(CALLBACK, b"EarlyStopping", b"EarlyStopping#1", stage=9, scope=2),
            name(LOSS, b"loss")]


def process(**header):
    """A process of 100 ms that exited."""
    values = {"pid": 4711, "start_raw_ns": START, "end_ticks": at_ms(100),
              "ticks_per_s": 1_000_000_000, "start_realtime_ns": REALTIME}
    values.update(header)
    return ProcessFile(**values)


def training(**header):
    """One loop of one step on one thread."""
    made = process(**header)
    made.poke(36, "I", 25_300)         # 25.3 ns a span
    made.poke(92, "I", 2 if header.get("rank", -1) >= 0 else 0)
    made.poke(96, "Q", 1 << 30)        # cap
    made.poke(352, "Q", 150_000)       # CPU time of the helper thread
    made.block(0, info(b"command", b"python train.py --epochs 1"), info(b"host", b"box"),
               info(b"kernel", b"6.1.0"), info(b"version", b"0.1.0"), *names(),
               calibration(at_ms(1), at_ms(1), REALTIME + MS, 40))
    made.block(1, thread_begin(at_ms(0.5), 4711, b"main"), plan(at_ms(1), 1, 1, 1, 32),
               at(3, at_ms(1), name=FORWARD), at(5, at_ms(1), 0, form="Q"), step(at_ms(2), 32),
               hook(at_ms(2), b"torch.nn.Module"), hook(at_ms(2), b"torch.foo", b"not there",
                                                       flags=FAILED),
               span(at_ms(2), at_ms(12), name=DATA, flags=TRAIN),
               span(at_ms(12), at_ms(42), 4096, name=FORWARD, flags=TRAIN),
               span(at_ms(43), at_ms(44), name=FORWARD, depth=1, nest=IN_CALLBACK),
               span(at_ms(42), at_ms(45), name=CALLBACK), counter(at_ms(45), 0.25, name=LOSS),
               mark(at_ms(46), b"first line\nsecond line", name=LOSS), at(6, at_ms(47)),
               at(4, at_ms(47)), system(at_ms(48), 0.5, 3, name=LOSS),
               system(at_ms(48), 0.0, 0, name=LOSS, flags=1), thread_end(at_ms(50)))
    for lane in (0, 1):
        made.poke(made.block_offset(lane) + 12, "I", 1)  # owners
    return made


def lossy():
    """Everything that can get lost while recording."""
    made = training()
    made.poke(260, "i", -8)                        # recorder error: no space
    made.poke(328, "Q", 5000)                      # given up at the cap
    made.poke(384 + 8 * 3, "Q", 4000)
    made.poke(336, "Q", 3)                         # names
    made.poke(360, "Q", 1)                         # threads
    lane = made.block_offset(1)
    made.poke(lane + 128, "QQQ", 1234, 2, 5)       # dropped, ends without a begin, too deep
    made.poke(lane + 256 + 8 * 1, "Q", 1000)
    made.poke(lane + 256 + 8 * 3, "Q", 200)
    return made


def hanging(**header):
    """Ended without a word, inside two spans."""
    beat = {"beats": 2, "beat0_ticks": at_ms(90), "beat0_ns": at_ms(90)}
    made = process(state=1, end_ticks=0, **{**beat, **header})
    start = header.get("start_ticks", START)
    made.block(0, *names())
    made.block(1, thread_begin(start, 4712, b"loader"), span(start, start + MS, name=DATA),
               spans=[open_span(start + 2 * MS, FORWARD), open_span(start + 5 * MS, DATA, depth=1)])
    made.poke(made.block_offset(1) + 8, "II", 4712, 1)  # tid, owners
    return made


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        return bytes.fromhex(boot.read().strip().replace("-", ""))


def killed():
    """Like hanging(), on this machine, of a process that is no more: process_start differs."""
    return hanging(pid=os.getpid(), process_start=1, boot_id=boot_id())


def live(age_ms):
    """Like hanging(), but the process is this one, and lives.

    Its last sign of life is a little in the future, so that a slow machine still finds it alive.
    """
    with open("/proc/self/stat", encoding="ascii", errors="replace") as stat:
        started = int(stat.read().rpartition(")")[2].split()[19])
    beat = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + 20_000 * MS
    start = beat - age_ms * MS
    return hanging(pid=os.getpid(), process_start=started, boot_id=boot_id(), start_ticks=start,
                   start_raw_ns=start, beat0_ticks=beat, beat0_ns=beat)


HOSTILE = [b"\x1b[31mred\x1b[0m", b"two\nlines\r\ttab", b"\xff\xfe bytes", "\u202eevil".encode(),
           b"nul\0inside", b"\xc2\x9b2J", b"x" * 300, "前向 é".encode()]


def hostile():
    """Names, objects, infos, threads, hooks and marks that attack a terminal."""
    made = process()
    made.block(0, *(name(i + 1, text, text, stage=17) for i, text in enumerate(HOSTILE)),
               *(info(key, b"\x1b]0;title\x07") for key in (b"command", b"host", b"version")))
    made.block(1, thread_begin(at_ms(0), 1, b"\x1b[2Jthread"),
               *(span(at_ms(i), at_ms(i + 1), name=i + 1) for i in range(len(HOSTILE))),
               *(mark(at_ms(10), text) for text in HOSTILE),
               hook(at_ms(11), b"\x1b[1m", b"\x07", flags=FAILED),
               spans=[open_span(at_ms(12), 1), open_span(at_ms(13), 2, depth=1)])
    return made


def newer():
    """Made by a version that this one must not read."""
    return process(version=2, min_reader=2)
