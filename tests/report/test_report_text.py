"""`stepscope report`: what a person sees."""

import os
import pty
import re
import unittest

import report_runs as runs
from report_support import ReportTest
from support import DATA, FINE, USAGE


class Text(ReportTest):
    def test_everything_there_is(self):
        self.make_run(p=runs.full())
        self.check_golden("full", self.report())

    def test_the_first_lines_are_the_answer(self):
        self.make_run(p=runs.healthy())
        lines = self.report().splitlines()
        self.assertEqual(lines[0], "python train.py --epochs 3: 200 steps, took 1.98 s")
        self.assertRegex(lines[1], r"^input-bound: the loop waits for data 41\.7 % of the step "
                                   r"\(41\.\d to 42\.\d %\)$")
        self.assertRegex(lines[2], r"^104\.1 steps/s \(103\.\d to 104\.\d\), median step 9\.\d\d ms")
        self.assertRegex(lines[3], r"^confidence high: 200 steady steps, mean \+-0\.6 %$")

    def test_programs_and_scripts_are_known_by_their_names(self):
        made = runs.healthy()
        place = bytes(made.data).index(b"python train.py --epochs 3")
        made.data[place:place + 26] = b"/opt/a b/python x/t.py /a/"
        self.make_run(p=made)
        self.assertTrue(self.report().startswith("a b/python x/t.py /a/: "))
        made.data[place:place + 26] = b"/opt/venv/python x/t.py /a"
        self.make_run("venv", p=made)
        self.assertTrue(self.report(run="venv").startswith("python t.py /a: "))
        made.data[place:place + 26] = b"/v/python -m ipykernel -fx"
        self.make_run("kernel", p=made)
        self.assertTrue(self.report(run="kernel").startswith("notebook: "))

    def test_too_few_steps_are_no_answer(self):
        self.make_run(p=runs.too_few())
        text = self.report()
        self.assertEqual(text.splitlines()[1],
                         "too-few-steps: 8 more steps needed to see where the time goes; 12 so far")
        self.assertNotRegex(text, "(?m)^confidence")
        self.assertNotIn(" to ", text.partition("\n\n")[0].replace("needed to see", ""))
        self.check_golden("too_few", text)

    def test_steps_that_were_disturbed_are_no_answer(self):
        self.make_run(p=runs.watched(60))
        self.assertIn("20 more steps needed to see where the time goes; 60 so far, of which 60 are excluded from statistics",
                      " ".join(self.report().split()))

    def test_a_run_without_steps(self):
        self.make_run(p=runs.untrained())
        text = self.report()
        self.assertIn("torch.optim.Optimizer.step: skipped, torch is not installed", text)
        self.assertIn("call ss_step()", text)
        self.check_golden("untrained", text)

    def test_without_steps_it_speaks_of_the_frameworks_that_were_seen(self):
        torch, tensorflow = b"torch:Tensor.backward", b"tensorflow.python.eager.backprop:GradientTape.gradient"
        keras, jax = b"keras.src.models.model:Model.fit", b"jax:device_put"
        for i, (hooked, words) in enumerate((
                ((torch,), "no PyTorch optimizer made a step: add `import stepscope`"),
                # JAX comes first, and enough more to fill the list.
                ((*(b"jax:f%d" % i for i in range(200)), tensorflow),
                 "no training step of TensorFlow or JAX was seen: add"),
                ((tensorflow, keras), "TensorFlow ran no fit(), no tf.function that trains, and"),
                ((keras, torch), "no training step of PyTorch or Keras was seen: add"),
                ((jax, b"optax:apply_updates"), "no function that jax.jit compiled was called: add"),
                ((torch, tensorflow, keras, jax), "step of PyTorch, TensorFlow, Keras or JAX was seen: add"),
                ((b"jaxtyping:hook",), "call ss_step()"))):
            self.make_run("run-%d" % i, p=runs.untrained(*hooked))
            text = " ".join(self.report(run="run-%d" % i).split())
            self.assertIn(words, text)
            self.assertEqual("jax.jit" in text, hooked[0] == jax)

    def test_a_run_without_any_record(self):
        self.make_run(p=runs.process())
        text = self.report()
        self.assertIn("recorded no training steps", text)
        self.assertRegex(text, r"\nsum +10\.000  100\.0 %\n")

    def test_killed_damaged_live(self):
        for name, made, first in (
                ("killed", runs.killed(), "101 steps, killed after 1.04 s"),
                ("damaged", runs.damaged(), "891 steps, took 9.66 s; DAMAGED"),
                ("live", runs.live(), "100 steps, running for 25.0 s")):
            self.make_run(name, p=made)
            text = self.report(run=name)
            self.assertEqual(text.splitlines()[0], f"python train.py --epochs 3: {first}")
            self.assertRegex(text.splitlines()[1], "^input-bound: the loop waits for data ")

    def test_what_was_open_when_it_was_killed(self):
        self.make_run(p=runs.killed())
        text = self.report()
        self.assertIn("Open      forward, for 30.0 ms\n", text)
        self.assertIn("Left out  1 step interrupted or disturbed: counted in the totals", text)

    def test_what_is_missing_is_said(self):
        self.make_run(p=runs.damaged())
        self.assertIn("Lost      1 place in the files could not be read, 17.1 KB: "
                      "'stepscope info'\n          shows where\n", self.report())
        lossy = runs.healthy()
        lossy.poke(260, "i", -8)                                  # recorder error: no space
        lossy.poke(328, "Q", 5000)                                # given up at the cap
        lossy.poke(lossy.block_offset(1) + 128, "QQQ", 1234, 2, 5)  # dropped, unbalanced, too deep
        self.make_run("lossy", p=lossy)
        text = self.report(run="lossy")
        for line in ("Lost      recorder error: no space left on the device",
                     "1,234 records dropped: the buffer was full",
                     "5,000 records discarded from the middle (size cap or full disk",
                     "5 spans nested too deep"):
            self.assertIn(line, text)

    def test_an_error_of_ours_is_shown(self):
        self.make_run(p=runs.overlapping())
        self.assertIn("Error     spans overlap by 7.00 ms", self.report())

    def test_changes_over_time(self):
        expected = {
            "drift": r"Trend     steps become slower: 1\d\.\d % longer from first to last",
            "shift": r"Trend     from step 25\d on, the median is 12\.6 ms instead of 9\.6\d ms "
                     r"\(31\.\d %\s+longer\)",
            "spikes": r"Spikes    one in every 50 steps takes longer: 11 of 11 times"}
        for kind, line in expected.items():
            self.make_run(kind, p=runs.changing(kind))
            text = self.report(run=kind)
            self.assertRegex(text, line)
            self.assertEqual(text.count("Trend"), 1)
        self.assertRegex(text, r"\n 207  21\.\d+      2\.26  data \+12\.\d+\n")

    def test_several_loops_and_ranks(self):
        self.make_run("two", p=runs.two_models())
        text = self.report(run="two")
        self.assertIn("Loops: 2 (above: loop 0)", text)
        self.assertRegex(text, r"\n   0        0     -    4711    120     79\.4   12\.60  forward 63\.5 %  "
                               r"decode\n   1        0     -    4711     60 ")
        self.make_run("ranks", a=runs.rank(0), b=runs.rank(1))
        text = self.report(run="ranks")
        self.assertRegex(text, r"\n   0        1     1    4712    120 ")
        self.assertRegex(text, r"\n   1        0     0    4711    120 ")
        self.assertIn("Holds     2 processes (2 exited)", text)

    def test_more_names_than_a_person_reads(self):
        thread = runs.steady(40)
        names = [*runs.NAMES, *((100 + i, b"span %d" % i, b"", runs.USER, 0, 0) for i in range(30))]
        for i in range(30):
            thread.span(100 + i, (i + 1) * runs.MS, 0)
        self.make_run(p=runs.process(thread, names=names))
        self.assertIn("\nand 22 more names: ", self.report())

    def test_names_cannot_touch_the_terminal(self):
        self.make_run(p=runs.hostile())
        for options in ([], ["--epochs"], ["--steps"]):
            for locale in ("C", "C.UTF-8"):
                self.assertNotIn("\x1b", self.report(*options, LC_ALL=locale))

    def test_numbers_of_any_size_fit(self):
        self.make_run(p=runs.extremes())
        for width in (72, 80, 132):
            self.report(width=width, COLUMNS=str(width))


class Look(ReportTest):
    def setUp(self):
        super().setUp()
        self.make_run(p=runs.full())

    def test_bars_are_of_blocks_or_of_ascii(self):
        self.assertIn("\ndata       █████", self.report())
        text = self.report(LC_ALL="C")
        self.assertIn("\ndata       #####", text)
        self.assertTrue(text.isascii())
        self.assertTrue(self.report(TERM="linux").isascii())

    def test_bars_begin_at_zero_and_have_one_scale(self):
        stages = self.report(LC_ALL="C").partition("Step breakdown")[2].splitlines()[2:8]
        bars = {line.split()[0]: line.count("#") for line in stages}
        self.assertAlmostEqual(bars["data"] / bars["forward"], 2, delta=0.2)
        self.assertAlmostEqual(bars["backward"] / bars["forward"], 1.5, delta=0.2)

    def test_the_width_is_that_of_the_terminal(self):
        wide = self.report(COLUMNS="120", width=120)
        self.assertGreater(max(map(len, wide.splitlines())), 90)
        self.assertEqual(self.report(COLUMNS="0"), self.report())
        self.assertEqual(self.report(COLUMNS="wide"), self.report())
        self.report(COLUMNS="10", width=40)  # narrower than this nothing can be said

    def on_a_terminal(self, **environment):
        leader, follower = pty.openpty()
        try:
            done = self.stepscope("report", "run", stdout=follower, env=environment)
            self.assertEqual(done.returncode, FINE, done.stderr)
            os.close(follower)
            follower = -1
            output = b""
            while True:
                try:
                    output += os.read(leader, 65536)
                except OSError:
                    return output.decode()
        finally:
            os.close(leader)
            if follower >= 0:
                os.close(follower)

    def test_colour_is_for_terminals(self):
        self.assertNotIn("\x1b", self.report(TERM="xterm"))
        coloured = self.on_a_terminal(TERM="xterm")
        self.assertIn("\x1b[38;5;", coloured)
        self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace("\r\n", "\n"),
                         self.report())
        self.assertNotIn("\x1b", self.on_a_terminal(TERM="xterm", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_a_terminal(TERM="dumb"))


class Tables(ReportTest):
    def test_all_epochs(self):
        self.make_run(p=runs.full())
        text = self.report("--epochs")
        self.assertEqual(len(re.findall(r"^ +\d  1\.\d+ ", text, re.MULTILINE)), 3)
        self.make_run("none", p=runs.healthy())
        self.assertEqual(self.report("--epochs", run="none"), "This run recorded no epochs.\n")

    def test_all_steps(self):
        self.make_run(p=runs.killed())
        lines = self.report("--steps").splitlines()
        self.assertEqual(lines[0], "Times in ms; * excluded from statistics.")
        self.assertEqual(lines[1].split(), ["step", "starts", "s", "took", "data", "forward",
                                            "backward", "rest"])
        rows = [line.split() for line in lines[2:]]
        self.assertEqual([int(row[0]) for row in rows], list(range(101)))
        for row in rows[:100]:
            self.assertAlmostEqual(float(row[2]), sum(map(float, row[3:])), delta=0.003)
        self.assertEqual(rows[100][-1], "*")
        wide = self.report("--steps", COLUMNS="120", width=120).splitlines()[1]
        self.assertEqual(wide.split()[3:], ["took", "data", "forward", "backward", "optimizer", "other"])

    def test_steps_of_several_loops_say_which(self):
        self.make_run(p=runs.two_models())
        rows = [line.split() for line in self.report("--steps").splitlines()[2:]]
        self.assertEqual([row[0] for row in rows], ["1"] * 60 + ["0"] * 120)

    def test_no_steps(self):
        self.make_run(p=runs.untrained())
        self.assertEqual(self.report("--steps"), "This run recorded no training steps.\n")


class Finish(ReportTest):
    def test_time_to_finish_and_the_deadline(self):
        self.make_run(p=runs.live(planned=1000))
        self.assertRegex(self.report(), r"\nFinish    in 8\.6\d s \(8\.\d+ s to 8\.\d+ s\)\n")
        for deadline, verdict in (("1h", "of 1 h 00 min will hold"), ("26s", "of 26.0 s will be missed")):
            self.assertRegex(self.report("--deadline", deadline),
                             rf"; the deadline {verdict}\n")

    def test_a_run_that_has_ended(self):
        self.make_run(p=runs.healthy())
        self.assertIn("\nFinish    the deadline of 1.00 s was missed\n", self.report("--deadline", "1s"))
        self.assertIn("\nFinish    the deadline of 5 min 00 s held\n", self.report("--deadline=5m"))

    def test_without_a_plan_nothing_can_be_told(self):
        self.make_run(p=runs.live(planned=0))
        self.assertNotIn("Finish", self.report())
        text = self.report("--deadline", "1h")
        self.assertIn("the total number of steps was not given", text)
        self.assertIn("cannot be", text)

    def test_a_deadline_that_is_none(self):
        self.make_run(p=runs.healthy())
        for word in ("soon", "", "0s", "-1h", "1"):
            done = self.check(["report", "--deadline", word, "run"], USAGE, stdout="")
            self.assertIn("--deadline takes a time such as", done.stderr)


class Output(ReportTest):
    def test_a_full_disk_is_an_error(self):
        self.make_run(p=runs.full())
        for options in ([], ["--json"], ["--epochs"], ["--steps"], ["--steps", "--json"]):
            with open("/dev/full", "wb") as full:
                done = self.stepscope("report", *options, "run", stdout=full)
            self.assertEqual(done.returncode, DATA, options)
            self.assertEqual(done.stderr, "stepscope report: cannot write the output: "
                                          "No space left on device.\n")


if __name__ == "__main__":
    unittest.main()
