"""JAX: real training on the CPU, recorded without a change to the script."""

import glob
import json
import os
import signal
import unittest

from framework import BUILD, HERE, PROGRAM, PYTHON, FrameworkTest, counts_of

STEPS = 24  # of most shapes


class Shapes(FrameworkTest):
    """Steps, stages and cuts of loops as people write them."""

    def train(self, shape, steps, source="jit calls", expect=0):
        self.hooked("jax_shapes.py", shape, expect=expect)
        report = self.report()
        self.assertEqual([loop["steps"]["count"] for loop in report["loops"]], steps)
        self.assertEqual(report["steps"]["source"], source)
        return report, counts_of(report)

    def test_steps_are_calls_in_windows_from_sync_to_sync(self):
        report, counts = self.train("plain", [40])
        self.assertEqual(counts["train_step", "call"], 40)
        self.assertEqual(report["steps"]["steady"]["window_steps"], 10)
        for name in ("float", "array", "block_until_ready", "device_get"):
            self.assertEqual(counts["", name], 1)

    def check_clock(self, shape, steps):
        """Steps take in the mean what the clock says, also where calls return before their work is done."""
        by_clock = float(self.hooked("jax_shapes.py", shape).stdout)
        report = self.report()
        found = report["steps"]
        self.assertEqual(found["count"], steps)
        self.assertTrue(found["asynchronous"])
        self.assert_near((found["warmup_ns"] + found["steady"]["total_ns"]) / (steps - found["left_out"]),
                         by_clock, 0.2, 0, shape)
        return report

    def test_a_loop_that_never_waits(self):
        report = self.check_clock("never_waits", 4000)
        self.assertNotEqual(report["steps"]["warmup_class"], "too_few")

    def test_loops_that_wait_seldom_have_a_verdict(self):
        for shape, steps in ("waits_at_the_end", 300), ("waits_seldom", 1000):
            report = self.check_clock(shape, steps)
            self.assertNotIn(report["verdict"], ("too-few-steps", "no-steps"))
            self.assertLess(report["steps"]["missing"], 20)

    def test_optax_and_donated_buffers(self):
        report, counts = self.train("optax_adam", [STEPS])
        self.assertEqual(counts["update", "call"], STEPS)
        self.assertEqual(counts["", "item"], STEPS)
        self.assertEqual(counts["", "device_put"], STEPS + 1)
        self.assertGreater(report["stages"]["transfer"]["total_ns"], 0)

    def test_updates_that_are_not_compiled(self):
        _, counts = self.train("eager_optax", [STEPS], source="optimizer updates")
        self.assertEqual(counts["optax", "apply_updates"], STEPS)
        self.assertEqual(counts["loss_of", "call"], STEPS)

    def test_flax_nnx(self):
        _, counts = self.train("nnx", [STEPS])
        self.assertEqual(counts["train_nnx", "call"], STEPS)

    def test_flax_linen(self):
        _, counts = self.train("linen", [STEPS])
        self.assertEqual(counts["train_linen", "call"], STEPS)

    def test_a_scan_over_many_steps_is_one(self):
        _, counts = self.train("scan", [STEPS])
        self.assertEqual(counts["train_epoch", "call (a scan of 50)"], STEPS)
        self.assertNotIn(("train_epoch", "call"), counts)

    def test_separate_functions_make_one_step_and_evaluation_is_cut_out(self):
        report, counts = self.train("separate", [120])
        self.assertEqual((counts["loss_of", "call"], counts["descend", "call"]), (120, 120))
        self.assertEqual(counts["eval_step", "call"], 15)
        self.assertGreater(report["books"]["eval_ns"], 0)

    def test_what_gives_new_parameters_makes_the_steps(self):
        _, counts = self.train("gradient_twice", [100])
        self.assertEqual((counts["loss_of", "call"], counts["descend", "call"]), (200, 100))
        _, counts = self.train("loss_twice", [100])
        self.assertEqual((counts["eval_step", "call"], counts["train_step", "call"]), (200, 100))

    def test_evaluation_that_is_more_frequent_than_training(self):
        report, counts = self.train("evaluation", [STEPS])
        self.assertEqual(counts["eval_step", "call"], 60)
        self.assertGreater(report["books"]["eval_ns"], 0)

    def test_functions_compiled_ahead_of_time(self):
        report, counts = self.train("ahead", [STEPS])
        self.assertEqual((counts["train_step", "call"], counts["eval_step", "call"]), (STEPS, 60))
        self.assertGreater(report["books"]["eval_ns"], 0)

    def test_only_the_outermost_function_is_seen(self):
        _, counts = self.train("nested", [STEPS])
        self.assertEqual(counts["outer", "call"], STEPS)
        self.assertNotIn(("train_step", "call"), counts)

    def test_pmap(self):
        _, counts = self.train("pmapped", [STEPS])
        self.assertEqual(counts["replica", "call"], STEPS)
        self.assertEqual(counts["", "array"], STEPS)

    def test_retraces_are_counted_by_function(self):
        report, counts = self.train("retraces", [12])
        for function in ("train_step", "<lambda>"):
            self.assertEqual(counts[function, "call"], 12)
            for part in ("trace", "lower", "compile"):
                self.assertEqual(counts[function, part], 12, (function, part))
        times = {name: stage["total_ns"] for name, stage in report["stages"].items() if stage}
        self.assertEqual(max(times, key=times.get), "compile")
        storm = next(found for found in report["findings"] if found["id"] == "retrace-storm")
        self.assertIn("train_step is compiled again and again", storm["claim"])
        self.assertIn("12 times in 12 steps", storm["evidence"])

    def test_operations_that_are_not_compiled_are_their_functions(self):
        report, counts = self.train("accuracies", [STEPS])
        self.assertGreater(counts["operations of accuracy()", "compile"], 4)
        self.assertEqual({of for of, part in counts if part == "compile"},
                         {"train_step", "operations of accuracy()"})
        self.assertNotIn("retrace-storm", {found["id"] for found in report["findings"]})

    def test_each_look_into_an_array_is_a_wait(self):
        report, _ = self.train("looks", [], source="none")
        found = {span["name"]: span["count"] for span in report["spans"] if span["stage"] == "sync"}
        ways = "float", "int", "bool", "complex", "index", "item", "tolist", "device_get"
        self.assertEqual(found, {**{name: 2 for name in ways}, "array": 4, "block_until_ready": 4})

    def test_two_models_are_two_loops(self):
        self.train("two_models", [STEPS, STEPS])

    def test_three_steps(self):
        self.train("few", [3])

    def test_threads_have_loops_of_their_own(self):
        self.train("threads", [STEPS, STEPS])

    def test_a_fork_in_the_middle(self):
        self.train("forked", [STEPS])

    def test_an_interrupt(self):
        self.train("interrupted", [16], expect=-signal.SIGINT)

    def test_what_is_not_compiled_needs_marks(self):
        self.train("eager", [], source="none")
        printed = self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout
        self.assertIn("`import stepscope`", printed)
        self.assertIn("`stepscope.step()`", printed)
        self.train("marked", [STEPS - 1], source="step marks")

    def train_late(self, shape):
        """Nothing but the script starts a recording."""
        self.runs = os.path.join(self.folder, shape)
        self.plain("jax_shapes.py", shape, STEPSCOPE_DIR=self.runs,
                   PYTHONPATH=os.path.join(BUILD, "python"))
        report = self.report()
        self.assertEqual(report["steps"]["count"], STEPS)
        return report

    def test_a_recording_that_starts_late(self):
        self.assertEqual(counts_of(self.train_late("late"))["train_step", "call"], STEPS)

    def test_steps_that_a_profiler_watches_are_in_no_statistics(self):
        watched = 2 * 5
        self.assertEqual(self.train_late("profiled")["steps"]["left_out"], watched + 1)  # the last one

    def test_every_hook_is_laid(self):
        self.hooked("jax_shapes.py", "optax_adam")
        hooks = [r for r in self.records() if r["kind"] == "hook"]
        self.assertGreater(len(hooks), 10)
        self.assertEqual([(r["target"], r["reason"]) for r in hooks if r.get("reason")], [])


class Untouched(FrameworkTest):
    def test_weights_are_the_same_to_the_bit(self):
        self.assertEqual(json.loads(self.hooked("jax_loop.py", "0").stdout)["digest"],
                         json.loads(self.plain("jax_loop.py", "0").stdout)["digest"])

    def test_parameters_of_flax_and_optax_are_the_same_to_the_bit(self):
        shapes = "nnx", "linen", "optax_adam", "eager_optax"
        plain = self.plain("jax_shapes.py", *shapes).stdout
        self.assertEqual(len(set(plain.split())), len(shapes), plain)
        self.assertEqual(self.hooked("jax_shapes.py", *shapes).stdout, plain)

    def test_tracebacks_are_the_same_to_the_byte(self):
        for filtered in ("auto", "off"):
            plain = self.plain("jax_errors.py", JAX_TRACEBACK_FILTERING=filtered)
            self.assertGreaterEqual(plain.stdout.count("Traceback"), 12)
            self.assertNotIn("raised nothing", plain.stdout)
            hooked = self.hooked("jax_errors.py", JAX_TRACEBACK_FILTERING=filtered)
            self.assertEqual(hooked.stdout, plain.stdout)
            self.assertEqual(hooked.stderr, plain.stderr)

    def test_functions_are_and_do_the_same(self):
        plain = json.loads(self.plain("jax_functions.py").stdout)
        hooked = json.loads(self.hooked("jax_functions.py").stdout)
        self.assertEqual(plain["collected"], False)
        for case, result in plain.items():
            with self.subTest(case=case):
                self.assertEqual(hooked[case], result)
        self.assertTrue(glob.glob(self.runs + "/latest/p-*.ssp"))


class Example(FrameworkTest):
    def test_it_trains(self):
        script = os.path.join(HERE, "..", "..", "examples", "jax_train.py")
        plain = self.execute([PYTHON, script, "120"]).stdout
        self.assertEqual(self.execute(self.recording([PYTHON, script, "120"])).stdout, plain)
        report = self.report()
        self.assertEqual(report["steps"]["count"], 120)
        self.assertGreater(report["books"]["eval_ns"], 0)


if __name__ == "__main__":
    unittest.main()
