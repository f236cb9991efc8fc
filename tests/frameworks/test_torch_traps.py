"""PyTorch in scripts that fork, are interrupted, patch it, or start recording late."""

import json
import os
import signal
import unittest

from framework import BUILD, PROGRAM, FrameworkTest, counts_of, last_line


class Traps(FrameworkTest):
    def trap(self, name, steps, expect=0):
        done = self.hooked("torch_traps.py", name, expect=expect)
        report = self.report()
        self.assertEqual(sorted(loop["steps"]["count"] for loop in report["loops"]), steps)
        self.assertTrue(report["lost"]["whole"], report["lost"])
        return done, report

    def test_a_fetch_in_a_worker_is_linked_to_its_batch(self):
        _, report = self.trap("workers_that_stay", [24])
        self.assertEqual(report["steps"]["batches"], 24)
        spans = [r for r in self.records() if r["kind"] == "span" and "failed" not in r["flags"]]
        waits = {}
        for epoch in range(2):
            got = [r for r in spans if r["name"] == "DataLoader"][12 * epoch:12 * (epoch + 1)]
            self.assertEqual([r["arg"] for r in got], list(range(1, 13)))
            waits[epoch] = {r["arg"]: r for r in got}
        fetches = [r for r in spans if r["name"] == "fetch"]
        self.assertEqual(sorted(r["arg"] for r in fetches), sorted(2 * list(range(1, 13))))
        self.assertEqual(len({r["process"] for r in fetches}), 2)
        for fetch in fetches[:12]:  # before the batch is had
            self.assertLess(fetch["start_ns"], waits[0][fetch["arg"]]["end_ns"])

    def test_a_fork_in_the_middle(self):
        _, report = self.trap("fork_in_the_middle", [20, 24])
        self.assertEqual(len({loop["process"] for loop in report["loops"]}), 2)

    def test_an_interrupt(self):
        plain = self.plain("torch_traps.py", "interrupt", expect=-signal.SIGINT)
        done, report = self.trap("interrupt", [7], expect=-signal.SIGINT)
        self.assertEqual(done.stderr, plain.stderr)
        self.assertEqual(report["run"]["signal"], signal.SIGINT)

    def test_killed_in_a_step(self):
        _, report = self.trap("killed", [7], expect=-signal.SIGKILL)
        self.assertEqual(report["run"]["signal"], signal.SIGKILL)
        self.assertEqual((report["steps"]["updates"], report["steps"]["batches"]), (7, 7))
        open_ns = [(r["name"], r["end_ns"] - r["start_ns"]) for r in self.records()
                   if r["kind"] == "span" and "unfinished" in r["flags"]]
        self.assertEqual([name for name, _ in open_ns], ["forward"])
        books = report["books"]
        self.assert_closed(books)
        self.assertGreater(books["teardown_ns"], open_ns[0][1])

    def test_three_steps_in_a_child_that_patches_modules(self):
        _, report = self.trap("only_in_a_child", [3])
        self.assertEqual(report["steps"]["warmup_class"], "too_few")

    def test_gradients_make_steps_unless_marks_do(self):
        done, report = self.trap("by_hand_then_in_places", [40, 160])
        loops = {loop["steps"]["source"]: loop for loop in report["loops"]}
        self.assertEqual(loops["gradients"]["steps"]["count"], 160)
        self.assertGreater(loops["gradients"]["stages"]["backward"]["total_ns"], 0)
        true = last_line(done)
        # The last one comes after the last step: it is the run's, and makes the loop no longer.
        self.assert_near(report["books"]["eval_ns"], sum(true["eval"]) * 1e9, 0.1, 5e6, "evaluation")
        inside = loops["optimizer updates"]["books"]["eval_ns"]
        self.assert_near(inside, sum(true["eval"][:-1]) * 1e9, 0.1, 5e6, "evaluation between steps")
        printed = self.execute([PROGRAM, "report", "--steps", "--json", self.runs + "/latest"]).stdout
        waits = [json.loads(line)["stages_ns"].get("data", 0) for line in printed.splitlines()]
        self.assert_near(sum(waits), true["data"] * 1e9, 0.25, 20e6, "transformations")
        _, report = self.trap("marked_updates", [120])
        self.assertEqual(report["steps"]["source"], "step marks")
        for stage in ("forward", "backward"):
            self.assertGreater(report["stages"][stage]["total_ns"], 0)

    def test_many_tiny_steps(self):
        _, report = self.trap("many_tiny_steps", [100_000])
        self.assertEqual(counts_of(report)["", "backward"], 100_000)

    def test_recording_starts_late(self):
        done = self.plain("torch_traps.py", "notebook", PYTHONPATH=os.path.join(BUILD, "python"))
        *found, run = done.stdout.split()
        self.assertEqual(found, ["20", "True"])
        self.runs = os.path.dirname(os.path.join(self.folder, run))
        marks = [(r["name"], r["text"]) for r in self.records()
                 if r["kind"] == "mark" and r["name"] != "framework"]
        self.assertEqual(marks, [("asynchronous device", "cuda"),
                                 ("layers not sampled", "the device runs asynchronously")])
        self.assertTrue(self.report()["steps"]["asynchronous"])
        seeds = 2  # that the loader draws, one an epoch
        self.assertEqual(counts_of(self.report())["", "item"], 20 + seeds)

    def test_steps_that_a_profiler_watches_are_in_no_statistics(self):
        done = self.plain("torch_traps.py", "profiled", PYTHONPATH=os.path.join(BUILD, "python"),
                          STEPSCOPE_LAYERS="0")  # steps in which layers are sampled are excluded, too
        self.assertEqual(done.stdout.split(), ["4", "6", "4"])

    def test_reasons_to_compile_again(self):
        _, report = self.trap("compile_again", [24])
        marks = [r["text"] for r in self.records()
                 if r["kind"] == "mark" and r["name"] == "recompile"]
        self.assertEqual(len(marks), 2, marks)
        for text, reason in zip(marks, ("size mismatch", "number == 2.0")):
            self.assertIn("scaled (", text)
            self.assertIn(reason, text)
        self.assertGreater(report["stages"]["compile"]["total_ns"], 0)


if __name__ == "__main__":
    unittest.main()
