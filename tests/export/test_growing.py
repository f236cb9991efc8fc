"""Exports and the page of a run that a training is writing at that moment: what comes out is whole in
itself, what has been recorded until then, and says that there will be more."""

import csv
import io
import os
import re
import subprocess
import sys
import threading
import time
import unittest

from export_support import TESTS, ExportTest, has_perfetto  # finds the others

import pftrace
from support import FINE, PROGRAM

sys.path.insert(0, os.path.join(TESTS, "page"))

from page_support import Page  # noqa: E402

TRAINER = os.path.join(os.path.dirname(PROGRAM), "steered_trainer")
PATIENCE_S = 60
HELD_BACK_S = 0.1       # records younger than that wait (include/stepscope/reader.h)
CLOCK_NS = 2 * 1000     # how far the clock of a run may move while it is read: tests/record/test_clock.py
PIPE_BYTES = 65536
SAID = "stepscope export: the run is still being recorded: exported what it has so far.\n"
# A busy machine may leave the recorder without room, since this training does nothing but record.
DROPPED = "stepscope export: part of the run is missing: 'stepscope info runs/latest' shows which.\n"


class Training:
    """`stepscope run` of a trainer that makes steps until it is asked to end, and says how many."""

    def __init__(self, folder):
        env = {key: value for key, value in os.environ.items() if not key.startswith("STEPSCOPE_")}
        self.process = subprocess.Popen(
            [PROGRAM, "run", "--quiet", "--dir", "runs", "--", TRAINER], cwd=folder, env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.steps, self.ends = 0, False
        self.made = threading.Condition()
        self.thread = threading.Thread(target=self.feed)
        self.thread.start()

    def feed(self):
        for line in self.process.stdout:  # "ready", then "1 steps" and so on
            with self.made:
                self.steps = int(line.replace("ready", "0").split()[0])
                self.made.notify_all()
            if self.ends:
                break
            self.process.stdin.write("steps 1\n")
            self.process.stdin.flush()
        self.process.stdin.close()

    def wait_for(self, condition):
        """Until this is so when another step was made."""
        with self.made:
            if not self.made.wait_for(condition, PATIENCE_S):
                raise AssertionError(f"stuck after {self.steps} steps")

    def wait_for_old_steps(self, count):
        """Until there are so many that are old enough to be read."""
        self.wait_for(lambda: self.steps >= count)
        old = time.monotonic() + 2 * HELD_BACK_S
        self.wait_for(lambda: time.monotonic() > old)

    def end(self):
        self.ends = True
        self.thread.join()
        self.process.stdout.close()
        return self.process.wait(PATIENCE_S)


class Growing(ExportTest):
    def setUp(self):
        super().setUp()
        self.training = Training(self.folder)
        self.addCleanup(self.training.end)
        self.training.wait_for_old_steps(3000)

    def while_it_grows(self, *arguments):
        """What the command writes, and says. It has begun to, and waits for a reader, while
        the training goes on for a thousand steps."""
        with subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, bufsize=0) as command:
            first = command.stdout.read(1)
            before = self.training.steps
            self.training.wait_for(lambda: self.training.steps > before + 1000)
            self.assertIsNone(command.poll())
            written, said = command.communicate(timeout=PATIENCE_S)
        self.assertEqual(command.returncode, FINE, said)
        self.assertGreater(len(written), PIPE_BYTES)
        return first + written, said.decode()

    def grown_and_ended(self, kind):
        """An export on the way, and one of the whole run."""
        on_the_way, said = self.while_it_grows("export", kind, "runs/latest", "-")
        self.assertIn(said, (SAID, SAID + DROPPED))
        self.assertEqual(self.training.end(), 0)
        said = self.check(["export", kind, "runs/latest", "whole"], FINE, "").stderr
        self.assertIn(said, ("", DROPPED))
        with open(self.path("whole"), "rb") as file:
            return on_the_way, file.read()

    def check_rows(self, kind, moves):
        """Rows of the one are the first rows of the other, but for columns that the rest may move."""
        tables = [list(csv.reader(io.StringIO(text.decode(), newline=""), strict=True))
                  for text in self.grown_and_ended(kind)]
        (titles, *rows), (same_titles, *all_rows) = tables
        self.assertEqual(titles, same_titles)
        self.assertGreater(len(rows), 2000)
        self.assertGreater(len(all_rows), len(rows) + 1000)
        times = [i for i, title in enumerate(titles) if title.endswith("_ns")]
        others = [i for i, title in enumerate(titles) if i not in times and title not in moves]
        for row, later in zip(rows, all_rows):
            self.assertEqual([row[i] for i in others], [later[i] for i in others])
            apart = max(abs(int(row[i]) - int(later[i])) for i in times)
            self.assertLessEqual(apart, CLOCK_NS, (row, later))

    def test_steps_as_csv(self):
        self.check_rows("csv", moves=("part",))  # where warm-up ends, more steps may say otherwise

    def test_spans_as_csv(self):
        self.check_rows("csv-spans", moves=())

    @unittest.skipUnless(has_perfetto(), "built without nanopb")
    def test_perfetto(self):
        slices = []
        for data in self.grown_and_ended("perfetto"):
            trace = pftrace.Trace(data)  # fails on what makes no sense, as an end without a begin
            slices.append([slice for slice in trace.slices if slice.category])
            steps = [slice for slice in trace.slices if "step" in slice.notes]
            self.assertEqual([slice.notes["step"] for slice in steps], list(range(len(steps))))
        some, whole = slices
        self.assertGreater(len(some), 4000)
        self.assertGreater(len(whole), len(some) + 2000)
        for slice, later in zip(some, whole):
            self.assertEqual((slice.name, slice.category, slice.depth),
                             (later.name, later.category, later.depth))
            apart = max(abs(slice.start - later.start), abs(slice.end - later.end))
            self.assertLessEqual(apart, CLOCK_NS, (slice, later))

    def test_page(self):
        written, said = self.while_it_grows("report", "--html", "-", "runs/latest")
        self.assertEqual(said, "")  # the page says it
        page = Page(written.decode())
        running, = re.findall(r"([\d,]+)\ssteps, running for ", page.sections["verdict"].text)
        steps = int(running.replace(",", ""))
        self.assertGreaterEqual(steps, 2000)
        self.assertEqual(self.training.end(), 0)
        self.assertGreater(self.report("runs/latest")["steps"]["count"], steps + 1000)


if __name__ == "__main__":
    unittest.main()
