"""`stepscope info`: what a person sees at 80 columns, and what a program reads."""

import json
import os
import unittest

import sample_runs
from support import FINE, CommandTest

TRAINING = """\
Run       run
Whole     yes: nothing was lost
Took      100 ms, then it exited
Holds     1 step, 4 spans, 1 process, 1 thread, 64 KB

Command   python train.py --epochs 1
Host      box, 6.1.0
Recorded  2025-11-15 09:46:40 UTC, by stepscope 0.1.0
Clock     CLOCK_MONOTONIC_RAW, 1 calibration: fine
Cost      25.3 ns per span x 4 spans = 101 ns, <0.001 % of the time; helper
          thread 150 us of CPU, 0.15 %
Hooks     PyTorch: 1 of 2 installed
          skipped torch.foo: not there
Records   27 records: span 4, step 1, loop_begin 1, loop_end 1, epoch_begin 1,
          epoch_end 1, counter 1, mark 1, plan 1, calibration 1, hook 2,
          system 2, name 4, info 4, thread_begin 1, thread_end 1

Stage                  spans          sum ms         mean ms
forward                    2          31.000          15.500
data                       1          10.000          10.000
callback                   1           3.000           3.000
(Nested spans count in both.)

Proc        pid      rank  end      starts s   lasts s threads   spans    size
   0       4711         -  exited      0.000     0.100       1       4   64 KB
"""

LOST = """\
Whole     NO: see Lost below
Took      100 ms, then it exited
Holds     1 step, 4 spans, 1 process, 1 thread, 64 KB
Lost      recorder error in process 0 (pid 4711): no space left on the device
          1,234 records dropped: the buffer was full (spans by stage:
          data 1,000, forward 200)
          5,000 records discarded from the middle (size cap or full disk) (spans
          by stage: forward 4,000)
          5 spans nested deeper than 63
          3 names or calibrations did not fit
          1 thread did not fit: what they did is not in the run
Note      2 ends without a begin: ss_end() was called too often

"""

RANKS = """\
Proc        pid      rank  end      starts s   lasts s threads   spans    size
   0       4711       0/2  exited      0.000     0.100       1       4   64 KB
   1       4712       1/2  exited      0.000     0.100       1       4   64 KB
   2         99         -  unknown     0.000     0.090       1       3   64 KB
"""


class InfoText(CommandTest):
    def info(self, **files):
        self.make_run(**files)
        done = self.check(["info", "run"], FINE, stderr="")
        for line in done.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
            self.assertEqual(line, line.rstrip())
        return done.stdout

    def test_a_whole_run(self):
        self.assertEqual(self.info(p=sample_runs.training()), TRAINING)

    def test_what_was_lost_while_recording(self):
        self.assertIn(LOST, self.info(p=sample_runs.lossy()))

    def test_any_loss_alone_means_not_whole(self):
        lane = 128 + sample_runs.process().block_offset(1)
        for number, (offset, form) in enumerate((
                (260, "i"), (328, "Q"), (336, "Q"), (360, "Q"), (lane, "Q"), (lane + 16, "Q"))):
            made = sample_runs.training()
            made.poke(offset, form, 1 if form == "Q" else -8)
            self.make_run(f"run{number}", p=made)
            text = self.check(["info", f"run{number}"], FINE).stdout
            self.assertIn("Whole     NO: see Lost below\n", text, offset)
            self.assertRegex(text, "\nLost      (recorder error|1) ", offset)

    def test_what_could_not_be_read(self):
        whole = sample_runs.training()
        damaged = sample_runs.training(pid=4712)
        offset = damaged.block_offset(1) + 2048 + 32 * 5
        damaged.data[offset:offset + 2] = b"\x01\x00"  # a span of 0 units
        text = self.info(a=whole.bytes(30_000), b=damaged, c=b"rubbish" * 1000,
                         d=sample_runs.newer())
        self.assertIn("Whole     NO: see Lost below\n", text)
        for line in ("a.ssp at 24576, 5,424 bytes: the file is truncated",
                     "b.ssp at 18592, 5,984 bytes: invalid record",
                     "c.ssp at 0, 7,000 bytes: invalid header",
                     "d.ssp at 0, 65,536 bytes: cannot be opened, or was written by a newer\n          version"):
            self.assertRegex(text, rf"\n(Lost|    )      {line}\n")

    def test_more_losses_than_a_person_reads(self):
        broken = sample_runs.training()
        for _ in range(15):
            broken.segment(7, 0, 0, 1)  # no such kind of segment
        text = self.info(p=broken)
        self.assertEqual(text.count("invalid header"), 10)
        self.assertIn("          and 5 more places; --json lists all\n", text)

    def test_a_hang_has_a_name(self):
        text = self.info(p=sample_runs.live(80))
        self.assertIn("Whole     so far: nothing was lost\n"
                      "Took      80.0 ms so far, still recording\n"
                      "Holds     0 steps, 1 span, 1 process, 1 thread, 64 KB\n"
                      "Open      process 0, thread 4712 loader: forward > next batch, for 75.0 ms\n",
                      text)

    def test_a_run_that_was_killed(self):
        text = self.info(p=sample_runs.killed())
        self.assertIn("Whole     yes: nothing was lost; 2 spans were open at the end\n"
                      "Took      90.0 ms, then it was killed\n", text)
        self.assertIn("Open      process 0, thread 4712 loader: forward > next batch, for 85.0 ms\n",
                      text)

    def test_several_processes(self):
        text = self.info(a=sample_runs.training(rank=0), b=sample_runs.training(rank=1, pid=4712),
                         c=sample_runs.hanging(pid=99))
        self.assertIn("Took      100 ms; processes: 2 exited, 1 unknown\n", text)
        self.assertIn("Holds     1 step (2 in 2 loops), 11 spans, 3 processes, 3 threads, 192 KB\n", text)
        self.assertIn("Open      process 2, thread 4712 loader", text)
        self.assertIn("Cost      25.3 ns per span x 8 spans = 202 ns", text)
        self.assertIn("Hooks     PyTorch: 1 of 2 installed\n"
                      "          skipped torch.foo: not there\nRecords", text)
        self.assertTrue(text.endswith(RANKS), text)

    def test_hooks_are_counted_by_framework(self):
        made = sample_runs.process()
        made.block(0, sample_runs.name(1, b"framework"))
        targets = (b"torch.nn:Module", b"torch.optim:Adam", b"jax._src:f", b"jaxlib.g:h", b"atexit")
        made.block(1, sample_runs.mark(sample_runs.at_ms(1), b"torch 2.13.0+cpu", name=1),
                   *(sample_runs.hook(sample_runs.at_ms(2), target) for target in targets),
                   sample_runs.hook(sample_runs.at_ms(2), b"torch.foo:bar", b"not there",
                                    flags=sample_runs.FAILED))
        groups = ("Hooks     PyTorch 2.13: 2 of 3 installed\n          JAX: 2 of 2 installed\n"
                  "          other: 1 of 1 installed\n          skipped torch.foo:bar: not there\n")
        self.assertIn(groups + "Records", self.info(p=made))
        text = self.check(["info", "--hooks", "run"], FINE, stderr="").stdout
        self.assertIn(groups + "          installed torch.nn:Module, torch.optim:Adam, jax._src:f, jaxlib.g:h,\n"
                      "          atexit\n", text)

    def test_more_processes_than_a_person_reads(self):
        text = self.info(**{f"p{rank}": sample_runs.training(rank=rank) for rank in range(25)})
        self.assertTrue(text.endswith("\nand 5 more; --json lists all\n"), text)

    def test_a_run_of_days_fits_its_columns(self):
        made = sample_runs.process(end_ticks=sample_runs.at_ms(3 * 86_400_000 + 450))
        text = self.info(p=made)
        self.assertIn("Took      3 d 00 h, then it exited\n", text)
        self.assertTrue(text.endswith(
            "   0       4711         -  exited          0    259200       0       0   64 KB\n"), text)

    def test_a_clock_that_jumped(self):
        made = sample_runs.process(clock=1)
        made.block(0, *(sample_runs.calibration(sample_runs.at_ms(t), sample_runs.at_ms(t + jump))
                        for t, jump in ((1, 0), (20, 0), (40, 0), (60, 5000), (80, 5000))))
        text = self.info(p=made)
        self.assertIn("Clock     TSC at ", text)
        self.assertIn(" 5 calibrations, ", text)
        self.assertIn(" SUSPECT, ", text)

    def test_an_empty_recording(self):
        text = self.info(p=sample_runs.process())
        self.assertIn("Whole     yes: nothing was lost\n", text)
        self.assertIn("Holds     0 steps, 0 spans, 1 process, 0 threads, 64 KB\n", text)
        self.assertIn("Records   0 records\n", text)
        self.assertNotIn("Stage", text)

    def test_hostile_names_do_nothing_to_the_terminal(self):
        text = self.info(p=sample_runs.hostile())
        self.assertIn("Open      process 0, thread \ufffd[2Jthread: "
                      "\ufffd[31mred\ufffd[0m > two lines tab, for\n          87.0 ms\n", text)
        self.assertIn("Command   \ufffd]0;title\ufffd\nHost      \ufffd]0;title\ufffd\n", text)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")

    def test_threads_are_known_by_their_records_too(self):
        self.assertIn(", 1 process, 1 thread, ", self.info(p=sample_runs.hostile()))

    def test_without_a_command_the_executable_stands_for_it(self):
        made = sample_runs.process()
        made.block(0, sample_runs.info(b"executable", b"/usr/bin/train"))
        self.assertIn("\nCommand   /usr/bin/train\n", self.info(p=made))

    def test_a_long_command_is_wrapped_and_cut(self):
        made = sample_runs.process()
        made.block(0, sample_runs.info(b"command", b"python " + b"x" * 2000))
        text = self.info(p=made)
        self.assertIn("Command   python\n          " + "x" * 70 + "\n          " + "x" * 70 +
                      "\n          " + "x" * (210 - 7 - 140 - 3) + "...\n", text)


class InfoJson(CommandTest):
    def info(self, **files):
        self.make_run(**files)
        done = self.check(["info", "--json", "run"], FINE, stderr="")
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def test_a_whole_run(self):
        found = self.info(p=sample_runs.training(rank=1))
        self.assertTrue(found["whole"])
        self.assertFalse(found["live"])
        self.assertEqual(found["duration_ns"], 100_000_000)
        self.assertEqual(found["stages"], {
            "data": {"spans": 1, "sum_ns": 10_000_000},
            "forward": {"spans": 2, "sum_ns": 31_000_000},
            "callback": {"spans": 1, "sum_ns": 3_000_000}})
        self.assertEqual(found["records"]["span"], 4)
        self.assertEqual(found["records"]["lost"], 0)
        self.assertEqual((found["samples"], found["names"], found["bytes"]), (32, 4, 65536))
        self.assertEqual(found["hooks"], {
            "installed": 1, "skipped": 1,
            "reasons": [{"target": "torch.foo", "reason": "not there"}],
            "targets": ["torch.nn.Module"]})

    def test_a_process(self):
        process, = self.info(p=sample_runs.training(rank=1))["processes"]
        clock = process.pop("clock")
        self.assertEqual((clock["kind"], clock["calibrations"], clock["suspect"]),
                         ("raw", 1, False))
        infos = process.pop("infos")
        self.assertEqual(infos[0], {"key": "command", "value": "python train.py --epochs 1"})
        start = sample_runs.START
        self.assertEqual(process, {
            "file": "p.ssp", "pid": 4711, "parent_pid": 0, "kind": "training", "rank": 1,
            "world": 2, "end": "exited", "start_ns": start, "end_ns": start + 100_000_000,
            "start_realtime_ns": sample_runs.REALTIME, "bytes": 65536, "cap_bytes": 1 << 30,
            "threads": 1, "records": 27, "spans": 4, "steps": 1, "error": "",
            "span_cost_ns": 25.3, "cost_ns": 101, "helper_cpu_ns": 150_000, "pool_empty": 0})

    def test_lanes_and_open_spans(self):
        lanes = self.info(p=sample_runs.killed())["lanes"]
        start = sample_runs.START
        self.assertEqual([lane["lane"] for lane in lanes], [0, 1])
        self.assertEqual(lanes[1], {
            "process": 0, "lane": 1, "tid": 4712, "thread": "loader", "owners": 1, "records": 4,
            "spans": 3, "lost_records": 0, "open": [
                {"name": "forward", "object": "Net", "stage": "forward",
                 "start_ns": start + 2_000_000},
                {"name": "next batch", "object": "", "stage": "data",
                 "start_ns": start + 5_000_000}]})

    def test_what_was_lost(self):
        found = self.info(a=sample_runs.lossy(), b=b"rubbish" * 1000, c=sample_runs.newer())
        self.assertFalse(found["whole"])
        self.assertEqual(found["processes"][0]["error"], "no space left on the device")
        self.assertEqual(found["lost"], {
            "dropped": 1234, "dropped_spans": {"data": 1000, "forward": 200}, "reused": 5000,
            "reused_spans": {"forward": 4000}, "names": 3, "threads": 1, "too_deep": 5,
            "unbalanced": 2,
            "unread": [{"kind": "header", "file": "b.ssp", "offset": 0, "bytes": 7000},
                       {"kind": "file", "file": "c.ssp", "offset": 0, "bytes": 65536}]})

    def test_the_manifest(self):
        self.make_run("with manifest", p=sample_runs.process())
        with open(self.path("with manifest", "manifest"), "wb") as file:
            file.write(b"format: 1\ncommand: train \\n \xff\n")
        done = self.check(["info", "--json", "with manifest"], FINE)
        self.assertEqual(json.loads(done.stdout)["manifest"],
                         [{"key": "format", "value": "1"},
                          {"key": "command", "value": "train \n \ufffd"}])
        text = self.check(["info", "with manifest" + os.sep], FINE).stdout
        self.assertIn("Run       with manifest/\n", text)
        self.assertIn("Command   train \ufffd\n", text)

    def test_hostile_names(self):
        found = self.info(p=sample_runs.hostile())
        self.assertEqual(found["lanes"][1]["thread"], "\x1b[2Jthread")
        self.assertEqual(found["lanes"][1]["open"][1]["name"], "two\nlines\r\ttab")


if __name__ == "__main__":
    unittest.main()
