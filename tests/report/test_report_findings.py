"""Which cause is named for runs of which every number is known: its share, and that nothing else is."""

import json
import re
import unittest

import report_runs as runs
from report_runs import (BATCH_END, CALLBACK, CHECKPOINT, COMM, COMPILE, EVAL, GC, INFER, MS, SETUP, SYNC,
                         TRANSFER)
from report_support import ReportTest
from support import FINE

MORE = {"transfer": (20, TRANSFER), "sync": (21, SYNC), "comm": (22, COMM), "gc": (23, GC),
        "setup": (24, SETUP), "compile": (25, COMPILE), "callback": (26, CALLBACK),
        "eval": (27, EVAL), "checkpoint": (28, CHECKPOINT), "infer": (29, INFER)}
NAMES = runs.NAMES + tuple((number, stage.encode(), b"Thing", code, 0,
                            BATCH_END if stage == "callback" else 0)
                           for stage, (number, code) in MORE.items())


def train(steps=200, every=1, stage=None, ns=0, grow=0.0, other=MS / 10, slow=None):
    """Steps of 6 ms and a little, in which each `every`th has a span of the stage. `slow`: a function of
    a number between -1 and 1 gives more ns of backward."""
    thread = runs.Thread()
    random, coin = runs.noise(3), runs.noise(11)
    thread.wait(50 * MS)
    thread.loop(True)
    for i in range(steps):
        thread.mark(runs.step, 32)
        thread.span(1, MS / 20)
        thread.span(2, 2 * MS * (1 + 0.02 * next(random) + grow * i / steps))
        thread.span(3, 3 * MS + (slow(next(coin)) if slow else 0))
        thread.span(4, MS / 2)
        if stage and i % every == every - 1:
            thread.span(MORE[stage][0], ns)
        thread.wait(other)
    thread.loop(False)
    return runs.process(thread, names=NAMES)


class FindingsTest(ReportTest):
    count = 0
    name = None

    def diagnose(self, **how):
        self.count += 1
        self.name = "run-%d" % self.count
        self.make_run(self.name, p=train(**how))
        return json.loads(self.check(["report", "--json", self.name], FINE).stdout)

    def check_cause(self, wanted, share, **how):
        report = self.diagnose(**how)
        found = [f for f in report["findings"] if f["severity"] != "info"]
        self.assertEqual([f["id"] for f in found], [wanted], report["findings"])
        self.assertEqual(report["verdict"], wanted)
        low, high = found[0]["share_ci"]
        self.assertTrue(low - 1e-3 <= share <= high + 1e-3, (share, found[0]))
        self.assertGreaterEqual(found[0]["gain_most"], share - 1e-3)
        self.check_saving(found[0])
        for text in ("claim", "evidence", "advice"):
            self.assertTrue(found[0][text], text)
        return found[0]

    def check_saving(self, found):
        """What is saved is the share, in JSON as in the text: times, and from 2x on a factor."""
        self.assertEqual((found["saving"], found["saving_ci"]), (found["share"], found["share_ci"]))
        self.assertGreaterEqual(found["gain_most"], found["saving_ci"][1])
        text = " ".join(self.report(run=self.name).split())
        said = re.search(r" saves (?:about [^;]* as predicted for this advice; )?(about )?([\d.]+) of ([\d.]+) \w+ "
                         r"(per step|of the loop) \((?:([\d.]+)x as fast|(\d+) %)\) if all of it goes", text)
        self.assertEqual("as predicted for this advice" in said.group(0), found["predicted"] is not None)
        self.assertEqual(bool(said.group(1)), found["share_kind"] == "estimate")
        self.assertAlmostEqual(float(said.group(2)) / float(said.group(3)), found["saving"], delta=0.01)
        if found["saving"] >= 0.5:
            self.assertAlmostEqual(float(said.group(5)), 1 / (1 - found["saving"]), delta=0.051)
        else:
            self.assertAlmostEqual(int(said.group(6)), 100 * found["saving"], delta=0.51)


class Causes(FindingsTest):
    def test_stages(self):
        base = 5.65
        for stage, wanted in (("transfer", "transfer-bound"), ("sync", "sync-bound"),
                              ("comm", "comm-bound"), ("gc", "gc-pauses"),
                              ("setup", "setup-heavy"), ("callback", "callback-bound")):
            for ms in (0.6, 2, 6):
                with self.subTest(stage=stage, ms=ms):
                    found = self.check_cause(wanted, ms / (base + ms), stage=stage, ns=ms * MS)
        self.assertIn("Thing.callback", found["claim"])

    def test_of_a_callback_that_is_called_less_often_a_part_stays(self):
        for every, stays in ((1, 1 / 50), (10, 10 / 50)):
            found = self.check_cause("callback-bound", 5 / 10.65, stage="callback", ns=every * 5 * MS,
                                     every=every)
            self.assertAlmostEqual(found["predicted"], found["saving"] * (1 - stays), delta=1e-6)
        found = self.check_cause("callback-bound", 5 / 10.65, stage="callback", ns=30 * 5 * MS, every=30)
        self.assertIsNone(found["predicted"])
        self.assertNotIn("every 50 steps", found["advice"])

    def test_a_callback_now_and_then(self):
        found = self.check_cause("callback-bound", 5 / 10.65, stage="callback", ns=50 * MS, every=10)
        self.assertIn("every 10 steps", found["evidence"])

    def test_a_function_that_is_compiled_again(self):
        found = self.check_cause("retrace-storm", 2 / 7.65, stage="compile", ns=20 * MS, every=10)
        self.assertIn("20 times in 200 steps", found["evidence"])

    def test_cuts(self):
        self.check_cause("eval-heavy", 10 / 15.65, stage="eval", ns=100 * MS, every=10)
        self.check_cause("checkpoint-heavy", 10 / 15.65, stage="checkpoint", ns=100 * MS, every=10)

    def test_time_in_no_span(self):
        self.check_cause("instrument-more", 3 / 8.55, other=3 * MS)

    def test_steps_that_become_slower(self):
        report = self.diagnose(steps=600, grow=1.0)
        self.assertEqual(report["verdict"], "drift", report["findings"])
        text = " ".join(self.report(run=self.name).split())
        said = re.findall(r"slower: (?:by )?([\d.]+) %", text)
        self.assertGreater(len(said), 1, text)
        self.assertEqual(len(set(said)), 1, said)

    def test_pauses(self):
        report = self.diagnose(steps=1000, stage="sync", ns=60 * MS, every=50)
        self.assertIn("periodic-pause", [f["id"] for f in report["findings"]])

    def test_little_is_not_worth_a_warning(self):
        for stage in ("transfer", "sync", "comm", "gc", "setup"):
            report = self.diagnose(stage=stage, ns=MS * 0.1)
            self.assertEqual((report["verdict"], report["findings"]), ("healthy", []), stage)

    def test_what_more_steps_would_tell_is_not_called_healthy(self):
        report = self.diagnose(steps=40, stage="transfer", ns=30 * MS, every=19)
        self.assertEqual((report["verdict"], report["findings"]), ("inconclusive", []))
        unsure = report["unsure"]
        self.assertEqual(unsure["stage"], "transfer")
        low, high = unsure["share_ci"]
        self.assertTrue(low < 0.05 and high >= 0.1, unsure)
        self.assertGreater(unsure["more_steps"], 0)
        text = self.report(run=self.name)
        self.assertRegex(text, r"\ninconclusive: transfer takes 2\d\.\d % of the step \(0\.0 to ")
        self.assertRegex(text, r"about \d+\s+more\s+steps\s+would\s+show whether")

    def test_the_verdict_is_on_top(self):
        self.assertIsNone(self.diagnose()["unsure"])
        self.assertRegex(self.report(run=self.name), r"\nhealthy: backward takes 5\d\.\d % of the step ")

    def test_two_speeds(self):
        found = self.check_cause("bimodal", 0.4 * 4 / (5.65 + 0.4 * 4), steps=400,
                                 slow=lambda random: 4 * MS if random > 0.2 else 0)
        self.assertIn("two speeds", found["claim"])
        report = self.diagnose(steps=400, slow=lambda random: 4 * MS * max(random, 0))
        self.assertNotIn("bimodal", [f["id"] for f in report["findings"]])

    def test_few_steps_of_which_much_is_one_callback(self):
        report = self.diagnose(steps=15, stage="callback", ns=20 * MS)
        self.assertEqual([f["id"] for f in report["findings"]], ["callback-bound", "too-few-steps"])
        self.assertEqual(report["findings"][0]["share_ci"][1], 1)
        self.assertIn("Thing.callback, batch_end takes 78", self.report(run=self.name))
        report = self.diagnose(steps=15, stage="callback", ns=MS)
        self.assertEqual(report["verdict"], "too-few-steps")

    def test_too_few_steps(self):
        self.make_run(p=runs.too_few())
        report = json.loads(self.check(["report", "--json", "run"], FINE).stdout)
        self.assertEqual([f["id"] for f in report["findings"]], ["too-few-steps"])
        self.make_run("none", p=runs.untrained())
        report = json.loads(self.check(["report", "--json", "none"], FINE).stdout)
        self.assertEqual((report["verdict"], report["findings"]), ("no-steps", []))


def sized(*sizes, fixed=4 * MS, each=MS / 32, samples=7680):
    """A loop for each size of batches, through the same data."""
    thread = runs.Thread()
    random = runs.noise(5)
    for size in sizes:
        thread.wait(30 * MS)
        thread.loop(True)
        for _ in range(samples // size):
            thread.mark(runs.step, size)
            thread.span(2, (fixed + each * size) * (1 + 0.01 * next(random)))
            thread.span(4, MS / 20)
        thread.loop(False)
    return runs.process(thread, names=NAMES)


def loader(make, compute, steps=200):
    """The loop waits for batches that one thread makes, two ahead at most."""
    thread, worker = runs.Thread(), runs.Thread(runs.PID + 1, text=b"loader")
    random = runs.noise(9)
    ready, start = [], []
    thread.wait(50 * MS)
    thread.loop(True)
    worker.now = thread.now
    for i in range(steps):
        worker.now = max(worker.now, start[i - 2] if i >= 2 else 0)
        worker.span(30, make * (1 + 0.2 * next(random)), flags=runs.PRODUCER)
        ready.append(worker.now)
        thread.mark(runs.step, 32)
        thread.span(1, max(MS / 100, ready[i] - thread.now))
        start.append(thread.now)
        thread.span(2, compute)
        thread.span(4, MS / 10)
    thread.loop(False)
    names = NAMES + ((30, b"make", b"", runs.PRODUCE, 0, 0),)
    return runs.process(thread, worker, names=names)


def numbered(*make, compute=4 * MS, hand=MS / 10, steps=240):
    """Workers that make batches in turn, each in this many ns, two ahead for each; one that is ready
    takes `hand` to be had."""
    thread = runs.Thread()
    workers = [runs.Thread(runs.PID + 1 + i, text=b"worker") for i in range(len(make))]
    start = []
    thread.wait(50 * MS)
    thread.loop(True)
    for worker in workers:
        worker.now = thread.now
    for i in range(steps):
        worker = workers[i % len(make)]
        worker.now = max(worker.now, start[i - 2 * len(make)] if i >= 2 * len(make) else 0)
        worker.span(30, make[i % len(make)], flags=runs.PRODUCER, argument=i + 1)
        thread.mark(runs.step, 32)
        thread.span(1, max(0, worker.now - thread.now) + hand, argument=i + 1)
        start.append(thread.now)
        thread.span(2, compute)
    thread.loop(False)
    names = NAMES + ((30, b"fetch", b"", runs.PRODUCE, 0, 0),)
    return runs.process(thread, *workers, names=names)


class Layers(FindingsTest):
    """Sampled stretches of a model with four layers, which have parts of forward and backward."""

    STRETCH, FIRST, SAMPLED, NEST = 40, 41, 1 << 9, runs.NEST
    NAMES = ((40, b"sampled", b"", 0, 0, 0),
             *((41 + 4 * i + k, b"Net.layer%d" % k, b"Linear", stage, 0, 0)
               for i, stage in enumerate((runs.FORWARD, runs.BACKWARD)) for k in range(4)))

    def found(self, parts, sampled=40):
        """Each fourth step is sampled, from one update to the next."""
        self.count += 1
        name = "layers-%d" % self.count
        thread, random, begun = runs.Thread(), runs.noise(5), None
        thread.wait(50 * MS)
        thread.loop(True)
        for i in range(200):
            thread.mark(runs.step, 32)
            is_sampled = i % 4 == 3 and i < 4 * sampled
            for number, stage, ns in ((2, runs.FORWARD, 2 * MS), (3, runs.BACKWARD, 3 * MS)):
                start, ns = thread.now, ns * (1 + 0.02 * next(random))
                for k, part in enumerate(parts):
                    if is_sampled:
                        thread.span(self.FIRST + 4 * (number - 2) + k, part * ns,
                                    runs.TRAIN | self.SAMPLED, nest=self.NEST | stage)
                    else:
                        thread.wait(part * ns)
                thread.records.append(runs.span(start, thread.now, name=number, flags=runs.TRAIN))
            if is_sampled:
                thread.records.append(runs.span(begun, thread.now, i, name=self.STRETCH,
                                                flags=self.SAMPLED))
            begun = thread.now
            if i % 4 == 2:
                thread.records.append(runs.span(begun, begun, i + 1, name=self.STRETCH,
                                                flags=self.SAMPLED))
            thread.span(4, MS / 2)
        thread.loop(False)
        self.make_run(name, p=runs.process(thread, names=runs.NAMES + self.NAMES))
        report = json.loads(self.check(["report", "--json", name], FINE).stdout)
        self.assertEqual(len(report["layers"]), 5)
        return {finding["id"]: finding for finding in report["findings"]}, report

    def test_a_layer_that_takes_most(self):
        found, report = self.found((0.1, 0.6, 0.2, 0.1))
        finding = found["hot-layer"]
        self.assertEqual((finding["severity"], finding["share_kind"]), ("info", "bound"))
        self.assertAlmostEqual(finding["share_ci"][0], 0.6 * 5 / 5.5, delta=0.02)
        self.assertAlmostEqual(finding["share_ci"][1], 0.6 * 5 / 5.5, delta=0.02)
        self.assertIn("layer1 (Linear) alone takes 60 % of forward and backward", finding["claim"])
        self.assertIn("40 % of its time is forward, 60 % backward", finding["evidence"])
        self.assertTrue(finding["advice"])
        self.assertNotEqual(report["verdict"], "hot-layer")

    def test_like_layers_are_none(self):
        for parts in (0.25, 0.25, 0.25, 0.25), (0.2, 0.38, 0.32, 0.1):
            self.assertNotIn("hot-layer", self.found(parts)[0])

    def test_too_few_samples_are_said(self):
        found, report = self.found((0.1, 0.6, 0.2, 0.1), sampled=8)
        self.assertNotIn("hot-layer", found)
        self.assertIn("hot-layer", [row["id"] for row in report["unobservable_reasons"]])


class Operations(FindingsTest):
    """What a window of PyTorch's profiler has left: rows of pass, calls, us in all and name, of two
    steps. Forward, backward and optimizer are 5.5 of 5.65 ms."""

    SHARE = 5.5 / 5.65
    LARGE = (0, 40, 10_000, "aten::addmm"), (1, 80, 20_000, "aten::mm")

    def found(self, *rows):
        self.count += 1
        name = "operations-%d" % self.count
        self.make_run(name, p=train())
        with open(self.path(name, "operations"), "w", encoding="utf-8") as file:
            file.write("window\t7\t2\t0\t100000000\t50000000\t9\t1000\tPyTorch\n")
            for of, calls, micros, text in rows:
                file.write("operation\t0\t%d\t%d\t%d\t-1\t-1\t%s\n" % (of, calls, micros * 1000,
                                                                          text))
        report = json.loads(self.check(["report", "--json", name], FINE).stdout)
        return {finding["id"]: finding for finding in report["findings"]}

    def test_many_tiny_operations(self):
        finding = self.found((0, 800, 4000, "aten::add"), (2, 1200, 6000, "aten::mul_"),
                             (2, 2, 5000, "Optimizer.step#SGD.step"))["dispatch-bound"]
        self.assertEqual(finding["share_ci"][0], 0)
        self.assertAlmostEqual(finding["share_ci"][1], 10 / 15 * self.SHARE, delta=0.01)
        self.assertEqual(finding["severity"], "warn")
        self.assertIn("a step is 1000 tiny operations", finding["claim"])
        self.assertIn("1000 of 1000 calls per step take 5.0 us", finding["evidence"])
        self.assertIn("torch.compile", finding["advice"])

    def test_few_or_large_operations_are_none(self):
        for rows in ([(0, 300, 1500, "aten::add")],  # 150 per step
                     [(0, 800, 4000, "aten::add"), *self.LARGE],
                     [(3, 800, 4000, "aten::add"), (0, 40, 1000, "aten::mm")]):  # makes batches
            self.assertNotIn("dispatch-bound", self.found(*rows))

    def test_copies_and_casts(self):
        finding = self.found((0, 10, 4000, "aten::copy_"), (1, 10, 2000, "aten::clone"),
                             *self.LARGE)["copies-and-casts"]
        self.assertAlmostEqual(finding["share_ci"][1], 6 / 36 * self.SHARE, delta=0.01)
        self.assertEqual(finding["severity"], "warn")
        self.assertIn("10 calls per step", finding["evidence"])

    def test_a_batch_that_is_cast_once_is_none(self):
        self.assertNotIn("copies-and-casts", self.found((0, 2, 300, "aten::copy_"), *self.LARGE))
        self.assertNotIn("copies-and-casts",
                         self.found((3, 2, 9000, "aten::copy_"), *self.LARGE))  # makes batches


class Several(FindingsTest):
    """Causes that show only where there are several loops, ranks or threads."""

    def judge(self, **files):
        self.count += 1
        self.name = self.make_run("run-%d" % self.count, **files)
        self.report(run=self.name)
        return json.loads(self.check(["report", "--json", self.name], FINE).stdout)

    def test_batches_that_are_too_small(self):
        report = self.judge(p=sized(16, 128))
        self.assertEqual(report["verdict"], "overhead-bound", report["findings"])
        found = report["findings"][0]
        self.assertAlmostEqual(found["share"], 4.05 / 4.55, delta=0.03)
        self.assertIn("indication", found["unknown"])
        self.assertIn("a batch of 128", found["advice"])
        self.assertIn("89 %", found["claim"])
        many = self.judge(p=sized(8, 16, 32, 64, 128, 256))
        self.assertEqual((many["verdict"], many["findings"][0]["unknown"]), ("overhead-bound", ""))
        report = self.judge(p=sized(64))
        self.assertEqual(report["verdict"], "healthy")
        self.assertIn("overhead-bound", report["unobservable"])

    def check_input(self, evidence, advice, *make, **how):
        report = self.judge(p=numbered(*make, **how))
        self.assertEqual(report["verdict"], "input-bound", report["findings"])
        found = report["findings"][0]
        self.assertRegex(found["evidence"], evidence)
        self.assertRegex(found["advice"], advice)
        return found

    def test_what_the_wait_for_workers_is_for(self):
        self.check_input(r"9\d % of the wait is for loading; 2\.0 of 2 workers were busy",
                         "use more than 2", 14 * MS, 14 * MS)
        self.check_input(r"[56789]\d % of the wait is for a late batch while later ones are ready"
                         r"; one worker takes 20.0 ms for a batch, the others 4.00 ms", "in_order=False",
                         4 * MS, 20 * MS)
        self.check_input(r"\d+ % of the wait is for the handover",
                         "hand over less", 2 * MS, 2 * MS, hand=6 * MS)

    def check_replayed(self, found):
        """The times in the advice and the part that it is predicted to save are the same, in the text
        too; the rest of the wait is said apart."""
        low, high, now = map(float, re.search(r"would take ([\d.]+) ms to ([\d.]+) ms instead of ([\d.]+) ms",
                                              found["advice"]).groups())
        self.assertAlmostEqual(1 - low / now, found["predicted_ci"][1], delta=0.01)
        self.assertLess(found["predicted_ci"][0], 1 - high / now + 0.01)
        self.assertLess(found["predicted"], found["saving"] + 1e-9)
        text = " ".join(self.report(run=self.name).split())
        said = re.search(r"saves about ([\d.]+) of ([\d.]+) ms per step \(.{,14}\), as predicted for this "
                         r"advice; ([\d.]+) of [\d.]+ ms per step \(.{,14}\) if all of it goes", text)
        self.assertAlmostEqual(float(said.group(1)) / float(said.group(2)), found["predicted"], delta=0.01)
        self.assertAlmostEqual(float(said.group(3)) / float(said.group(2)), found["saving"], delta=0.01)

    def test_another_worker_is_replayed(self):
        report = self.judge(p=loader(make=9 * MS, compute=5 * MS))
        self.assertEqual(report["verdict"], "input-bound", report["findings"])
        self.assertIn("with 2 workers a step would take 5.", report["findings"][0]["advice"])
        self.check_replayed(report["findings"][0])
        # 100 ms that no batch explains: it does not fit, so nothing is predicted.
        slow = self.diagnose(steps=200)
        self.assertNotIn("replayed", json.dumps(slow["findings"]))


if __name__ == "__main__":
    unittest.main()
