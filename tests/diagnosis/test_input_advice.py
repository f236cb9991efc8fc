"""What is advised where workers of a DataLoader make the batches: by what making one takes, what handing
it over takes, and which cores are left. All times are written by hand."""

import json
import os
import re
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "report"))

import report_runs as runs  # noqa: E402
from builder import frame, sample  # noqa: E402
from report_runs import MS, PID  # noqa: E402
from report_support import ReportTest  # noqa: E402
from support import FINE  # noqa: E402
from test_scripted_machine import ALL, LOOP_THREAD, QUIET, gauge, samples, total  # noqa: E402

LOADER, FETCH = 30, 31
NAMES = runs.NAMES + ((LOADER, b"DataLoader", b"", runs.DATA, 0, 0),
                      (FETCH, b"fetch", b"", runs.PRODUCE, 0, 0))


def with_workers(workers, make, hand, compute=4 * MS, steps=600):
    """Each makes its batches, two ahead; one that is ready takes `hand` of the loop to be had."""
    thread = runs.Thread()
    makers = [runs.Thread(PID + 1 + i, text=b"worker") for i in range(workers)]
    start = []
    thread.wait(50 * MS)
    thread.loop(True)
    for maker in makers:
        maker.now = thread.now
    for i in range(steps):
        maker = makers[i % workers]
        maker.now = max(maker.now, start[i - 2 * workers] if i >= 2 * workers else 0)
        maker.span(FETCH, make, flags=runs.PRODUCER, argument=i + 1)
        thread.mark(runs.step, 32)
        thread.span(LOADER, max(0, maker.now - thread.now) + hand, argument=i + 1)
        start.append(thread.now)
        thread.span(2, compute)
        thread.span(4, MS / 10)
    thread.loop(False)
    return runs.process(thread, *makers, names=NAMES), (thread.now - runs.START) / 1e9


FRAMES = {"read": (12, b"__getitem__", b"train.py"), "main": (90, b"<module>", b"train.py"),
          "collate": (7, b"default_collate", b"/usr/lib/python3/site-packages/torch/utils/data/collate.py")}
NUMBERS = {name: i for i, name in enumerate(FRAMES, 1)}


def without_workers(make, compute=4 * MS, steps=300, collates=0, samples=32):
    """The loop makes its batches itself; in this many of 20 stack samples it puts them together."""
    thread, sampler = runs.Thread(), runs.Thread(tid=9, text=b"stepscope")
    random = runs.noise(5)
    thread.wait(50 * MS)
    thread.loop(True)
    for i in range(steps):
        thread.mark(runs.step, samples)
        sampler.now = int(thread.now + make / 2)
        stack = ["collate", "main"] if i % 20 < collates else ["read", "main"]
        sampler.records.append(sample(sampler.now, PID, [NUMBERS[name] for name in stack]))
        thread.span(LOADER, make * (1 + 0.02 * next(random)))
        thread.span(2, compute)
        thread.span(4, MS / 10)
    thread.loop(False)
    told = [frame(NUMBERS[name], line, function, file) for name, (line, function, file) in FRAMES.items()]
    made = runs.process(thread, sampler, control=told, names=NAMES)
    return made, (thread.now - runs.START) / 1e9


def machine(busy, tree, loop, cores=4):
    """This many of the cores are busy, with the command, and with the loop's process."""
    return [("cpu.busy", i, total(busy / cores * 1e9)) for i in range(cores)] + [
        ("cpu.busy", ALL, total(busy * 1e9)), ("tree.cpu", 0, total(tree * 1e9)),
        ("process.user", PID, total(loop * 1e9)), ("process.system", PID, total(0))] + QUIET


class Workers(ReportTest):
    count = 0

    def judge(self, cores=None, more=(), **how):
        self.count += 1
        made, seconds = (with_workers if "workers" in how else without_workers)(**how)
        files = {"p": made}
        if cores:
            told = {line[:2] for line in more}
            lines = [line for line in machine(*cores) if line[:2] not in told] + list(more)
            files["s"] = samples(lines, seconds=int(seconds) + 1)
        run = self.make_run("run-%d" % self.count, **files)
        report = json.loads(self.check(["report", "--json", run], FINE).stdout)
        return next(f for f in report["findings"] if f["id"] == "input-bound")

    def predicted(self, found):
        said = re.search(r"with (\d+) workers? a step would take ([\d.]+) ms to ([\d.]+) ms", found["advice"])
        return said and (int(said[1]), float(said[2]), float(said[3]))

    def test_a_step_never_becomes_shorter_than_what_hands_a_batch_over(self):
        """12 ms to make, 5 to hand over, 4.1 to train: 9.1 ms are left however many make batches."""
        for workers in (1, 2):
            with self.subTest(workers=workers):
                found = self.judge(workers=1, make=(8 + 12 * workers) * MS, hand=5 * MS,
                                   cores=(1.5, 1.3, 0.3))
                count, low, high = self.predicted(found)
                self.assertIn("use more than 1", found["advice"])
                self.assertGreaterEqual(low, 9.05)
                truth = max(9.1, (8 + 12 * workers) / count)
                self.assertAlmostEqual(low, truth, delta=0.1 * truth)

    def test_workers_are_no_advice_where_handing_over_is_most_of_it(self):
        found = self.judge(workers=2, make=10 * MS, hand=5 * MS, cores=(1.5, 1.3, 0.3))
        self.assertRegex(found["advice"], "hand over less: tensors instead of lists of objects.*__getitems__")
        self.assertNotIn("more than", found["advice"])
        self.assertIsNone(self.predicted(found))

    def test_only_free_cores_count(self):
        """Each worker has a core. Of four, 2.2, 3.2 or all are busy."""
        how = {"workers": 1, "make": 40 * MS, "hand": MS}
        self.assertIn("num_workers=2)", self.judge(cores=(2.8, 1.3, 0.3), **how)["advice"])
        found = self.judge(cores=(1.2, 1.2, 0.2), **how)
        self.assertIn("num_workers=4)", found["advice"])
        self.assertEqual(self.predicted(found)[0], 4)
        found = self.judge(cores=(4, 1.3, 0.3), **how)
        self.assertIn("all cores are busy", found["advice"])
        self.assertIsNone(self.predicted(found))

    def test_workers_that_computed_too_little_for_want_of_a_core(self):
        """Others have nearly all, so that a worker that computes has a quarter of one."""
        found = self.judge(workers=1, make=40 * MS, hand=MS, cores=(4, 0.3, 0.05))
        self.assertNotIn("more than", found["advice"])

    def test_no_more_than_keep_up(self):
        """10 ms to make and 5.1 for the rest of a step, with what hands over: two keep up."""
        found = self.judge(workers=1, make=10 * MS, hand=MS, cores=(1.2, 1.2, 0.2))
        self.assertRegex(found["advice"], r"use more than 1 DataLoader workers \(\w*num_workers=2\)")

    def test_one_that_only_waits_needs_no_core(self):
        found = self.judge(workers=1, make=40 * MS, hand=MS, cores=(3.9, 0.25, 0.15))
        self.assertIn("num_workers=5)", found["advice"])

    def test_without_workers_what_hands_over_is_estimated(self):
        """0.3 to 2 ms, or as much as putting samples together: predicted if a step of 10 ms stands out."""
        cores = (1, 1, 1)
        count, low, high = self.predicted(self.judge(make=70 * MS, compute=20 * MS, cores=cores))
        self.assertEqual((count, round(low, 1)), (4, 20.4))
        self.assertGreaterEqual(high, 22.1)
        self.assertIn("num_workers=", self.judge(make=8 * MS, cores=cores)["advice"])
        self.assertIsNone(self.predicted(self.judge(make=8 * MS, cores=cores)))
        found = self.judge(make=70 * MS, compute=20 * MS, collates=6, cores=cores)
        self.assertIsNone(self.predicted(found))
        found = self.judge(make=70 * MS, compute=20 * MS, samples=0, cores=cores)  # no tensors
        self.assertIsNone(self.predicted(found))

    def test_a_thread_that_sleeps_is_mostly_ready_on_a_busy_machine(self):
        """In seven of ten looks, but it waits for a core 58 % of the time: so it works 29 % of the rest."""
        others = [("thread.wait", LOOP_THREAD, total(0.58e9)),
                  ("thread.state", LOOP_THREAD, lambda s: int(s * 10) % 10 >= 7)]
        found = self.judge(make=70 * MS, compute=20 * MS, cores=(4, 0.2, 0.2), more=others)
        self.assertIn("give the", found["advice"])
        self.assertIn("num_workers=4", found["advice"])
        self.assertIn("the loop thread only waits", found["evidence"])
        self.assertIsNone(self.predicted(found))
        others[1] = ("thread.state", LOOP_THREAD, gauge(0))
        found = self.judge(make=70 * MS, compute=20 * MS, cores=(4, 0.4, 0.4), more=others)
        self.assertIn("loads data itself", found["evidence"])

    def test_disk_and_network_are_separated_by_what_is_waited_for(self):
        """The loop only waits; what the command reads, and what comes in."""
        waits, disk = (("thread.state", LOOP_THREAD, gauge(state)) for state in (1, 2))
        pressed = [("psi.io.some", 0, total(0.5e9))]

        def bytes_of(read, received):
            return [("tree.read", 0, total(read)), ("net.received", 0, total(received))]
        for more, wanted in (([disk], "reading files"), ([waits, *pressed, *bytes_of(5e7, 0)], "reading files"),
                             ([waits, *bytes_of(0, 2e7)], "reading from the network"),
                             ([waits, *pressed, *bytes_of(5e3, 0)], None), ([waits, *bytes_of(5e7, 2e7)], None)):
            found = self.judge(make=70 * MS, compute=20 * MS, cores=(1, 0.2, 0.2), more=more)
            if wanted:
                self.assertIn("the wait is for " + wanted, found["evidence"])
            else:
                self.assertNotRegex(found["evidence"], "the wait is for|I/O pressure")

    def test_where_no_core_is_left_less_is_handed_over(self):
        found = self.judge(workers=2, make=24 * MS, hand=5 * MS / 2, cores=(4, 2.3, 0.3))
        self.assertRegex(found["advice"], "hand over less.*no core for more workers")


if __name__ == "__main__":
    unittest.main()
