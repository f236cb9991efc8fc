"""`stepscope run --tensorboard`: files that grow with the training, whatever happens to them."""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "record"))

import event_reader  # noqa: E402
from recording import mounted, own_mounts  # noqa: E402 (tests/record/recording.py)

PROGRAM = os.path.join(os.environ["STEPSCOPE_BUILD"], "stepscope")
NVML = os.path.join(os.environ["STEPSCOPE_BUILD"], "fake_nvml.so")
PATIENCE_S = 120
MEAN = "1 step time/mean ms"
BARS = "1 step time/distribution ms"


def demo(steps):
    """A training of steps of a good 5 ms that leaves the machine alone."""
    return [PROGRAM, "demo", "--hidden", "16", "--fault", "slow-input=5ms", "--steps", str(steps)]


class LiveTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-tensorboard-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.logs = os.path.join(self.folder, "logs")

    def start(self, command, *options, **variables):
        process = subprocess.Popen(
            [PROGRAM, "run", "--dir", "runs", "--tensorboard", "logs", *options, "--", *command],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, env={**self.environment(), **variables})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def environment(self):
        return {key: value for key, value in os.environ.items() if not key.startswith("STEPSCOPE_")}

    def run_folder(self):
        """The directory of the one run in logs."""
        (name,) = os.listdir(self.logs)
        return os.path.join(self.logs, name)

    def events(self):
        """As far as they are there; all of them whole."""
        if not os.path.isdir(self.logs) or not os.listdir(self.logs):
            return []
        return event_reader.read_folder(self.run_folder())

    def wait_for(self, process, condition, what):
        late = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertIsNone(process.poll(), f"the training ended before {what}")
            self.assertLess(time.monotonic(), late, f"never: {what}")
            time.sleep(0.05)


class Growing(LiveTest):
    def test_a_file_grows_and_says_what_an_export_says(self):
        # Without the fault the callback takes less than what has a curve of its own.
        process = self.start([*demo(2600), "--fault", "slow-callback=MetricLog:100us"], "--quiet")
        seen = set()
        while process.poll() is None:
            seen.add(len(self.events()))
            time.sleep(0.1)
        self.assertEqual((process.returncode, process.stderr.read()), (0, ""))
        self.assertGreaterEqual(len(seen), 3, seen)  # nothing, then more than once something
        live = event_reader.curves(self.run_folder())
        self.check_tags(live)
        self.check_export(live)

    def check_tags(self, live):
        for tag in (MEAN, "2 stages/data ms", "3 throughput/steps per s", "metrics/loss",
                    "machine/training cpu cores", "machine/training memory GB", "epochs/duration s",
                    "pauses/checkpoint s", "callbacks/MetricLog.on_batch_end ms",
                    "verdict/findings"):
            self.assertIn(tag, sorted(live))
        self.assertEqual(live[MEAN][-1][0], 2600)
        for step, wall, value in live[MEAN]:
            self.assertGreater(value.scalar, 5)
            self.assertLess(abs(wall - time.time()), PATIENCE_S)
        self.assertTrue(live["verdict/findings"][-1][2].text.startswith("# input-bound"))

    def check_export(self, live):
        """The same windows with the same values. The clock of a process is known better
        afterwards, by nanoseconds, so that values may differ in their last digits; and samples of
        the machine may come into the next window, since they are written a second late."""
        export = subprocess.run([PROGRAM, "export", "tensorboard", "runs/latest", "again"],
                                cwd=self.folder, check=False, stderr=subprocess.PIPE, text=True)
        self.assertEqual(export.returncode, 0, export.stderr)
        (name,) = os.listdir(os.path.join(self.folder, "again"))
        again = event_reader.curves(os.path.join(self.folder, "again", name))
        self.assertEqual(name, os.path.basename(self.run_folder()))
        self.assertEqual(sorted(again), sorted(live))
        for tag in live:
            if not tag.startswith("machine/"):
                self.check_points(tag, live[tag], again[tag])
        for (_, _, old), (_, _, new) in zip(live[BARS], again[BARS]):
            self.assertEqual(sum(bar[2] for bar in new.bars), sum(bar[2] for bar in old.bars))
        (_, _, old), (_, _, new) = live["verdict/findings"][-1], again["verdict/findings"][-1]
        self.assertEqual(new.text.splitlines()[0], old.text.splitlines()[0])

    def check_points(self, tag, live, again):
        self.assertEqual([step for step, _, _ in again], [step for step, _, _ in live], tag)
        for (_, wall, old), (_, again_wall, new) in zip(live, again):
            self.assertAlmostEqual(again_wall, wall, delta=0.001)
            if old.scalar is not None:
                close = 1e-3 * abs(old.scalar)
                self.assertAlmostEqual(new.scalar, old.scalar, delta=close, msg=tag)

    def test_the_end_says_how_to_look_at_it(self):
        process = self.start(demo(50))
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("tensorboard --logdir logs", said)
        self.assertEqual(event_reader.scalars(self.run_folder(), MEAN)[-1][0], 50)

    def test_runs_of_one_name_do_not_share_a_directory(self):
        """Names have the second in them: some of these are the same."""
        runs = [self.start(demo(10), "--dir", f"runs-{i}", "--name", "same") for i in range(5)]
        for process in runs:
            _, said = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, said)
        names = os.listdir(self.logs)
        self.assertEqual(len(names), len(runs), names)
        for name in names:
            self.assertEqual(len(event_reader.files_in(os.path.join(self.logs, name))), 1)

    def test_gpus_are_beside_the_training(self):
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("count.0 2\nutilization.0 40\npower.0 312500\ntemperature.1 71\n")
        process = self.start(demo(600), "--quiet", STEPSCOPE_NVML=NVML, FAKE_NVML=script)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        for tag, value in (("gpu 0 busy percent", 40), ("gpu 0 power W", 312.5),
                           ("gpu 1 temperature C", 71)):
            points = event_reader.scalars(self.run_folder(), "machine/" + tag)
            self.assertTrue(points, tag)
            for _, seen in points:
                self.assertAlmostEqual(seen, value, places=3)

    def test_a_command_without_steps_leaves_nothing(self):
        process = self.start(["true"])
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertIn("TensorBoard got nothing", said)
        self.assertEqual(os.listdir(self.logs), [])


class Faults(LiveTest):
    def test_the_directory_is_removed_meanwhile(self):
        process = self.start(demo(2600))
        self.wait_for(process, self.events, "the first events")
        shutil.rmtree(self.logs)
        self.wait_for(process, self.events, "events after that")
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("were removed and were started again", said)
        self.assertEqual(event_reader.scalars(self.run_folder(), MEAN)[-1][0], 2600)

    @unittest.skipUnless(os.geteuid() == 0, "only root may mount a small disk")
    def test_a_full_disk(self):
        self.enterContext(own_mounts())
        with mounted(self.logs, "-t", "tmpfs", "-o", "size=64k", "none"):
            filler = os.path.join(self.folder, "logs", "filler")
            with open(filler, "wb") as file:
                file.write(bytes(64 * 1024))
            process = self.start(demo(50))
            _, said = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, said)
            self.assertIn("could not be written", said)
            self.assertIn("No space left on device", said)
            os.remove(filler)
            self.assertEqual(self.events(), [])

    def test_a_killed_supervisor_leaves_whole_events(self):
        process = self.start(demo(2600))
        self.wait_for(process, self.events, "the first events")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertGreater(len(self.events()), 0)

    def test_a_directory_that_cannot_be_made_is_said_before(self):
        for options, code, trained in (((), 0, True), (("--strict",), 3, False)):
            done = subprocess.run(
                [PROGRAM, "run", "--dir", "runs", "--tensorboard", "/proc/stepscope", *options,
                 "--", "sh", "-c", "echo trained; echo starts >&2"],
                cwd=self.folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, timeout=PATIENCE_S, env=self.environment())
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stdout, "trained\n" if trained else "")
            self.assertIn("cannot write '/proc/stepscope/", done.stderr.splitlines()[0])
        (run,) = glob.glob(os.path.join(self.folder, "runs", "2*"))  # nothing is left of the second
        self.assertTrue(os.path.samefile(run, os.path.join(self.folder, "runs", "latest")))

    def test_a_part_of_another_run_is_said_to_get_nothing(self):
        outer = os.path.join(self.folder, "outer")
        os.mkdir(outer)
        for options, code in (((), 0), (("--strict",), 3)):
            process = self.start(["true"], *options, STEPSCOPE_RUN=outer)
            _, said = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, code, said)
            self.assertIn("TensorBoard " + ("would get" if code else "gets") + " nothing: another "
                          "run records this command.", said)
        self.assertFalse(os.path.exists(self.logs))

    def test_what_cannot_be_recorded_is_said_to_give_nothing(self):
        process = self.start(["true"], "--dir", "/proc/runs")
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("not recorded, and TensorBoard gets nothing: ", said)

    def test_an_empty_name_is_a_mistake(self):
        done = subprocess.run([PROGRAM, "run", "--tensorboard", "", "--", "true"],
                              cwd=self.folder, check=False, stderr=subprocess.PIPE, text=True,
                              env=self.environment())
        self.assertEqual((done.returncode, done.stderr),
                         (2, "stepscope run: --tensorboard is empty.\n"))


if __name__ == "__main__":
    unittest.main()
