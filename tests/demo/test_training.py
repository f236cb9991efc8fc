"""`stepscope demo` really trains, always to the same weights, and says what is wrong with its input."""

import json
import os
import re
import subprocess
import unittest

from support import PROGRAM, SMALL, SOAK, DemoTest, learned, stepscope

FINE, USAGE, DATA = 0, 2, 3


class Training(DemoTest):
    def test_it_learns_to_read_digits(self):
        for arguments in ((), ("--plain", *SMALL)):
            accuracy, steps, _, _ = learned(self.train("--epochs", "2", *arguments))
            self.assertGreater(accuracy, 95)
            self.assertEqual(steps, 400)

    def test_recording_changes_no_bit(self):
        for arguments in ((), ("--plain",), ("--fault", "slow-callback=200us")):
            alone = learned(self.train(*SMALL, *arguments, "--steps", "250"))
            recorded, _ = self.record(*SMALL, *arguments, "--steps", "250")
            self.assertEqual(learned(recorded), alone)

    def test_recording_changes_no_bit_of_the_whole_training(self):
        arguments = ("--epochs", "20") if SOAK else ("--epochs", "1")
        alone = learned(self.train(*arguments))
        recorded, _ = self.record(*arguments)
        self.assertEqual(learned(recorded), alone)

    def test_settings_change_what_it_learns(self):
        first = learned(self.train(*SMALL, "--steps", "20"))
        for other in (("--seed", "2"), ("--batch", "32"), ("--hidden", "64,33")):
            self.assertNotEqual(learned(self.train(*SMALL, "--steps", "20", *other))[2], first[2])

    def test_steps_and_epochs(self):
        for arguments, steps, epochs in ((("--steps", "1"), 1, 1), (("--steps", "201"), 201, 2),
                                         (("--epochs", "1", "--batch", "128"), 100, 1),
                                         (("--epochs", "1", "--batch", "12800"), 1, 1)):
            output = self.train(*SMALL, *arguments)
            self.assertEqual(learned(output)[1], steps)
            self.assertEqual(len(re.findall(rf"^epoch \d+/{epochs} ", output, re.MULTILINE)), epochs)

    def test_without_a_run_it_says_how_to_record(self):
        self.assertIn("stepscope run -- stepscope demo\n", self.train(*SMALL, "--steps", "1"))
        self.assertEqual(os.listdir(self.folder), [])
        recorded, _ = self.record(*SMALL, "--steps", "1")
        self.assertNotIn("stepscope run", recorded)

    def test_cpu_hogs_end_with_the_training(self):
        self.train(*SMALL, "--steps", "1", "--fault", "cpu-hog=3")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue  # it has ended
            if words[0] == PROGRAM.encode():  # other builds may be tested at the same time
                self.assertNotIn(b"cpu-hog=3", words)


    def test_the_truth_knows_how_long_the_loop_had_no_core(self):
        """Four share one core here, so that it waits for most of the time."""
        core = min(os.sched_getaffinity(0))
        done = stepscope("demo", *SMALL, "--plain", "--steps", "500", "--truth", "truth", "--fault",
                         "cpu-hog=3", cwd=self.folder,
                         preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("truth"), encoding="ascii") as file:
            loop = json.load(file)["loop"]
        length_ns = loop["end_ns"] - loop["begin_ns"]
        self.assertTrue(0.5 * length_ns < loop["waited_ns"] < length_ns, loop)


class Input(DemoTest):
    def refused(self, *arguments, code=USAGE):
        done = stepscope("demo", *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        return done.stderr

    def test_numbers(self):
        for option in ("--steps", "--epochs", "--batch"):
            for value in ("0", "-1", "1x", "", "1.5", "99999999999999999999"):
                self.assertIn("takes a number from 1 to", self.refused(f"{option}={value}"))
        self.assertIn("not '12801'", self.refused("--batch", "12801"))
        for value in ("0", "1,", ",1", "1,,1", "9999", "1,1,1,1,1,1,1,1,1", "a"):
            self.assertIn("--hidden takes up to 8 sizes", self.refused("--hidden", value))
        self.assertIn("not both", self.refused("--steps", "1", "--epochs", "1"))

    def test_faults(self):
        for value in ("=", "=5", "=5m5", "=0ms", "=-1ms", "=2h", "=1:5ms"):
            self.assertIn("is given as slow-input=5ms", self.refused("--fault", "slow-input" + value))
        for fault in ("tiny-batch=12801", "tiny-batch=0", "cpu-hog=65", "leak=2GB", "leak=0KB",
                      "leak=5KBB", "periodic-pause=0:1ms", "slow-callback=:1ms",
                      "slow-callback=" + "x" * 40 + ":1ms", "heavy-layer=a:b:1ms"):
            self.assertIn("is given as", self.refused("--fault", fault))
        self.assertIn("Did you mean 'slow-input'?", self.refused("--fault", "slow-inptu"))
        self.assertIn("given twice", self.refused("--fault", "leak", "--fault", "leak=1KB"))
        self.assertIn("unknown callback 'Missing'; available: LearningRate,",
                      self.refused("--fault", "slow-callback=Missing:1ms"))
        self.assertIn("unknown layer 'hidden3'; available: hidden1 to hidden2",
                      self.refused("--fault", "heavy-layer=hidden3:1ms"))

    def test_the_help_names_every_fault_with_its_usual_size(self):
        listed = re.findall(r"^  ([a-z-]+)=(\S+) +\S", stepscope("demo", "--help").stdout, re.MULTILINE)
        self.assertEqual(len(listed), 11)
        truths = []
        for faults in ([name for name, _ in listed], [f"{name}={size}" for name, size in listed]):
            truth = self.path("truth.json")
            self.train(*SMALL, "--steps", "1", "--truth", truth,
                       *(word for fault in faults for word in ("--fault", fault)))
            with open(truth, encoding="utf-8") as file:
                truths.append([[fault[key] for key in ("name", "target", "count", "ns", "bytes")]
                               for fault in json.load(file)["faults"]])
        self.assertEqual([fault[0] for fault in truths[0]], [name for name, _ in listed])
        self.assertEqual(*truths)

    def test_a_truth_that_cannot_be_written(self):
        self.assertIn("cannot write nowhere/truth: No such file",
                      self.refused("--truth", "nowhere/truth", code=DATA))
        self.assertIn("cannot write /dev/full: No space",
                      self.refused(*SMALL, "--steps", "1", "--truth", "/dev/full", code=DATA))

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "demo", *SMALL, "--steps", "1"], stdout=full,
                                  stderr=subprocess.PIPE, check=False, encoding="utf-8")
        self.assertEqual(done.returncode, DATA)
        self.assertIn("cannot write what it prints: No space", done.stderr)


if __name__ == "__main__":
    unittest.main()
