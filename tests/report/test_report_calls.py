"""What is said of callbacks, evaluation, saves, set-up and compiling: fits of which every number is
known."""

import json
import unittest

import report_runs as runs
from report_runs import (BATCH_END, CALLBACK, CHECKPOINT, CLOSED, COMPILE, COMPUTE, DATA, EPOCH_END,
                         EVAL, INFER, MS, NEST, SETUP, SYNC, TRAIN_CALL, US, USER)
from report_support import ReportTest
from builder import mark
from support import FINE

# number, text, object, stage, role, scope
NAMES = (
    (1, b"next", b"", DATA, 0, 0), (2, b"train_function", b"", COMPUTE, TRAIN_CALL, 0),
    (3, b"on_train_batch_end", b"Log", CALLBACK, 0, BATCH_END),
    (4, b"on_epoch_end", b"Plot", CALLBACK, 0, EPOCH_END),
    (5, b"evaluate", b"", EVAL, 0, 0), (6, b"on_test_batch_end", b"Slow", CALLBACK, 0, 0),
    (7, b"save", b"Model", CHECKPOINT, 0, 0), (8, b"item", b"", SYNC, 0, 0),
    (9, b"predict", b"", INFER, 0, 0), (10, b"fit", b"", 0, 0, 0),
    (11, b"make iterator", b"tf.data", SETUP, 0, 0), (12, b"trace", b"helper", COMPILE, 0, 0),
    (13, b"trace", b"train_step", COMPILE, 0, 0), (14, b"recompile", b"", 0, 0, 0),
    (15, b"torch.compile", b"", COMPILE, 0, 0),
    (16, b"on_train_batch_end", b"ModelCheckpoint", USER, 0, BATCH_END), (17, b"mine", b"", USER, 0, 0),
    (18, b"compile", b"operations of accuracy()", COMPILE, 0, 0))
STAGE = {number: stage for number, _, _, stage, _, _ in NAMES}
LOG, PLOT, EVALUATE, SLOW, SAVE, ITEM, PREDICT = 3, 4, 5, 6, 7, 8, 9
ITERATOR, HELPER, TRAIN_STEP, RECOMPILE, COMPILER, SAVER, MINE = 11, 12, 13, 14, 15, 16, 17
OPERATIONS = 18


class Fit(runs.Thread):
    def call(self, number, *inside, own=0, depth=0, nest=0):
        """A span that holds others, (number, ns) or (number, [others], ns), then its own time."""
        start = self.now
        stage = STAGE[number]
        closed = CLOSED if stage in (CALLBACK, EVAL, INFER, CHECKPOINT) else 0
        around = NEST | stage | closed | nest & CLOSED
        for other, *rest in inside:
            self.call(other, *(rest[0] if len(rest) > 1 else ()), own=rest[-1], depth=depth + 1,
                      nest=around)
        self.wait(own)
        self.records.append(runs.span(start, self.now, name=number, flags=runs.TRAIN, depth=depth,
                                      nest=nest))


def fit(steps=200, epochs=4, each=None, after=None, between=None, train=None):
    """Steps of 6 ms. Functions of the thread and of a number say what else there is: in each step,
    after the steps of an epoch, once an epoch is over; train(step) what a train function holds."""
    thread = Fit()
    random = runs.noise(3)
    thread.wait(50 * MS)
    thread.loop(True)
    for epoch in range(epochs):
        thread.epoch(epoch)
        for i in range(steps // epochs):
            number = epoch * steps // epochs + i
            thread.call(1, own=MS)
            thread.call(2, *(train(number) if train else ()),
                        own=5 * MS * (1 + 0.02 * next(random)))
            if each:
                each(thread, number)
        if after:
            after(thread, epoch)
        thread.epoch()
        if between:
            between(thread, epoch)
    thread.loop(False)
    return runs.process(thread, names=NAMES)


class Calls(ReportTest):
    count = 0

    def findings(self, **how):
        self.count += 1
        name = self.make_run("run-%d" % self.count, p=fit(**how))
        report = json.loads(self.check(["report", "--json", name], FINE).stdout)
        self.text = self.report(run=name)
        # A loop that waits for a sixth of the step is not what this is about.
        return {f["id"]: f for f in report["findings"] if f["id"] != "input-bound"}

    def check_share(self, finding, share):
        low, high = finding["share_ci"]
        self.assertTrue(low - 1e-3 <= share <= high + 1e-3, (share, finding))
        self.assertAlmostEqual(finding["share"], share, delta=0.01)


class Callbacks(Calls):
    def test_inside_an_evaluation_they_are_a_part_of_it(self):
        found = self.findings(
            after=lambda t, e: t.call(EVALUATE, *[(SLOW, 20 * MS)] * 5, own=10 * MS))
        self.assertEqual(list(found), ["eval-heavy"], found)
        self.check_share(found["eval-heavy"], 440 / 1640)
        self.assertIn("91 % of it in Slow.on_test_batch_end, 20 calls of 20.0 ms",
                      found["eval-heavy"]["evidence"])
        self.assertIn("Slow.on_test_batch_end", found["eval-heavy"]["advice"])

    def test_in_an_evaluation_between_two_updates(self):
        def each(thread, number):
            if number % 2 == 0:
                thread.call(EVALUATE, (SLOW, 4 * MS), own=2 * MS)
        found = self.findings(each=each)
        self.assertEqual(list(found), ["eval-heavy"], found)

    def test_at_the_end_of_epochs_they_are_no_set_up(self):
        found = self.findings(between=lambda t, e: t.call(PLOT, own=100 * MS))
        self.assertEqual(list(found), ["callback-bound"], found)
        found = found["callback-bound"]
        self.assertEqual((found["of"], found["severity"]), ("the loop", "warn"))
        self.check_share(found, 400 / 1600)
        self.assertIn("Plot.on_epoch_end takes 25.", found["claim"])
        self.assertIn("of the loop's time", found["claim"])
        self.assertIn("4 calls of 100 ms", found["evidence"])

    def test_each_has_its_own_numbers(self):
        def each(thread, number):
            thread.call(LOG, own=300 * MS if number % 25 == 24 else MS / 10)
        found = self.findings(steps=400, each=each)["callback-bound"]
        self.assertIn("400 calls of", found["evidence"])
        self.assertIn("p95 100 us, p99 300 ms", found["evidence"])
        self.assertIn("every 25 steps one of 300 ms", found["evidence"])

    def test_a_wait_for_the_device_is_told_apart(self):
        found = self.findings(each=lambda t, i: t.call(LOG, (ITEM, 6 * MS), own=2 * MS))
        found = found["callback-bound"]
        self.assertIn("takes 14.3 % of the step itself, and waits for the device another 42.8 %",
                      found["claim"])
        self.assertAlmostEqual(found["share"], 2 / 14, delta=0.01)
        self.assertGreater(found["gain_most"], 8 / 14 - 0.01)
        self.assertTrue(found["unknown"])

    def test_a_wait_alone_is_no_warning(self):
        found = self.findings(each=lambda t, i: t.call(LOG, (ITEM, 6 * MS), own=2 * US))
        found = found["callback-bound"]
        self.assertEqual(found["severity"], "info")
        self.assertIn("waits for the device another 50.0 %", found["claim"])

    def test_what_it_predicts_is_its_own(self):
        found = self.findings(each=lambda t, i: t.call(LOG, (PREDICT, 4 * MS), (ITEM, 2 * MS)))
        self.check_share(found["callback-bound"], 0.5)
        self.assertNotIn("device", found["callback-bound"]["claim"])


class Saves(Calls):
    def test_in_a_callback_after_an_epoch(self):
        found = self.findings(between=lambda t, e: t.call(PLOT, (SAVE, 100 * MS), own=2 * MS))
        self.assertEqual(list(found), ["checkpoint-heavy"], found)
        self.check_share(found["checkpoint-heavy"], 400 / 1608)
        self.assertIn("400 ms of it inside Plot.on_epoch_end",
                      found["checkpoint-heavy"]["evidence"])

    def test_in_a_callback_in_steps(self):
        def each(thread, number):
            saves = [(SAVE, 60 * MS)] if number % 20 == 0 else []
            thread.call(LOG, *saves, own=MS / 100)
        found = self.findings(each=each)
        self.assertNotIn("callback-bound", found)
        self.assertEqual(found["periodic-pause"]["severity"], "info")
        self.check_share(found["checkpoint-heavy"], 600 / 1802)
        self.assertIn("inside Log.on_train_batch_end", found["checkpoint-heavy"]["evidence"])

    def test_both_have_their_own_part(self):
        found = self.findings(between=lambda t, e: t.call(PLOT, (SAVE, 100 * MS), own=200 * MS))
        self.assertEqual(set(found), {"checkpoint-heavy", "callback-bound"}, found)
        self.check_share(found["checkpoint-heavy"], 400 / 2400)
        self.check_share(found["callback-bound"], 800 / 2400)
        self.assertIn("not counted here: 400 ms saving", found["callback-bound"]["evidence"])

    def test_what_a_callback_evaluates(self):
        found = self.findings(
            between=lambda t, e: t.call(PLOT, (EVALUATE, [(SLOW, 50 * MS)], 50 * MS)))
        self.assertEqual(list(found), ["eval-heavy"], found)
        self.check_share(found["eval-heavy"], 400 / 1600)
        self.assertIn("inside Plot.on_epoch_end", found["eval-heavy"]["evidence"])


class Between(Calls):
    def test_set_up_is_what_is_set_up(self):
        found = self.findings(
            between=lambda t, e: (t.call(ITERATOR, own=100 * MS), t.call(PLOT, own=MS)))
        self.assertEqual(list(found), ["setup-heavy"], found)
        self.check_share(found["setup-heavy"], 400 / 1604)

    def test_what_nothing_names(self):
        found = self.findings(between=lambda t, e: t.wait(100 * MS))
        self.assertEqual(list(found), ["instrument-more"], found)
        self.assertEqual(found["instrument-more"]["of"], "the loop")


class InSteps(Calls):
    def test_a_callback_that_saves_is_not_of_the_scripts_own(self):
        def each(name):
            return lambda t, number: (t.call(name, (SAVE, 3 * MS), own=MS), t.wait(2 * MS))
        found = self.findings(each=each(SAVER))["instrument-more"]
        self.assertNotIn("own span", found["evidence"])
        found = self.findings(each=each(MINE))["instrument-more"]
        self.assertIn("the script's own span mine takes", found["evidence"])


    def test_what_a_program_names_itself(self):
        """Of three steps one gets two batches, by a call of another name."""
        thread = runs.Thread()
        random = runs.noise(3)
        for i in range(200):
            thread.span(1, MS)
            if i % 3 == 0:
                thread.span(8, MS)
            thread.span(2, 4 * MS * (1 + 0.02 * next(random)), flags=runs.TRAIN)
        names = ((1, b"read_batch", b"", DATA, 0, 0), (8, b"rewind", b"", DATA, 0, 0),
                 (2, b"train", b"", COMPUTE, TRAIN_CALL, 0))
        name = self.make_run("own", p=runs.process(thread, names=names))
        report = json.loads(self.check(["report", "--json", name], FINE).stdout)
        self.assertEqual(report["verdict"], "input-bound")
        self.assertIn("; 75 % of it in read_batch", report["findings"][0]["evidence"])


class Compiling(Calls):
    def test_the_function_that_carries_it(self):
        """One takes long once, another one a little again and again."""
        def train(number):
            if number == 0:
                return [(TRAIN_STEP, 3000 * MS)]
            return [(HELPER, 30 * MS)] if number % 10 == 0 else []
        found = self.findings(train=train)["retrace-storm"]
        self.assertIn("helper is compiled again and again", found["claim"])
        self.assertIn("19 times in 200 steps, 30.0 ms each", found["evidence"])
        self.assertTrue(found["unknown"])

    def test_three_times_are_a_storm_if_they_take_that_long(self):
        def few(ns):
            return self.findings(train=lambda i: [(HELPER, ns)] if i % 50 == 40 else [])
        self.assertIn("4 times in 200 steps", few(2000 * MS)["retrace-storm"]["evidence"])
        self.assertNotIn("retrace-storm", few(40 * MS))

    def test_a_storm_that_is_over_before_steps_are_steady(self):
        """One length of a sentence after another, until all have been seen."""
        def first(count, ns):
            return self.findings(train=lambda i: [(HELPER, ns)] if 1 <= i <= count else [])
        found = first(12, 500 * MS)["retrace-storm"]
        self.assertEqual((found["of"], found["severity"]), ("the loop", "high"))
        self.assertIn("helper is compiled again and again", found["claim"])
        self.assertIn("12 times in 200 steps, 500 ms each", found["evidence"])
        self.check_share(found, 12 * 500 / (12 * 500 + 200 * 6))
        self.assertNotIn("retrace-storm", first(3, 2000 * MS))
        self.assertNotIn("retrace-storm", first(12, MS))

    def test_operations_of_a_function_of_jax_are_a_storm_if_they_do_not_end(self):
        def found(steps):
            return self.findings(train=lambda i: [(OPERATIONS, 500 * MS)] if i in steps else [])
        self.assertNotIn("retrace-storm", found(range(20, 32)))
        storm = found(range(4, 200, 8))["retrace-storm"]
        self.assertIn("operations of accuracy() are compiled again and again", storm["claim"])

    def test_why_is_said_where_it_is_known(self):
        text = b"forward (/home/someone/train.py:12): size of x changed, expected 32, actual 33"

        def each(thread, number):
            if number % 20 == 10:
                thread.mark(mark, text, name=RECOMPILE)
        found = self.findings(
            each=each, train=lambda i: [(COMPILER, 60 * MS)] if i % 20 == 10 else [])
        found = found["retrace-storm"]
        self.assertIn("forward (train.py:12) is compiled again", found["claim"])
        self.assertIn("again 10 times in 200 steps", found["evidence"])
        self.assertIn("the last time because size of x changed", found["evidence"])
        self.assertEqual(found["unknown"], "")

    def test_what_is_compiled_at_the_start(self):
        found = self.findings(train=lambda i: [(TRAIN_STEP, 6000 * MS)] if i == 0 else [])
        self.assertIn("6.00 s of it for train_step, compiled 1 time",
                      found["compile-heavy"]["evidence"])


if __name__ == "__main__":
    unittest.main()
