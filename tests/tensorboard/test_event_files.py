"""`stepscope export tensorboard`: event files against the report of the same run."""

import json
import math
import os
import signal
import statistics
import struct
import subprocess
import unittest

import board_runs  # finds the others
import event_reader
import make_runs
import report_runs
from builder import RUNS, hook, mark
from event_reader import scalars
from mutations import Mutator
from support import DATA, FINE, NOBODY, PROGRAM, USAGE, CommandTest, loaded

MUTANTS = 300 if os.environ.get("SOAK") == "1" else 15
STAGES = ("data", "forward", "backward", "optimizer", "callback", "other")


def single(value):
    """As float32, the resolution of a scalar."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


class ExportTest(CommandTest):
    def export(self, run="run", *options, code=FINE):
        return self.check(["export", "tensorboard", *options, run, "logs"], code)

    def folder_of(self, *parts):
        return self.path("logs", *(parts or ("run",)))

    def steps(self, run="run"):
        """All steps, as the report tells them."""
        text = self.check(["report", "--steps", "--json", run], FINE).stdout
        return [json.loads(line) for line in text.splitlines()]


class Frameworks(ExportTest):
    def test_the_table_of_runs_has_frameworks_with_their_versions(self):
        thread = report_runs.steady(steps=30)
        thread.mark(mark, b"torch 2.13.0+cpu", name=10)
        thread.mark(hook, b"keras.src:fit")
        made = report_runs.process(thread, names=(*report_runs.NAMES[:-2],
                                                  (10, b"framework", b"", 0, 0, 0)))
        self.make_run(a=made)
        self.export()
        (_, _, value), = event_reader.curves(self.folder_of())["_hparams_/session_start_info"]
        self.assertEqual(value.hparams["framework"], "PyTorch 2.13, Keras")


class Values(ExportTest):
    def setUp(self):
        super().setUp()
        self.make_run(a=board_runs.training())
        self.export()
        self.curves = event_reader.curves(self.folder_of())
        self.all_steps = self.steps()

    def windows(self, tag):
        """(value, the steps of its window) for each event."""
        before = 0
        for step, _, value in self.curves[tag]:
            yield value, self.all_steps[before:step]
            before = step
        self.assertEqual(before, len(self.all_steps))

    def test_the_run_is_a_row_of_the_table_of_runs(self):
        (_, _, value), = self.curves["_hparams_/session_start_info"]
        self.assertEqual(value.plugin, "hparams")
        report = self.loaded_report()
        row = dict(value.hparams)
        self.assertAlmostEqual(row.pop("step ms"), report["steps"]["steady"]["mean_ns"] / 1e6, places=6)
        self.assertEqual(row, {"verdict": report["verdict"], "planned steps": 2000,
                               "planned epochs": 4, "batch size": 32})

    def loaded_report(self):
        return json.loads(self.check(["report", "--json", "run"], FINE).stdout)

    def test_windows_hold_every_step_once(self):
        lengths = [len(steps) for _, steps in self.windows("1 step time/mean ms")]
        self.assertGreaterEqual(len(lengths), 5)
        self.assertTrue(all(300 < length < 600 for length in lengths[1:-1]), lengths)

    def test_mean_and_slowest_step_are_exact(self):
        for value, steps in self.windows("1 step time/mean ms"):
            mean = statistics.mean(step["time_ns"] for step in steps) / 1e6
            self.assertAlmostEqual(value.scalar, mean, delta=1e-6 * mean)
        for value, steps in self.windows("1 step time/max ms"):
            self.assertEqual(value.scalar, single(max(step["time_ns"] for step in steps) / 1e6))

    def test_quantiles_are_within_half_a_percent(self):
        for tag, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            for value, steps in self.windows(f"1 step time/{tag} ms"):
                times = sorted(step["time_ns"] for step in steps)
                exact = times[math.floor(share * (len(times) - 1))] / 1e6
                self.assertAlmostEqual(value.scalar, exact, delta=0.005 * exact)

    def test_stages_add_up_to_the_step(self):
        for name in STAGES:
            for value, steps in self.windows(f"2 stages/{name} ms"):
                mean = statistics.mean(step["stages_ns"].get(name, 0) for step in steps) / 1e6
                self.assertAlmostEqual(value.scalar, mean, delta=1e-6 * mean + 1e-9)
        stages = [tag for tag in self.curves if tag.startswith("2 stages/")]
        self.assertEqual(sorted(stages), sorted(f"2 stages/{name} ms" for name in STAGES))

    def test_distribution_has_every_step(self):
        for value, steps in self.windows("1 step time/distribution ms"):
            times = [step["time_ns"] / 1e6 for step in steps]
            self.assertEqual(value.plugin, "histograms")
            self.assertEqual(sum(count for _, _, count in value.bars), len(steps))
            self.assertEqual(value.bars[0][0], min(times))
            self.assertEqual(value.bars[-1][1], max(times))
            for left, right, count in value.bars:
                self.assertLess(left, right)
                inside = sum(1 for time in times if left <= time < right)
                self.assertLessEqual(abs(inside - count), 1)  # the largest is on an edge

    def test_throughput_has_pauses_in_it(self):
        seconds = steps = 0
        for value, window in self.windows("3 throughput/steps per s"):
            seconds += len(window) / value.scalar
            steps += len(window)
        last = self.all_steps[-1]
        whole = (last["start_ns"] + last["time_ns"] - self.all_steps[0]["start_ns"]) / 1e9
        whole += 0.6  # the evaluation that is cut out of the last step
        self.assertAlmostEqual(seconds, whole, delta=1e-4 * whole)
        for (_, rate), (_, samples) in zip(self.scalars("3 throughput/steps per s"),
                                           self.scalars("3 throughput/samples per s")):
            self.assertAlmostEqual(samples, 32 * rate, delta=1e-5 * samples)

    def scalars(self, tag):
        return [(step, value.scalar) for step, _, value in self.curves[tag]]

    def test_pauses_add_up_to_the_books(self):
        report = json.loads(self.check(["report", "--json", "run"], FINE).stdout)
        books = report["loops"][0]["books"]
        for tag, segment in (("evaluation", "eval"), ("checkpoint", "checkpoint"),
                             ("between epochs", "between")):
            total = sum(value for _, value in self.scalars(f"pauses/{tag} s"))
            self.assertAlmostEqual(total, books[segment + "_ns"] / 1e9, delta=1e-6)

    def test_epochs_are_where_they_ended(self):
        ends = [500 * (i + 1) for i in range(board_runs.EPOCHS)]
        self.assertEqual(self.scalars("epochs/number"), list(zip(ends, range(board_runs.EPOCHS))))
        self.assertEqual([step for step, _ in self.scalars("epochs/duration s")], ends)
        for _, value in self.scalars("epochs/evaluation s"):
            self.assertAlmostEqual(value, 0.6, places=6)

    def test_callbacks_are_named_and_a_call_is_a_call(self):
        each = self.scalars("callbacks/EarlyStopping, batch_end ms")
        self.assertEqual([step for step, _ in each],
                         [step for step, _ in self.scalars("1 step time/mean ms")])
        for _, value in each:
            self.assertAlmostEqual(value, 0.2, delta=0.005)
        for _, value in self.scalars("callbacks/Logger#2, epoch_end ms"):
            self.assertAlmostEqual(value, 20, places=4)

    def test_metrics_are_the_last_of_their_window(self):
        for step, value in self.scalars("metrics/loss"):
            # the loss of a step is recorded when the step has ended, and of the next one at most
            self.assertIn(value, [single(board_runs.loss_of(step + i)) for i in (-2, -1, 0)])
        self.assertEqual([round(value, 5) for _, value in self.scalars("metrics/val_accuracy")],
                         [0.5, 0.6, 0.7, 0.8])

    def test_times_are_those_of_the_wall(self):
        start = report_runs.REALTIME / 1e9
        walls = [wall for _, wall, _ in self.curves["1 step time/mean ms"]]
        self.assertEqual(walls, sorted(walls))
        for (step, wall, _) in self.curves["1 step time/mean ms"]:
            last = self.all_steps[step - 1]
            end = (last["start_ns"] + last["time_ns"]) / 1e9  # of a step without a pause in it
            self.assertAlmostEqual(wall - start, end, delta=0.7)

    def test_the_verdict_is_the_reports(self):
        report = json.loads(self.check(["report", "--json", "run"], FINE).stdout)
        _, _, last = self.curves["verdict/findings"][-1]
        self.assertEqual(last.plugin, "text")
        self.assertTrue(last.text.startswith(f"# {report['verdict']}\n"), last.text)
        for finding in report["findings"]:
            self.assertIn(f"**{finding['id']}** ({finding['severity']}", last.text)

    def test_every_tag_is_described_once(self):
        for tag, points in self.curves.items():
            if tag.split("/")[0] in ("1 step time", "2 stages", "3 throughput", "pauses", "epochs"):
                self.assertTrue(points[0][2].description, tag)
                self.assertEqual({point[2].description for point in points[1:]} - {""}, set(), tag)


class Callbacks(ExportTest):
    def test_those_that_take_next_to_nothing_are_one_curve(self):
        thread = report_runs.Thread()
        thread.loop(True)
        for _ in range(200):
            thread.mark(report_runs.step, 1)
            thread.span(1, 100 * report_runs.MS)
            for name, ns in ((5, report_runs.MS), (6, 20_000), (7, 30_000)):
                thread.span(name, ns)
        thread.loop(False)
        names = [(1, b"next", b"", report_runs.DATA, 0, 0), (10, b"train", b"", 0, 0, 0),
                 *((i, b"call", text, report_runs.CALLBACK, 0, 0)
                   for i, text in ((5, b"Large"), (6, b"Small"), (7, b"Tiny")))]
        self.make_run(p=report_runs.process(thread, names=names))
        self.export()
        curves = event_reader.curves(self.folder_of())
        rest = "callbacks/others below 0.1 percent ms per step"
        self.assertEqual(sorted(tag for tag in curves if tag.startswith("callbacks/")),
                         ["callbacks/Large.call ms", rest])
        for _, _, value in curves[rest]:
            self.assertAlmostEqual(value.scalar, 0.05, places=6)

    def test_what_one_looks_at_first_sorts_first(self):
        self.make_run(a=board_runs.training())
        self.export()
        sections = sorted({tag.split("/")[0] for tag in event_reader.curves(self.folder_of())})
        self.assertEqual(sections[:3], ["1 step time", "2 stages", "3 throughput"])


class Places(ExportTest):
    def test_ranks_are_runs_of_their_own(self):
        self.make_run(a=board_runs.rank(0), b=board_runs.rank(1))
        self.export()
        self.assertEqual(sorted(name for name in os.listdir(self.folder_of()) if "." not in name),
                         ["rank-0", "rank-1"])
        for name in ("rank-0", "rank-1"):
            self.assertEqual(scalars(self.folder_of("run", name), "1 step time/mean ms")[-1][0], 2000)
        self.assertEqual(list(event_reader.curves(self.folder_of())), ["verdict/findings", "_hparams_/session_start_info"])

    def test_processes_of_one_rank_do_not_share_a_place(self):
        """As when a launcher starts all ranks again after one of them failed."""
        self.make_run(a=board_runs.rank(0), b=board_runs.rank(1), c=board_runs.rank(0),
                      d=board_runs.rank(1))
        for options in ((), ("--force",)):
            self.export("run", *options)
            names = sorted(name for name in os.listdir(self.folder_of()) if "." not in name)
            self.assertEqual(names, ["rank-0", "rank-0-loop-2", "rank-1", "rank-1-loop-2"])
            for name in names:
                points = scalars(self.folder_of("run", name), "1 step time/mean ms")
                self.assertEqual(len(event_reader.files_in(self.folder_of("run", name))), 1)
                self.assertEqual(points[-1][0], 2000)

    def test_names_are_of_the_loop_in_which_they_were_recorded(self):
        for run, after in (("soon", 0), ("late", 5000)):
            self.make_run(run, a=board_runs.two_fits(after=after))
            self.export(run)
            for number, parts in ((0, (run,)), (1, (run, "loop-2"))):
                folder = self.folder_of(*parts)
                losses = [value for _, value in scalars(folder, "metrics/loss")]
                self.assertTrue(losses)
                self.assertEqual({math.floor(value) for value in losses}, {number}, losses)
                self.assertEqual([v for _, v in scalars(folder, "metrics/val_accuracy")],
                                 [0.5 + number])
                (each,) = {round(value, 6) for _, value in
                           scalars(folder, "callbacks/EarlyStopping, batch_end ms")}
                self.assertEqual(each, 1 + number)
            self.assertEqual(scalars(self.folder_of(run), "1 step time/mean ms")[-1][0], 60)
            self.assertEqual(scalars(self.folder_of(run, "loop-2"), "1 step time/mean ms")[-1][0], 80)

    def test_loops_that_are_left_out_are_told_of(self):
        self.make_run(a=board_runs.many_loops())
        done = self.export()
        self.assertIn("the first 64 loops", done.stderr)
        self.assertEqual(len([n for n in os.listdir(self.folder_of()) if "." not in n]), 63)

    def test_a_second_loop_has_a_place_of_its_own(self):
        self.make_run(a=report_runs.two_models())
        self.export()
        self.assertEqual(scalars(self.folder_of(), "1 step time/mean ms")[-1][0], 60)
        self.assertEqual(scalars(self.folder_of("run", "loop-2"), "1 step time/mean ms")[-1][0], 120)

    def test_nothing_is_replaced_without_force(self):
        self.make_run(a=report_runs.healthy())
        self.export()
        before = event_reader.files_in(self.folder_of())
        again = self.export(code=USAGE)
        self.assertIn("--force", again.stderr)
        self.assertEqual(event_reader.files_in(self.folder_of()), before)
        self.export("run", "--force")
        self.assertEqual(len(event_reader.files_in(self.folder_of())), 1)
        self.assertEqual(len(scalars(self.folder_of(), "1 step time/mean ms")), 1)

    def test_files_of_ranks_are_replaced_by_force_only(self):
        """Where nothing is in the directory of the run itself."""
        self.make_run(a=board_runs.rank(0), b=board_runs.rank(1))
        self.export()
        for path in event_reader.files_in(self.folder_of()):
            os.remove(path)
        ranks = [self.folder_of("run", "rank-0"), self.folder_of("run", "rank-1")]
        before = [event_reader.files_in(rank) for rank in ranks]
        self.export(code=USAGE)
        self.assertEqual([event_reader.files_in(rank) for rank in ranks], before)
        old = self.folder_of("run", "rank-7")
        os.mkdir(old)
        os.link(before[0][0], os.path.join(old, os.path.basename(before[0][0])))
        self.export("run", "--force")
        self.assertEqual([len(event_reader.files_in(rank)) for rank in ranks], [1, 1])
        self.assertNotEqual([event_reader.files_in(rank) for rank in ranks], before)
        self.assertFalse(os.path.exists(old))

    def test_two_runs_share_a_directory(self):
        self.make_run("one", a=report_runs.healthy())
        self.make_run("two", a=report_runs.too_few())
        self.export("one")
        self.export("two")
        self.assertEqual(sorted(os.listdir(self.path("logs"))), ["one", "two"])

    def test_a_run_without_steps_gives_nothing_to_see(self):
        self.make_run(a=report_runs.untrained())
        self.export()
        self.assertEqual(os.listdir(self.path("logs")), [])

    def test_directories_that_cannot_be_made(self):
        self.make_run(a=report_runs.healthy())
        with open(self.path("logs"), "w", encoding="ascii"):
            pass
        failed = self.export(code=DATA)
        self.assertIn("cannot write 'logs/run'", failed.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root may change its user")
    def test_directories_that_may_not_be_written(self):
        self.make_run(a=report_runs.healthy())
        os.mkdir(self.path("logs"), 0o755)
        failed = self.check(["export", "tensorboard", "run", "logs"], DATA, user=NOBODY)
        self.assertIn("Permission denied", failed.stderr)

    def test_a_full_disk_leaves_nothing(self):
        """A file may not be larger than some bytes: the same path, without a disk of one's own."""
        self.make_run(a=board_runs.training())
        limited = subprocess.run(
            ["/bin/sh", "-c", 'ulimit -f 1; exec "$0" export tensorboard run logs',
             PROGRAM],
            cwd=self.folder, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(limited.returncode, DATA, limited.stderr)
        self.assertIn("File too large", limited.stderr)
        self.assertFalse(os.path.exists(self.folder_of()))

    def end(self, function, number, *options):
        """Exports, and sends this signal when it first calls the function. Gives the names that are left."""
        env = loaded("end_at", END_AT=function, END_WITH=str(int(number)))
        done = self.stepscope("export", "tensorboard", "run", "logs", *options, env=env)
        self.assertEqual(done.returncode, -number, done.stderr)
        return [name for _, _, names in os.walk(self.path("logs")) for name in names]

    def test_a_signal_leaves_nothing(self):
        """When it looks whether files can be made, and in the middle of writing them."""
        self.make_run(a=board_runs.rank(0), b=board_runs.rank(1))
        for function in ("unlink", "pwrite"):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                with self.subTest(function=function, number=number):
                    self.assertEqual(self.end(function, number), [])

    def test_a_signal_that_comes_too_late_leaves_all(self):
        self.make_run(a=board_runs.rank(0), b=board_runs.rank(1))
        self.assertEqual(len(self.end("rename", signal.SIGINT)), 3)
        self.assertEqual(len(self.end("rename", signal.SIGINT, "--force")), 3)
        for rank in ("rank-0", "rank-1"):
            points = scalars(self.folder_of("run", rank), "1 step time/mean ms")
            self.assertEqual(points[-1][0], 2000)

    def test_a_signal_keeps_what_was_there(self):
        self.make_run(a=board_runs.training())
        self.export()
        before = event_reader.files_in(self.folder_of())
        self.assertEqual(len(self.end("pwrite", signal.SIGINT, "--force")), 1)
        self.assertEqual(event_reader.files_in(self.folder_of()), before)

    def test_a_kill_leaves_a_part_that_nobody_looks_at(self):
        self.make_run(a=board_runs.training())
        part, = self.end("rename", signal.SIGKILL)
        self.assertRegex(part, r"\Astepscope\.\d+\.0\.part\Z")
        self.assertEqual(event_reader.files_in(self.folder_of()), [])
        self.export()
        self.assertTrue(scalars(self.folder_of(), "1 step time/mean ms"))


class Untrusted(ExportTest):
    def test_hostile_names_become_tags(self):
        self.make_run(a=board_runs.hostile())
        self.export()
        tags = [tag for tag in event_reader.curves(self.folder_of())  # decodes strictly
                if tag.startswith(("callbacks/", "metrics/"))]
        self.assertEqual(len(tags), 2 * len(board_runs.HOSTILE))
        for tag in tags:
            self.assertTrue(all(c >= " " and c not in "\x7f\x9b\u202e" for c in tag), repr(tag))
            self.assertLess(len(tag.encode()), 160)

    def test_a_damaged_run_gives_what_is_left(self):
        self.make_run(a=report_runs.damaged())
        self.check(["export", "tensorboard", "run", "logs"], FINE)
        self.assertGreater(scalars(self.folder_of(), "1 step time/mean ms")[-1][0], 100)

    def try_run(self, run):
        """Whatever is in it: nothing crashes, and what comes out can be read."""
        done = self.stepscope("export", "tensorboard", "--force", run, "logs")
        self.assertIn(done.returncode, (FINE, DATA), done.stderr)
        for folder, _, _ in os.walk(self.path("logs", run)):
            event_reader.curves(folder)

    def test_runs_of_the_format_tests(self):
        for name, build in RUNS.items():
            with self.subTest(name):
                make_runs.write_run(make_runs.files_of(build), self.path(name))
                self.try_run(name)

    def test_damaged_trainings(self):
        for i, data in enumerate(Mutator(report_runs.full().bytes(), 7).mutants(MUTANTS)):
            with self.subTest(mutant=i):
                self.try_run(self.make_run(f"mutant-{i}", p=data))

    def test_a_run_that_is_still_written(self):
        self.make_run(a=report_runs.live())
        self.export()
        self.assertEqual(scalars(self.folder_of(), "1 step time/mean ms")[-1][0], 100)


if __name__ == "__main__":
    unittest.main()
