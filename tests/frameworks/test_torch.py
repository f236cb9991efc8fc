"""PyTorch: real training on the CPU, recorded without a change to the script.

STEPSCOPE_TORCH_PYTHON is an interpreter that has torch; without it nothing here runs."""

import glob
import json
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["STEPSCOPE_BUILD"]
PROGRAM = os.environ.get("STEPSCOPE_BIN", os.path.join(BUILD, "stepscope"))
PYTHON = os.environ.get("STEPSCOPE_TORCH_PYTHON", "")
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 300
TRIES = 3  # of a comparison of times: another program may have had the machine meanwhile


@unittest.skipUnless(PYTHON, "STEPSCOPE_TORCH_PYTHON does not say which Python has torch")
class TorchTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-torch-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run_count = 0

    def execute(self, command):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("STEPSCOPE_", "PYTHON"))}
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def plain(self, script, *arguments):
        return self.execute([PYTHON, os.path.join(HERE, script), *arguments])

    def hooked(self, script, *arguments):
        self.run_count += 1
        self.runs = os.path.join(self.folder, "runs-%d" % self.run_count)
        return self.execute([PROGRAM, "run", "--quiet", "--dir", self.runs, PYTHON,
                             os.path.join(HERE, script), *arguments])

    def report(self):
        return json.loads(self.execute([PROGRAM, "report", "--json", self.runs + "/latest"]))

    def records(self):
        dump = self.execute([PROGRAM, "dump", "--json", self.runs + "/latest"])
        return [json.loads(line) for line in dump.splitlines()]


def counts_of(report):
    """Of spans, by object and name."""
    return {(span["object"], span["name"]): span["count"] for span in report["spans"]}


class Shapes(TorchTest):
    """Steps, stages and cuts of loops as people write them."""

    def train(self, shape, steps):
        self.hooked("torch_shapes.py", shape)
        report = self.report()
        self.assertEqual([loop["steps"]["count"] for loop in report["loops"]], steps)
        self.assertEqual(report["steps"]["source"], "optimizer updates" if steps else "none")
        return report, counts_of(report)

    def test_zero_grad_first_or_last(self):
        _, counts = self.train("first_and_last", [24])
        for key, count in ((("", "DataLoader"), 26), (("", "DataLoader start"), 2),
                           (("Sequential", "forward"), 24), (("", "backward"), 24),
                           (("SGD", "step"), 24), (("SGD", "zero_grad"), 24),
                           (("", "clip_grad_norm_"), 24), (("", "item"), 24 + 2)):
            self.assertEqual(counts.get(key), count, key)

    def test_accumulation(self):
        report, counts = self.train("accumulation", [12])
        self.assertEqual((report["steps"]["updates"], report["steps"]["batches"]), (12, 48))
        self.assertEqual(counts["Sequential", "forward"], 48)

    def test_two_optimizers_of_one_type_make_one_step(self):
        report, counts = self.train("gan", [12])
        self.assertEqual(report["steps"]["updates"], 24)
        self.assertEqual((counts["Adam", "step"], counts["Adam#2", "step"]), (12, 12))

    def test_a_closure_takes_from_the_optimizer(self):
        report, counts = self.train("lbfgs", [12])
        self.assertEqual(report["steps"]["updates"], 12)
        self.assertEqual(counts["LBFGS", "step"], 12)
        self.assertGreater(counts["", "backward"], 24)
        self.assertGreater(report["stages"]["backward"]["total_ns"], 0)

    def test_a_teacher_is_forward(self):
        report, counts = self.train("teacher", [12])
        self.assertEqual(report["books"]["eval_ns"], 0)
        self.assertEqual(counts["Sequential", "forward"], 24)

    def test_evaluation_and_save_are_cut_out(self):
        report, counts = self.train("evaluation", [12])
        self.assertEqual(counts["", "torch.save"], 3)
        self.assertEqual(counts["Sequential", "forward"], 12 + 3 * 3)
        for segment in ("eval_ns", "checkpoint_ns"):
            self.assertGreater(report["books"][segment], 0)

    def test_a_skipped_step_of_a_scaler_counts(self):
        report, counts = self.train("scaler", [12])
        self.assertEqual(counts["SGD", "step (GradScaler)"], 12)
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
        printed = self.hooked("torch_shapes.py", "killed_worker")
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

    def test_compilation(self):
        report, counts = self.train("compiled", [12])
        self.assertGreater(counts["", "torch.compile"], 0)
        self.assertNotIn(("", "to"), counts)
        self.assertGreater(report["books"]["compile_ns"], 0)

    def test_collectives(self):
        report, counts = self.train("collectives", [12])
        self.assertEqual(counts["", "all_reduce"], 4 * 12)
        self.assertGreater(report["stages"]["comm"]["total_ns"], 0)

    def test_inference(self):
        _, counts = self.train("inference", [])
        self.assertEqual(counts["Sequential", "forward"], 12)
        forwards = [r for r in self.records() if r.get("name") == "forward" and r["kind"] == "span"]
        self.assertEqual({tuple(r["flags"]) for r in forwards}, {("eval",)})


class Truth(TorchTest):
    """A delay is found where it is, by the clock of the script itself."""

    STEPS = 60  # 2 epochs of 30

    def compare(self, place, delay_ms, found_of):
        """found_of(report) gives nanoseconds, by stage."""
        worst = {}
        for _ in range(TRIES):
            printed = json.loads(self.hooked("torch_loop.py", place, str(delay_ms)))
            report = self.report()
            self.assertEqual(report["steps"]["count"], self.STEPS)
            worst = {}
            for stage, found in found_of(report).items():
                spent = printed["spent"][stage] * 1e9
                if abs(found - spent) > max(0.02 * spent, 100e3 * self.STEPS):
                    worst[stage] = (found, spent)
            if not worst:
                return report
        self.fail(worst)

    @staticmethod
    def by_stage(report):
        found = {}
        for stage in ("data", "forward", "backward", "optimizer"):
            found[stage] = sum(span["total_ns"] for span in report["spans"]
                               if span["stage"] == stage)
        return found

    def check_stage(self, place, stage):
        for delay_ms in (1, 5):
            report = self.compare(place, delay_ms, self.by_stage)
            times = {name: seen["total_ns"] for name, seen in report["stages"].items() if seen}
            self.assertEqual(max(times, key=times.get), stage)

    def test_dataset(self):
        self.check_stage("dataset", "data")

    def test_collate(self):
        self.check_stage("collate", "data")

    def test_forward(self):
        self.check_stage("forward", "forward")

    def test_backward(self):
        self.check_stage("backward", "backward")

    def test_optimizer(self):
        self.check_stage("optimizer", "optimizer")

    def test_code_between(self):
        self.check_stage("other", "other")

    def test_evaluation(self):
        self.compare("eval", 2, lambda report: {"eval": report["books"]["eval_ns"]})

    def test_save(self):
        self.compare("checkpoint", 0, lambda report: {"checkpoint": report["books"]["checkpoint_ns"]})


class Untouched(TorchTest):
    def test_weights_are_the_same_to_the_bit(self):
        self.assertEqual(json.loads(self.hooked("torch_loop.py", "none", "0"))["digest"],
                         json.loads(self.plain("torch_loop.py", "none", "0"))["digest"])

    def test_tracebacks_are_the_same_to_the_byte(self):
        plain = self.plain("torch_errors.py")
        self.assertEqual(plain.count("Traceback"), 9 + 1)  # that of the worker has another in it
        self.assertEqual(self.hooked("torch_errors.py"), plain)

    def test_compilers_make_the_same_of_a_model(self):
        plain = json.loads(self.plain("torch_compilers.py"))
        self.assertGreater(plain["whole_graph"]["counted"]["stats"]["unique_graphs"], 0)
        hooked = json.loads(self.hooked("torch_compilers.py"))
        for case, made in plain.items():
            with self.subTest(case=case):
                self.assertEqual(hooked[case], made)
        self.assertTrue(glob.glob(self.runs + "/latest/p-*.ssp"))

    def test_every_hook_is_laid(self):
        self.hooked("torch_shapes.py", "compiled")
        skipped = [(r["target"], r["reason"]) for r in self.records()
                   if r["kind"] == "hook" and r.get("reason")]
        self.assertEqual(skipped, [])


if __name__ == "__main__":
    unittest.main()
