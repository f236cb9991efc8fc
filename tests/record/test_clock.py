"""Converted times are within 1 us of CLOCK_MONOTONIC_RAW anywhere in a run, also if it was killed.

tests/helpers/clock_writer.c records events and notes the clock right before and right after each; it
is killed; tests/helpers/clock_check.c says how far the times that are read back lie outside.
"""

import glob
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import places

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "format"))

import decoder  # noqa: E402 (tests/format/decoder.py reads process files, independently)

BUILD = os.environ.get("STEPSCOPE_BUILD", "build/release")
SOAK = bool(os.environ.get("SOAK"))
MOST_NS = 1000

# struct clock_area of tests/helpers/clock_events.h
THREADS = 2
AREA_BYTES = 64 * (1 + THREADS)
ENTRY_BYTES = 48
PATIENCE_S = 60
BEAT_OFFSET, BEAT_BYTES = 280, 40  # format 2.1: beats, and the last two


class Watch:
    """The beats of a process, as they were when someone looked."""

    def __init__(self, run):
        path = glob.glob(os.path.join(run, "*.ssp"))[0]
        with open(path, "rb") as file:
            self.header = mmap.mmap(file.fileno(), 1024, prot=mmap.PROT_READ)
        self.seen = {}

    def look(self):
        before, *pairs = struct.unpack_from("<QQqQq", self.header, BEAT_OFFSET)
        after, = struct.unpack_from("<Q", self.header, BEAT_OFFSET)
        if before == after and before > 0:
            self.seen[before] = pairs[2 * (before & 1):][:2]


class ClockTest(unittest.TestCase):
    def record_and_kill(self, seconds, interval_us, busy):
        """Returns what clock_check found, and the beats on the way."""
        entries = int(seconds * 1e6 / interval_us) + 1000
        with tempfile.TemporaryDirectory(prefix="stepscope-clock-", dir=places.disk()) as folder:
            run, area_path = os.path.join(folder, "run"), os.path.join(folder, "area")
            with open(area_path, "wb") as file:
                file.truncate(AREA_BYTES + THREADS * entries * ENTRY_BYTES)
            with open(area_path, "r+b") as file:
                area = mmap.mmap(file.fileno(), AREA_BYTES)
            writer = subprocess.Popen([os.path.join(BUILD, "clock_writer"), run, area_path,
                                       str(interval_us), str(busy)])
            try:
                watch = self.watch(writer, run, area, seconds)
            finally:
                writer.kill()
                writer.wait()
                area.close()
            check = subprocess.run([os.path.join(BUILD, "clock_check"), run, area_path],
                                   stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(check.returncode, 0, check.stdout)
            found = {key: int(n) for key, n in re.findall(r"(\w+) (\d+)", check.stdout)}
            found["beats"] = len(watch.seen)
            found["worst_beat_ns"] = self.worst_beat(run, watch)
            print(f"{seconds} s, {busy} busy threads, killed: "
                  + " ".join(f"{key} {n}" for key, n in found.items()), flush=True)
            return found

    def watch(self, writer, run, area, seconds):
        """Lets it record for so long after all threads have begun."""
        patience = time.monotonic() + PATIENCE_S
        while not all(struct.unpack_from("<Q", area, 64 * (1 + i))[0] for i in range(THREADS)):
            self.assertIsNone(writer.poll())
            self.assertLess(time.monotonic(), patience, "the writer does not record")
            time.sleep(0.001)
        watch = Watch(run)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            watch.look()
            time.sleep(0.005)
        self.assertIsNone(writer.poll())
        return watch

    def worst_beat(self, run, watch):
        """Any beat may be the last one, and is then the base of the last times of a run."""
        process = decoder.Run.open(run).processes[0]
        return max((abs(process.clock.ns(ticks) - raw_ns) for ticks, raw_ns in
                    watch.seen.values()), default=0)

    def check(self, found, least=100):
        self.assertGreaterEqual(found["events"], least)
        self.assertGreater(found["narrow"], found["events"] // 20, "it says little about errors")
        self.assertLessEqual(found["worst_ns"], MOST_NS)
        self.assertLessEqual(found["last_worst_ns"], MOST_NS)
        self.assertLessEqual(found["worst_beat_ns"], MOST_NS)

    def test_a_run_that_was_killed(self):
        if SOAK:
            self.check(self.record_and_kill(600, 10000, 0))
        else:
            self.check(self.record_and_kill(3, 1000, 0))

    def test_a_machine_that_is_busy(self):
        self.check(self.record_and_kill(3, 1000, 2 * os.cpu_count()))

    def test_a_run_that_was_killed_at_once(self):
        for seconds in (0.02, 0.05, 0.2, 0.5):
            with self.subTest(seconds=seconds):
                self.check(self.record_and_kill(seconds, 100, 0), least=6)  # one of each


if __name__ == "__main__":
    unittest.main()
