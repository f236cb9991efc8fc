"""PyTorch: real training on the CPU, recorded without a change to the script."""

import collections
import json
import statistics
import unittest

from framework import PYTHON, FrameworkTest, counts_of, last_line, spans_of
from truth import MOST_NS, PART, TruthTest


class Shapes(TruthTest):
    """Steps, stages and cuts of loops as people write them."""

    def train(self, shape, steps):
        self.done = self.hooked("torch_shapes.py", shape)
        report = self.report()
        self.assertEqual([loop["steps"]["count"] for loop in report["loops"]], steps)
        self.assertEqual(report["steps"]["source"], "optimizer updates" if steps else "none")
        return report, counts_of(report)

    def test_zero_grad_first_or_last(self):
        _, counts = self.train("first_and_last", [24])
        for key, count in ((("", "DataLoader"), 26), (("", "DataLoader start"), 2),
                           (("Sequential", "forward"), 24), (("", "backward"), 24),
                           (("SGD", "step"), 24), (("SGD", "zero_grad"), 24),
                           (("", "clip_grad_norm_"), 24),
                           (("StepLR", "step"), 1 + 24),  # one when it is made
                           (("", "item"), None)):  # there is no device to wait for
            self.assertEqual(counts.get(key), count, key)
        self.assertEqual(self.calls_by_step("DataLoader", "forward", "backward", "step", "zero_grad"),
                         24 * [{"DataLoader": 1, "forward": 1, "backward": 1, "zero_grad": 1,
                                "step": 2}])  # of optimizer and scheduler

    def test_a_traceback_before_the_first_step_is_followed_by_two_lines(self):
        script = ("import torch\nmodel = torch.nn.Linear(2, 2)\nmodel(torch.ones(1, 2)).sum().backward()\n"
                  "model(torch.ones(1, 3))\n")
        command = self.recording([PYTHON, "-c", script])
        command.remove("--quiet")
        self.assertRegex(self.execute(command, expect=1).stderr,
                         r"\nRuntimeError: .*\nstepscope: .* exited with 1 after .*\n"
                         r"more\s+stepscope report \S+\n\Z")

    def test_accumulation(self):
        report, counts = self.train("accumulation", [12])
        self.assertEqual((report["steps"]["updates"], report["steps"]["batches"]), (12, 48))
        self.assertEqual(counts["Sequential", "forward"], 48)
        self.assertEqual(self.calls_by_step("DataLoader", "forward", "backward"),
                         12 * [{"DataLoader": 4, "forward": 4, "backward": 4}])

    def calls_by_step(self, *names):
        """How often each was called in each step."""
        spans = [r for r in self.records() if r["kind"] == "span" and r["name"] in names]
        return [dict(collections.Counter(
            span["name"] for span in spans
            if step["start_ns"] <= span["start_ns"] < step["start_ns"] + step["time_ns"]))
            for step in self.steps()]

    def test_two_optimizers_of_one_type_make_one_step(self):
        report, counts = self.train("gan", [12])
        self.assertEqual(report["steps"]["updates"], 24)
        self.assertEqual((counts["Adam", "step"], counts["Adam#2", "step"]), (12, 12))

    def test_a_closure_takes_from_the_optimizer(self):
        report, counts = self.train("lbfgs", [12])
        self.assertEqual(report["steps"]["updates"], 12)
        self.assertEqual(counts["LBFGS", "step"], 12)
        self.assertGreater(counts["", "backward"], 24)
        most = max(calls["forward"] for calls in self.calls_by_step("forward"))
        for stage in ("forward", "backward", "optimizer"):
            self.assert_times([step["stages_ns"][stage] for step in self.steps()],
                              [step[stage] for step in last_line(self.done)], stage, most * MOST_NS)

    def test_a_step_that_calls_super_is_one_span(self):
        report, counts = self.train("derived", [12])
        self.assertEqual((counts["Careful", "step"], counts["Careful", "zero_grad"]), (12, 12))
        self.assertEqual(report["steps"]["updates"], 12)
        self.assert_calls(last_line(self.done))

    def test_an_update_that_fails_is_none(self):
        report, counts = self.train("failing", [11])
        self.assertEqual((report["steps"]["updates"], report["steps"]["batches"]), (11, 12))
        self.assertEqual((counts["SGD", "step"], spans_of(report)["SGD", "step"]["failed"]), (12, 1))

    def test_a_teacher_is_forward(self):
        report, counts = self.train("teacher", [12])
        self.assertEqual(report["books"]["eval_ns"], 0)
        self.assertEqual(counts["Sequential", "forward"], 24)

    def test_an_evaluation_of_one_forward_after_each_step_is_cut_out(self):
        report, counts = self.train("one_batch", [12])
        self.assertEqual(counts["Sequential", "forward"], 24)
        forward = spans_of(report)["Sequential", "forward"]
        places = {place["place"]: place["count"] for place in forward["loop"]}
        self.assertEqual((places["step"], places["eval"]), (12, 11))  # the last one is after the loop
        self.assertGreater(report["books"]["eval_ns"], 0)

    def test_an_agent_acts_in_forward(self):
        report, counts = self.train("agent", [12])
        self.assertEqual(report["books"]["eval_ns"], 0)
        self.assertEqual(counts["Sequential", "forward"], 3 * 12 - 2)

    def test_evaluation_and_save_are_cut_out(self):
        report, counts = self.train("evaluation", [12])
        self.assertEqual((counts["", "torch.save"], counts["", "torch.load"]), (3, 1))
        self.assertEqual(counts["Sequential", "forward"], 12 + 3 * 3)
        for segment in ("eval_ns", "checkpoint_ns"):
            self.assertGreater(report["books"][segment], 0)
        starts = spans_of(report)["", "DataLoader start"]
        self.assertEqual({place["place"]: place["count"] for place in starts["loop"]}, {"eval": 3})

    def test_the_mode_of_a_module_does_not_decide_what_is_training(self):
        report, counts = self.train("modes", [2 * 12])
        self.assertEqual(report["steps"]["batches"], 2 * 12)
        self.assertEqual(counts["", "DataLoader"], 2 * (12 + 1 + 3 + 1 + 3))
        forward = spans_of(report)["Sequential", "forward"]
        self.assertEqual({place["place"]: place["count"] for place in forward["loop"]},
                         {"step": 2 * 12, "eval": 2 * (3 + 3)})

    def test_a_skipped_step_of_a_scaler_counts(self):
        report, counts = self.train("scaler", [12])
        for key in (("SGD", "step (GradScaler)"), ("", "GradScaler.unscale_"), ("", "GradScaler.update"),
                    ("", "clip_grad_value_")):
            self.assertEqual(counts[key], 12, key)
        self.assertEqual((report["steps"]["updates"], report["steps"]["batches"]), (12, 12))

    def test_a_new_iterator_each_step(self):
        report, counts = self.train("next_of_iter", [12])
        self.assertEqual(counts["", "DataLoader start"], 12)
        self.assertGreater(report["stages"]["setup"]["total_ns"], 0)

    def check_workers(self, shape, batches, processes):
        report, counts = self.train(shape, [batches])
        spans = [r for r in self.records() if r["kind"] == "span"]
        loop = next(r["process"] for r in spans if r["name"] == "forward")
        fetches = [r for r in spans if r["name"] == "fetch"]
        fetched = [r for r in fetches if "failed" not in r["flags"]]
        self.assertGreaterEqual(len({r["process"] for r in fetched}), processes)
        self.assertNotIn(loop, {r["process"] for r in fetched})
        self.assertGreaterEqual(len(fetched), batches)
        self.assertEqual({r["stage"] for r in fetches}, {"produce"})
        self.assertTrue(all("producer" in r["flags"] for r in fetches))
        self.assertEqual(report["steps"]["batches"], batches)
        return counts

    def test_workers(self):
        counts = self.check_workers("workers", 12 + 12, 2)
        self.assertGreater(counts["", "DataLoader stop"], 0)

    def test_spawned_workers(self):
        self.check_workers("spawned_workers", 12, 2)

    def test_a_killed_worker(self):
        printed = self.hooked("torch_shapes.py", "killed_worker").stdout
        self.assertGreater(int(printed), 1)
        self.assertEqual(self.report()["steps"]["count"], int(printed))

    def test_threads_have_loops_of_their_own(self):
        _, counts = self.train("threads", [12, 12])
        self.assertEqual(counts["Sequential", "forward"], 24)

    def test_two_models_are_two_loops(self):
        _, counts = self.train("two_models", [20, 20])
        self.assertEqual((counts["SGD", "step"], counts["SGD#2", "step"]), (20, 20))

    def test_gradients_without_backward(self):
        _, counts = self.train("gradients", [12])
        self.assertEqual(counts["", "backward"], 12)

    def test_transfers_are_moves_to_another_device(self):
        _, counts = self.train("elsewhere", [12])
        self.assertEqual(counts["", "to"], 24 + 4)  # and the four tensors of the model

    def test_each_look_into_a_tensor_is_a_wait(self):
        report, counts = self.train("looks", [])
        found = {span["name"]: span["count"] for span in report["spans"] if span["stage"] == "sync"}
        self.assertEqual(found, {name: 2 for name in (
            "__float__", "__int__", "__bool__", "__index__", "item", "tolist", "numpy")})
        self.assertNotIn(("", "cpu"), counts)  # it is there already

    def test_compilation(self):
        report, counts = self.train("compiled", [12])
        self.assertGreater(counts["", "torch.compile"], 0)
        self.assertNotIn(("", "to"), counts)
        self.assertGreater(report["books"]["compile_ns"], 0)

    def test_collectives(self):
        report, counts = self.train("collectives", [12])
        self.assertEqual(counts["", "all_reduce"], 4 * 12)
        for name in ("broadcast", "reduce", "all_gather", "all_gather_into_tensor", "gather", "scatter",
                     "all_to_all_single", "barrier", "all_gather_object", "broadcast_object_list"):
            self.assertEqual(counts.get(("", name)), 1, name)
        self.assertGreater(report["stages"]["comm"]["total_ns"], 0)

    def test_inference(self):
        report, _ = self.train("inference", [])
        forwards = [r for r in self.records() if r.get("name") == "forward" and r["kind"] == "span"]
        self.assertEqual({tuple(r["flags"]) for r in forwards}, {("eval",)})
        true = last_line(self.done)
        self.assert_calls(true)
        latency, true_ns = spans_of(report)["Slow", "forward"], [1e9 * s for s in true["Slow.forward"]]
        self.assertEqual((latency["count"], latency["failed"]), (13, 0))
        self.assert_near(latency["p50_ns"], statistics.median(true_ns), PART, MOST_NS, "p50")


class Untouched(FrameworkTest):
    def test_weights_are_the_same_to_the_bit(self):
        plain = json.loads(self.plain("torch_weights.py").stdout)
        self.assertEqual(len(set(plain.values())), 3, plain)  # workers and compilers change nothing
        self.assertEqual(json.loads(self.hooked("torch_weights.py").stdout), plain)

    def test_tracebacks_are_the_same_to_the_byte(self):
        plain = self.plain("torch_errors.py").stdout
        self.assertGreaterEqual(plain.count("Traceback"), 17 + 1)  # that of the worker has another in it
        self.assertNotIn("raised nothing", plain)
        self.assertEqual(self.hooked("torch_errors.py").stdout, plain)

    def test_every_hook_is_laid(self):
        self.hooked("torch_shapes.py", "compiled")
        self.assert_all_hooked()


if __name__ == "__main__":
    unittest.main()
