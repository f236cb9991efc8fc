"""Cures that are a variable of the environment, and the names of programs that took the cores: said where
the run shows that they fit, and only there. All samples are written by hand; tests/run has real ones."""

import json
import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "report"))

import report_runs as runs  # noqa: E402
from builder import info  # noqa: E402
from report_runs import MS, PID  # noqa: E402
from report_support import ReportTest  # noqa: E402
from support import FINE  # noqa: E402
from test_scripted_machine import CORES, LOOP_THREAD, QUIET, gauge, samples, total  # noqa: E402

NONE, GNU, LLVM = range(3)
PASSIVE = "OMP_WAIT_POLICY=passive"
KEPT = "MALLOC_TRIM_THRESHOLD_=-1 MALLOC_MMAP_THRESHOLD_=1073741824"
WAITS = ("thread.wait", LOOP_THREAD, total(0.3e9))


def pool(openmp=GNU, threads=1, waits=0.4):
    return [("pool.runtime", PID, gauge(openmp)), ("pool.threads", PID, gauge(threads)),
            ("pool.cpu", PID, total(0.5e9)), ("pool.wait", PID, total(waits * 1e9))]


def train(*infos, more=()):
    """12 s of computing, with more names, as of a framework."""
    thread = runs.steady(steps=240, data=MS, forward=20 * MS, backward=28 * MS)
    names = runs.NAMES
    for number, name in enumerate(more, 40):
        thread.span(number, MS)
        names += ((number, *name, 0),)
    return runs.process(thread, names=names, control=[info(*pair) for pair in infos])


class Cures(ReportTest):
    count = 0

    def judge(self, lines, *infos, notes=(), **how):
        self.count += 1
        changed = {line[:2] for line in lines}
        lines = lines + [line for line in CORES + QUIET if line[:2] not in changed]
        self.run_name = self.make_run("run-%d" % self.count, p=train(*infos, **how),
                                      s=samples(lines, notes=[info(*pair) for pair in notes]))
        self.found = json.loads(self.check(["report", "--json", self.run_name], FINE).stdout)
        return {found["id"]: found for found in self.found["findings"]}

    def preempted(self, *arguments, **how):
        return self.judge(*arguments, **how)["preempted"]

    def test_threads_of_openmp_that_spin_may_sleep(self):
        found = self.preempted([WAITS] + pool())
        self.assertTrue(found["advice"].startswith("set " + PASSIVE), found["advice"])
        self.assertIn("1 OpenMP thread (libgomp) had no core for 40 % of the time", found["evidence"])
        found = self.preempted([WAITS] + pool(LLVM, 3, 0.9))
        self.assertIn("3 OpenMP threads (libiomp or libomp) had no core for 30 %", found["evidence"])
        self.assertIn(PASSIVE, found["advice"])

    def test_own_threads_that_crowd_the_cores_as_well(self):
        crowd = [WAITS, ("tree.threads", 0, gauge(24)), ("tree.cpu", 0, total(1.4e9))]
        self.assertIn(PASSIVE, self.judge(crowd + pool())["cpu-oversubscribed"]["advice"])
        self.assertNotIn("OMP_WAIT", self.judge(crowd)["cpu-oversubscribed"]["advice"])

    def test_one_thread_in_each_process_is_not_advised_again(self):
        crowd = [WAITS, ("tree.threads", 0, gauge(24)), ("tree.cpu", 0, total(1.4e9))]
        advice = self.judge(crowd)["cpu-oversubscribed"]["advice"]
        self.assertIn("OMP_NUM_THREADS=1", advice)
        advice = self.judge(crowd, (b"env.OMP_NUM_THREADS", b"1"))["cpu-oversubscribed"]["advice"]
        self.assertIn("already", advice)

    def test_what_is_compiled_is_not_to_be_compiled(self):
        running = [("thread.state", LOOP_THREAD, gauge(0))]
        torch, compiled = (b"zero_grad", b"", runs.OPTIMIZER, 0), (b"compile", b"", runs.COMPILE, 0)
        for names, is_advised in (((torch, compiled), False), ((torch,), True)):
            found = self.judge(running, more=names)["compute-bound"]
            self.assertEqual("torch.compile" in found["advice"], is_advised)

    def test_nothing_is_said_of_openmp_without_evidence(self):
        keras = (b"train_function", b"", runs.COMPUTE, runs.TRAIN_CALL)
        for name, lines, infos, more in (
                ("no pool", [], (), ()), ("it never waits", pool(waits=0.01), (), ()),
                ("not asked for", pool(threads=0), (), ()),
                ("sleeps already", pool(), ((b"env.OMP_WAIT_POLICY", b"passive"),), ()),
                ("spins as told", pool(LLVM), ((b"env.KMP_BLOCKTIME", b"200"),), ()),
                ("hardly spins: more threads than cores", pool(threads=4, waits=2), (), ()),
                ("threads of TensorFlow", pool(), (), (keras,))):
            with self.subTest(name):
                self.assertNotIn("OMP_WAIT", self.preempted([WAITS] + lines, *infos, more=more)["advice"])
        self.assertNotIn("preempted", self.judge(pool()))

    def test_glibc_may_keep_what_is_freed(self):
        fresh = [("process.minor_faults", PID, total(800e3))]
        glibc = (b"libc", b"glibc 2.36")
        self.assertIn(KEPT, self.judge(fresh, glibc)["fresh-memory"]["advice"])
        for infos in ((), ((b"libc", b"musl"),), (glibc, (b"env.MALLOC_TRIM_THRESHOLD_", b"1")),
                      (glibc, (b"env.LD_PRELOAD", b"libjemalloc.so")),
                      (glibc, (b"env.GLIBC_TUNABLES", b"glibc.malloc.trim_threshold=1"))):
            with self.subTest(infos):
                advice = self.judge(fresh, *infos)["fresh-memory"]["advice"]
                self.assertNotIn("MALLOC", advice)
                self.assertTrue(advice)
        self.assertNotIn("fresh-memory", self.judge([], glibc))

    def test_programs_that_took_the_cores_are_named(self):
        """In a second cc1 has 0.5 of a core, python3 0.2, others less than is worth a word."""
        lines = [("tree.cpu", 0, total(0.7e9)), ("other.cpu", 1, total(0.2e9)),
                 ("other.cpu", 2, total(0.5e9)), ("other.cpu", 3, total(0.01e9)),
                 ("other.cpu", 4, total(0.3e9))]
        notes = ((b"other.1", b"python3"), (b"other.2", b"cc1"), (b"other.3", b"sshd"))
        found = self.preempted([WAITS] + lines, notes=notes)
        self.assertIn("cores used by other programs: cc1 0.50, python3 0.20", found["evidence"])
        self.assertEqual([one["name"] for one in self.found["validity"]["programs"]], ["cc1", "python3"])
        for one, cores in zip(self.found["validity"]["programs"], (0.5, 0.2)):
            self.assertAlmostEqual(one["cores"], cores, delta=0.01)
        others, = (i for i in self.found["validity"]["items"] if i["id"] == "others")
        self.assertRegex(others["text"], "other processes used 0.79 of 2 cores: cc1 0.50, python3 0.20$")
        self.assertIn("cc1 0.50, python3 0.20", " ".join(self.report(run=self.run_name).split()))

    def test_a_name_may_hold_anything(self):
        lines = [("tree.cpu", 0, total(0.7e9)), ("other.cpu", 1, total(0.5e9))]
        self.preempted([WAITS] + lines, notes=((b"other.1", b"\x1b[2J<b>\xff\n x"),))
        self.assertEqual(self.found["validity"]["programs"][0]["name"], "_[2J<b>___x")
        self.report(run=self.run_name)


if __name__ == "__main__":
    unittest.main()
