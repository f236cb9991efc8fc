"""How sure a finding is, and that it says so: what its share is, what cannot be seen here and why,
and that nothing is said twice. The runs and the samples are written by hand."""

import unittest

import test_scripted_machine as scripted
from report_runs import COMPUTE, DATA, EVAL, MS, TRAIN_CALL, USER  # noqa: E402
from test_scripted_machine import GB, LOOP_THREAD, gauge, runs, samples, total
from report_support import ReportTest
from support import FINE

OVERLAY, FAILED = 1 << 5, 1 << 2
NAMES = runs.NAMES + (
    (30, b"GetNext", b"", DATA, 0, 0), (31, b"train_function", b"", COMPUTE, TRAIN_CALL, 0),
    (32, b"attention", b"", USER, 0, 0), (33, b"Net", b"", EVAL, 0, 0))
RUNS = ("thread.state", LOOP_THREAD, gauge(0))


def compute(hidden=False, own=False):
    """12 s that are spent in compiled steps. `hidden`: the wait for data in them cannot be seen."""
    thread = runs.Thread()
    random = runs.noise(5)
    thread.wait(50 * MS)
    thread.loop(True)
    if hidden:
        thread.span(30, 1, flags=OVERLAY | FAILED)
    for _ in range(240):
        thread.mark(runs.step, 32)
        start = thread.now
        thread.span(31, 49 * MS * (1 + 0.01 * next(random)))
        end, thread.now = thread.now, start + MS
        if own:
            thread.span(32, 20 * MS)
        thread.now = end
        thread.span(4, MS)
    thread.loop(False)
    return runs.process(thread, names=NAMES)


def uneven(slow):
    """400 steps of 5.7 ms, and of what the function of their number gives in addition."""
    return runs.process(runs.steady(steps=400, uneven="backward", backward=3 * MS, data=MS / 20,
                                    slow=slow))


def served(calls, number=8, every=50):
    """No training: predictions, of which each `every`th takes ten times as long."""
    thread = runs.Thread()
    random = runs.noise(3)
    for i in range(calls):
        thread.wait(MS)
        ms = 20 if i % every == every - 1 else 2
        thread.span(number, ms * MS * (1 + 0.05 * next(random)), flags=0)
    return runs.process(thread, names=NAMES)


class SureTest(ReportTest):
    number = 0

    def judge(self, process, *lines, watched=True):
        """The report as JSON, and as text. A line without values is a counter that is not there."""
        self.number += 1
        changed = {line[:2] for line in lines}
        usual = [line for line in scripted.CORES + scripted.QUIET if line[:2] not in changed]
        files = {"s": samples([line for line in lines if line[2]] + usual)} if watched else {}
        run = self.make_run("run-%d" % self.number, p=process, **files)
        report = scripted.json.loads(self.check(["report", "--json", run], FINE).stdout)
        for found in report["findings"]:
            for text in ("claim", "evidence", "advice", "check", "unknown"):
                self.assertLess(len(found[text]), 511, found)  # none is cut off
                self.assertTrue(found[text] or text == "unknown", (text, found))
        return report, self.report(run=run)

    def found(self, report, name):
        found = [f for f in report["findings"] if f["id"] == name]
        self.assertEqual(len(found), 1, report["findings"])
        return found[0]

    def reason(self, report, name):
        self.assertEqual(report["unobservable"], [r["id"] for r in report["unobservable_reasons"]])
        self.assertEqual(len(set(report["unobservable"])), len(report["unobservable"]))
        reasons = [r for r in report["unobservable_reasons"] if r["id"] == name]
        self.assertEqual(len(reasons), 1, report["unobservable"])
        return reasons[0]


class Unobservable(SureTest):
    def test_the_text_says_what_and_why(self):
        report, text = self.judge(scripted.train(), watched=False)
        cause = self.reason(report, "memory-leak")
        self.assertEqual(cause["reason"], "system metrics were not collected")
        self.assertIn("stepscope run", cause["needs"])
        words = " ".join(text.split())
        self.assertIn("not measurable, so neither claimed nor ruled out", words)
        self.assertEqual(words.count("system metrics were not collected"), 1)
        for name in report["unobservable"]:
            self.assertIn(name, words)

    def test_time_that_no_span_has(self):
        report, _ = self.judge(scripted.train())
        self.assertIn("nothing of that kind", self.reason(report, "comm-bound")["reason"])
        self.assertNotIn("input-bound", report["unobservable"])

    def test_data_inside_of_a_compiled_step(self):
        report, text = self.judge(compute(hidden=True), RUNS)
        self.assertIsNone(report["stages"]["data"])
        cause = self.reason(report, "input-bound")
        self.assertEqual(cause["reason"], "in-graph input, not separable")
        self.assertIn("run_eagerly", cause["needs"])
        self.assertIn("in-graph input", self.reason(report, "compute-bound")["reason"])
        self.assertEqual(report["verdict"], "healthy", report["findings"])
        self.assertIn("in-graph input, not separable", text)

    def test_one_of_two_counters_is_enough(self):
        both = (("cpu.throttles", 0, total(0.5)),
                ("cpu.frequency", 1, gauge(3e9, 3e9, 2.4e9, 2.4e9)))
        report, text = self.judge(scripted.train(), *both)
        self.assertIn("cores were throttled by heat", self.found(report, "clock-drop")["evidence"])
        report, _ = self.judge(scripted.train(), both[0])
        self.found(report, "clock-drop")
        self.assertNotIn("clock-drop", report["unobservable"])
        report, _ = self.judge(scripted.train(), ("cpu.frequency", 1, gauge(3e9)),
                               ("cpu.throttles", 0, None))
        self.assertNotIn("clock-drop", report["unobservable"])
        report, _ = self.judge(scripted.train())
        cause = self.reason(report, "clock-drop")
        self.assertEqual(cause["reason"], "this machine has no such counter")


class Shares(SureTest):
    def kind(self, process, name, *lines):
        report, text = self.judge(process, *lines)
        found = self.found(report, name)
        return found, " ".join(text.split())

    def test_a_limit_of_the_cgroup_is_not_called_preempted(self):
        """The kernel counts the wait for the next period as a wait for a core."""
        waits = ("thread.wait", LOOP_THREAD, total(0.3e9))
        report, _ = self.judge(
            scripted.train(), waits, ("cgroup.cpu_limit", 0, gauge(1.5)),
            ("cgroup.periods", 0, total(10)), ("cgroup.throttled_periods", 0, total(4)))
        throttled, waited = (self.found(report, name) for name in ("cgroup-throttled", "preempted"))
        self.assertEqual((throttled["severity"], waited["severity"]), ("warn", "info"))
        self.assertEqual(report["verdict"], "cgroup-throttled")
        self.assertEqual(throttled["share_ci"], waited["share_ci"])
        report, _ = self.judge(scripted.train(), waits)
        self.assertEqual(self.found(report, "preempted")["severity"], "warn")

    def test_what_the_ends_of_a_share_are(self):
        found, text = self.kind(runs.process(runs.steady()), "input-bound")
        self.assertEqual(found["share_kind"], "interval")
        self.assertIn("95 % interval", text)
        found, text = self.kind(scripted.train(), "preempted",
                                ("thread.wait", LOOP_THREAD, total(0.3e9)))
        self.assertEqual((found["share_kind"], [round(x, 2) for x in found["share_ci"]]),
                         ("estimate", [0.15, 0.6]))
        self.assertIn("30.0 % of the loop; an estimate, 15.0 to 60.0 %", text)
        self.assertIn("(estimate: 15.0 to 60.0 %)", text)
        found, text = self.kind(scripted.train(), "steal", ("cpu.steal", 0, total(0.1e9)))
        self.assertEqual((found["share_kind"], found["share_ci"][0]), ("bound", 0))
        self.assertIn("at most 5.0 % of the loop", text)
        found, text = self.kind(scripted.train(), "swap", ("swap.in", 0, total(4 << 20)))
        self.assertIsNone(found["share_kind"])
        few = runs.process(runs.steady(steps=15, callback=20 * MS))
        found, text = self.kind(few, "callback-bound")
        self.assertEqual(found["share_kind"], "estimate")

    def test_the_order_of_two_speeds(self):
        for words, slow in (("slow and fast steps alternate", lambda i: 3 * MS * (i % 2)),
                            ("slow ones come in runs of about 20 steps", lambda i: 3 * MS * (i // 20 % 2))):
            found, _ = self.kind(uneven(slow), "bimodal")
            self.assertEqual(found["share_kind"], "interval")
            self.assertIn(words, found["evidence"])
            self.assertAlmostEqual(found["share"], 1.5 / (5.65 + 1.5), delta=0.02)


    def test_two_speeds_in_no_order(self):
        """Chance puts slow steps side by side: that is no change of level."""
        for seed in range(1, 16):
            coin = runs.noise(seed)
            report, _ = self.judge(uneven(lambda i: 3 * MS if next(coin) > 0.4 else 0))
            self.assertEqual(report["change"]["kind"], "none", (seed, report["change"]))
            self.assertEqual(self.found(report, "bimodal")["share_kind"], "interval")
        report, _ = self.judge(uneven(lambda i: 3 * MS if i > 250 else 0))
        self.assertEqual(report["change"]["kind"], "shift")
        self.assertNotIn("bimodal", [f["id"] for f in report["findings"]])


class Machine(SureTest):
    def test_a_leak_in_a_container(self):
        grows = ("tree.rss", 0, lambda s: GB // 2 + s * GB / 100)
        report, _ = self.judge(scripted.train(), grows)
        self.assertNotIn("memory-leak", [f["id"] for f in report["findings"]])
        report, _ = self.judge(scripted.train(), grows, ("cgroup.memory_limit", 0, gauge(GB)))
        found = self.found(report, "memory-leak")
        self.assertIn("below the limit of the container", found["evidence"])
        self.assertRegex(found["claim"], r"full in \d\d\.\d s")
        report, _ = self.judge(scripted.train(), grows, ("cgroup.memory_limit", 0, gauge(100 * GB)))
        self.assertNotIn("memory-leak", [f["id"] for f in report["findings"]])

    def test_memory_that_is_reserved(self):
        lines = (scripted.OWN_GPU, ("gpu.busy", 0, gauge(0.9)),
                 ("gpu.memory_total", 0, gauge(24 * GB)), ("gpu.memory_used", 0, gauge(23.5 * GB)))
        for process, word in ((scripted.train(), "before the loop began"),
                              (compute(), "TensorFlow reserves")):
            report, _ = self.judge(process, *lines)
            found = self.found(report, "gpu-memory-full")
            self.assertEqual(found["severity"], "info")
            self.assertIn(word, found["unknown"])


class Named(SureTest):
    def test_what_computes_has_a_name(self):
        report, _ = self.judge(compute(own=True), RUNS)
        found = self.found(report, "compute-bound")
        self.assertEqual(report["verdict"], "compute-bound")
        self.assertIn("heaviest: train_function 98 %", found["evidence"])
        self.assertIn("attention 40 %", found["evidence"])
        self.assertIn("jit_compile=True", found["advice"])
        report, _ = self.judge(compute(), RUNS)
        self.assertIn("run_eagerly=True", self.found(report, "compute-bound")["unknown"])


class Served(SureTest):
    def test_predictions_without_a_training(self):
        report, text = self.judge(served(400))
        self.assertEqual(report["verdict"], "latency-tail")
        self.assertIn("calls of predict takes", self.found(report, "latency-tail")["claim"])
        self.assertIn("Findings: latency-tail", text)
        report, _ = self.judge(served(150))
        self.assertEqual((report["verdict"], self.found(report, "latency-tail")["severity"]),
                         ("no-steps", "info"))
        report, _ = self.judge(served(400, every=500))
        self.assertEqual((report["verdict"], report["findings"]), ("no-steps", []))

    def test_models_that_are_called_without_gradients(self):
        report, _ = self.judge(served(400, number=33))
        self.assertIn("of Net takes", self.found(report, "latency-tail")["claim"])


if __name__ == "__main__":
    unittest.main()
