"""Time in no stage, and the lines that stack samples name for it, in runs of which every number is
known."""

import json
import unittest

import report_runs as runs
from builder import frame, sample
from report_runs import MS
from report_support import ReportTest
from support import FINE

GENERATOR, FOR = 1, 2
STEPS = 200
# Name: line, function, file, traits, body.
FRAMES = {"main": (90, b"<module>", b"train.py"), "forward": (15, b"train", b"train.py"),
          "for": (10, b"train", b"train.py", FOR, 20), "own": (12, b"train", b"train.py"),
          "batches": (3, b"batches", b"input.py", GENERATOR),
          "library": (7, b"wait", b"/usr/lib/python3.11/x.py"),
          "collate": (8, b"collate_tensor_fn", b"/usr/lib/python3.11/collate.py"),
          "trainer": (15, b"train", b"train.py"),
          **{"decode %d" % i: (40 + i, b"decode", b"input.py") for i in range(5)},
          **{"line %d" % i: (30 + i, b"train", b"train.py") for i in range(12)}}
# Names by which a framework is known, with their stage; "to" is anybody's.
STAGES = {b"to": runs.TRANSFER, b"zero_grad": runs.OPTIMIZER, b"gradient": runs.BACKWARD, b"DataLoader": runs.DATA}
NUMBERS = {name: i for i, name in enumerate(FRAMES, 1)}


def train(*stacks, other=3 * MS, data=0, transfer=0, stage_name=b"to",
          loop_name=b""):
    """Steps of 5.5 ms and what is in no stage, where the stacks are sampled in turn, one a step; in a wait for
    data, if there is one."""
    thread, sampler = runs.Thread(), runs.Thread(tid=9, text=b"stepscope")
    random = runs.noise(3)
    thread.wait(50 * MS)
    thread.loop(True, 22)
    for i in range(STEPS):
        thread.mark(runs.step, 32)
        if data:
            take(sampler, thread.now + data / 2, *stacks[i % len(stacks)])
            thread.span(1, data)
        if transfer or (stage_name != b"to" and i == 0):
            thread.span(21, transfer or MS / 100)
        take(sampler, thread.now + MS, "forward", "main")
        thread.span(2, 2 * MS * (1 + 0.02 * next(random)))
        thread.span(3, 3 * MS)
        thread.span(4, MS / 2)
        if not data:
            take(sampler, thread.now + other / 2, *stacks[i % len(stacks)])
        thread.wait(other)
    thread.loop(False, 22)
    told = [frame(NUMBERS[name], line, function, file, *more)
            for name, (line, function, file, *more) in FRAMES.items()]
    return runs.process(thread, sampler, control=told,
                        names=runs.NAMES + ((21, stage_name, b"", STAGES[stage_name], 0, 0),
                                           (22, loop_name, b"", 0, 0, 0)))


def take(sampler, ticks, *stack):
    sampler.now = int(ticks)
    sampler.records.append(sample(sampler.now, runs.PID, [NUMBERS[name] for name in stack]))


class OwnCode(ReportTest):
    count = 0

    def judge(self, *stacks, **how):
        """What warns, by id, and what does not."""
        self.count += 1
        run = self.make_run("run-%d" % self.count, p=train(*stacks, **how))
        report = json.loads(self.check(["report", "--json", run], FINE).stdout)
        self.report(run=run)
        warned = {f["id"]: f for f in report["findings"] if f["severity"] != "info"}
        return warned, report

    def check_share(self, finding, share):
        low, high = finding["share_ci"]
        self.assertTrue(low <= share <= high, (share, finding))
        self.assertAlmostEqual(finding["share"], share, delta=0.01)
        self.assertLess(high - low, 0.2)

    def test_one_line(self):
        warned, report = self.judge(("own", "main"))
        self.assertEqual(list(warned), ["user-code"])
        self.assertEqual(report["verdict"], "user-code")
        self.assertIn("train.py:12 (train)", warned["user-code"]["claim"])
        self.check_share(warned["user-code"], 3 / 8.5)

    def test_a_line_has_what_its_samples_say(self):
        stacks = [("own", "main")] * 6 + [("line 1", "main"), ("line 2", "main")] * 2
        warned, _ = self.judge(*stacks)
        self.assertEqual(list(warned), ["user-code"])
        self.check_share(warned["user-code"], 0.6 * 3 / 8.5)

    def test_severity_is_that_of_what_samples_name(self):
        # All of it is 15 % of the step, and would warn; the line has less than 5 % for sure.
        stacks = [("own", "main")] * 3 + [("line 1", "main")] * 2 + [("library",)] * 5
        _, report = self.judge(*stacks, other=MS)
        found = {f["id"]: f["severity"] for f in report["findings"]}
        self.assertEqual(found.get("user-code"), "info", report["findings"])

    def test_many_lines(self):
        warned, _ = self.judge(*(("line %d" % i, "main") for i in range(12)))
        self.assertEqual(list(warned), ["user-code"])
        self.assertIn("spread over 12 lines, 8 % of that at train.py:", warned["user-code"]["claim"])
        self.check_share(warned["user-code"], 3 / 8.5)

    def test_no_function_has_half_of_it(self):
        stacks = [("decode %d" % i, "own", "main") for i in range(4)]
        warned, _ = self.judge(*stacks, *(("line %d" % i, "main") for i in range(6)))
        self.assertIn("spread over 10 lines, 40 % of that in decode() at input.py:40, 41, 42 and 1 more",
                      warned["user-code"]["claim"])

    def test_lines_of_a_function_are_added_up(self):
        # 4 + 3 + 2 + 1 of 14 samples: no line stands for decode(), and 4 are elsewhere.
        stacks = [("decode %d" % i, "own", "main") for i in range(4) for _ in range(4 - i)]
        warned, _ = self.judge(*stacks, *[("own", "main")] * 4)
        self.assertEqual(list(warned), ["user-code"])
        finding = warned["user-code"]
        self.assertIn("in decode() at input.py:40, 41, 42 and 1 more", finding["claim"])
        self.assertIn("in decode()", finding["evidence"])
        self.check_share(finding, 10 / 14 * 3 / 8.5)
        # A line with nearly all of its function stands for it.
        warned, _ = self.judge(*[("decode 0", "own", "main")] * 9, ("decode 1", "own", "main"))
        self.assertIn("at input.py:40 (decode)", warned["user-code"]["claim"])

    def test_a_function_that_makes_batches(self):
        stacks = [("decode %d" % i, "batches", "for", "main") for i in range(3)]
        warned, _ = self.judge(*stacks)
        self.assertIn("most of it in decode() at input.py:40, 41 and 42",
                      " ".join(warned["input-bound"]["claim"].split()))
        warned, _ = self.judge(*[("decode %d" % i, "for", "main") for i in range(5)], data=5 * MS,
                               other=0)
        self.assertIn("100 % of it in decode() at input.py:40, 41, 42 and 2 more",
                      warned["input-bound"]["evidence"])

    def test_code_that_makes_no_batches_is_not_moved_into_the_input(self):
        for name in (b"zero_grad", b"gradient", b"DataLoader"):
            advice = self.judge(("own", "main"), stage_name=name)[0]["user-code"]["advice"]
            self.assertIn("less often", advice)
            self.assertNotRegex(advice, "Data(set|Loader)|num_workers|jax.jit")

    def test_a_generator_gets_the_advice_of_its_framework(self):
        stack = ("batches", "for", "main")
        for name, wanted, other in ((b"zero_grad", r"DataLoader\(dataset, num_workers=1\)", "tf.data"),
                                    (b"gradient", r"PyDataset\(workers=1\).*from_generator\(.*prefetch",
                                     "num_workers|[.]map")):
            advice = self.judge(stack, stage_name=name)[0]["input-bound"]["advice"]
            self.assertRegex(advice, wanted)
            self.assertNotRegex(advice, other)

    def test_a_trainer_gets_its_own_arguments(self):
        for loop, wanted in ((b"train", r"TrainingArguments\(dataloader_num_workers=1,"),
                             (b"fit", "give the DataLoader workers: num_workers=1,"),
                             (b"", "give the DataLoader workers: num_workers=1,")):
            warned, _ = self.judge(("for", "main"), data=10 * MS, other=0, stage_name=b"zero_grad",
                                   loop_name=loop)
            self.assertRegex(warned["input-bound"]["advice"], wanted)

    def test_a_worker_that_would_not_keep_up_is_no_advice(self):
        # 20 of 25.5 ms are waited for: a worker in their place leaves 20 of them.
        warned, _ = self.judge(("for", "main"), data=20 * MS, other=0, stage_name=b"zero_grad")
        advice = warned["input-bound"]["advice"]
        self.assertIn("fetch each batch in one piece", advice)
        self.assertNotRegex(advice, "num_workers|would take")

    def test_what_no_line_has(self):
        warned, report = self.judge(("own", "main"), ("library",))
        self.assertEqual(set(warned), {"user-code", "instrument-more"})
        for finding in warned.values():
            self.check_share(finding, 1.5 / 8.5)
        warned, _ = self.judge(("library",))
        self.assertEqual(list(warned), ["instrument-more"])
        self.check_share(warned["instrument-more"], 3 / 8.5)

    def test_the_line_that_trains_is_not_the_scripts_own_code(self):
        warned, _ = self.judge(("trainer", "main"))
        self.assertEqual(list(warned), ["instrument-more"])
        self.assertIn("the trainer's own code", warned["instrument-more"]["claim"])
        warned, report = self.judge(("trainer", "main"), other=MS)
        self.assertEqual(warned, {})  # some of that is as it must be
        self.assertIn("instrument-more", [f["id"] for f in report["findings"]])

    def test_what_a_wait_for_data_is_made_of(self):
        collate, other = ("collate", "for", "main"), ("library", "for", "main")
        for stacks, transfer, wanted in (((collate, collate, other), MS, True), ((other,), 0, False)):
            warned, _ = self.judge(*stacks, data=5 * MS, transfer=transfer, other=0)
            evidence = warned["input-bound"]["evidence"]
            self.assertEqual("67 % of the time goes into collating samples" in evidence, wanted,
                             evidence)
            self.assertEqual("copying to the device takes another" in evidence, wanted, evidence)

    def test_batches_of_a_generator(self):
        stack = ("batches", "for", "main")
        warned, report = self.judge(stack, stack[1:], stack)
        self.assertEqual(list(warned), ["input-bound"])
        finding = warned["input-bound"]
        self.check_share(finding, 3 / 8.5)
        self.assertIn("input.py:3 (batches)", finding["claim"])
        self.assertEqual(finding["share_kind"], "estimate")
        self.assertIn("estimate", finding["claim"])
        counts = {(row["line"], row["stage"]): row["batch_count"] for row in report["hot"]["lines"]}
        self.assertEqual(sum(counts.values()), STEPS)
        self.assertEqual(counts[3, "other"], STEPS - counts[10, "other"])

    def test_batches_and_a_line(self):
        warned, _ = self.judge(("batches", "for", "main"), ("own", "main"), ("own", "main"))
        self.assertEqual(list(warned), ["user-code", "input-bound"])
        self.check_share(warned["user-code"], 2 / 8.5)
        self.check_share(warned["input-bound"], 1 / 8.5)


if __name__ == "__main__":
    unittest.main()
