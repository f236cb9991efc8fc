"""`stepscope dump`: every record, in time order, for people and as JSON Lines."""

import json
import unittest

import sample_runs
from support import FINE, CommandTest, builder

TRAINING = """\
     time s  lane  kind            lasted  stage       what
0.000000000     0  info                                command = python train.py --epochs 1
0.000000000     0  info                                host = box
0.000000000     0  info                                kernel = 6.1.0
0.000000000     0  info                                version = 0.1.0
0.000000000     0  name                    data        1 is next batch
0.000000000     0  name                    forward     2 is forward (Net)
0.000000000     0  name                    callback    3 is EarlyStopping (EarlyStopping#1), scope batch_end
0.000000000     0  name                    other       4 is loss
0.000500000     1  thread_begin                        thread 4711 main
0.001000000     0  calibration                         raw 2000000 ns, read in 40 ticks
0.001000000     1  plan                                steps 1, epochs 1, steps per epoch 1, batch size 32
0.001000000     1  loop_begin                          forward (Net)
0.001000000     1  epoch_begin                         epoch 0
0.002000000     1  step                                32 samples
0.002000000     1  hook                                torch.nn.Module
0.002000000     1  hook                                torch.foo skipped: not there  [failed]
0.012000000     1  span           10.0 ms  data        next batch  [train]
0.042000000     1  span           30.0 ms  forward     forward (Net) arg 4096  [train]
0.044000000     1  span           1.00 ms  forward      forward (Net)
0.045000000     1  span           3.00 ms  callback    EarlyStopping (EarlyStopping#1)
0.045000000     1  counter                             loss = 0.25
0.046000000     1  mark                                loss: first line second line
0.047000000     1  epoch_end
0.047000000     1  loop_end
0.048000000     1  system                              loss of 3 = 0.5
0.048000000     1  system                              loss of 0 is absent
0.050000000     1  thread_end                          thread 4711
"""

OTHER_KINDS = """\
     time s  lane  kind            lasted  stage       what
0.000000000     1  frame                               7 is train (train.py:120)
0.001000000     1  sample                              thread 42, frames 7 8
0.002000000     1  perturbed      2.00 ms              by another profiler
0.003000000     1  perturbed      3.00 ms              reason 99
0.004000000     1  lost           1.00 ms              17 records dropped
0.004000000     1  system                              (unnamed) of 1 is denied
0.004000000     1  loop_end                            [failed]
0.005000000     1  span              0 ns  other               (name 9)  [estimate,unfinished,sampled]
"""

LONG = """\
       time s  lane  kind            lasted  stage       what
100.000000000     1  span            59.9 s  other       (unnamed)
161.000000000     1  span              61 s  other       (unnamed)
"""


class DumpText(CommandTest):
    def dump(self, **files):
        self.make_run(**files)
        return self.check(["dump", "run"], FINE, stderr="").stdout

    def test_a_whole_run(self):
        self.assertEqual(self.dump(p=sample_runs.training()), TRAINING)

    def test_the_rarer_kinds(self):
        made, at_ms = sample_runs.process(), sample_runs.at_ms
        made.block(1, builder.frame(7, 120, b"train", b"train.py"),
                   builder.sample(at_ms(1), 42, [7, 8]),
                   builder.span(at_ms(0), at_ms(2), 1, builder.PERTURBED),
                   builder.span(at_ms(0), at_ms(3), 99, builder.PERTURBED),
                   builder.span(at_ms(3), at_ms(4), 17, builder.LOST),
                   builder.system(at_ms(4), 0.0, 1, flags=2),
                   builder.at(4, at_ms(4), flags=builder.FAILED),
                   builder.span(at_ms(5), at_ms(5), name=9, flags=0xFE08 | 0x100, depth=40))
        self.assertEqual(self.dump(p=made), OTHER_KINDS)

    def test_a_counter_of_all_cores_has_no_number_of_one(self):
        made = sample_runs.process()
        made.block(0, sample_runs.name(1, b"cpu.busy"))
        made.block(1, sample_runs.system(sample_runs.at_ms(1), 5e8, 2**64 - 1, name=1))
        self.make_run(p=made)
        self.assertIn("cpu.busy of all = 500000000\n", self.check(["dump", "run"], FINE).stdout)
        self.assertIn('"subject":null', self.check(["dump", "--json", "run"], FINE).stdout)

    def test_long_times_stay_in_their_columns(self):
        made = sample_runs.process(end_ticks=sample_runs.at_ms(161_000))
        made.block(1, builder.span(sample_runs.at_ms(40_060), sample_runs.at_ms(100_000)),
                   builder.span(sample_runs.at_ms(100_000), sample_runs.at_ms(161_000)))
        self.assertEqual(self.dump(p=made), LONG)

    def test_several_processes_are_merged(self):
        text = self.dump(a=sample_runs.training(), b=sample_runs.hanging(pid=99))
        lines = text.splitlines()
        self.assertEqual(lines[0], "     time s  lane  kind            lasted  stage       what")
        times = [line.split()[0] for line in lines[1:]]
        self.assertEqual(times, sorted(times))
        self.assertIn("0.090000000  1:1   span           88.0 ms  forward     "
                      "forward (Net)  [unfinished]", lines)
        self.assertIn("0.045000000  0:1   counter                             loss = 0.25", lines)

    def test_hostile_names_do_nothing_to_the_terminal(self):
        text = self.dump(p=sample_runs.hostile())
        count = 2 * len(sample_runs.HOSTILE) + 3 + 1 + len(sample_runs.HOSTILE) + 1 + 2
        self.assertEqual(len(text.splitlines()), 1 + count)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
        self.assertIn("user        \ufffd[31mred\ufffd[0m (\ufffd[31mred\ufffd[0m)\n", text)
        self.assertIn("(unnamed): \ufffd\ufffd bytes\n", text)

    def test_a_damaged_run_is_dumped_as_far_as_it_goes(self):
        self.make_run(p=sample_runs.training().bytes(30_000), q=b"rubbish" * 1000)
        self.check(["dump", "run"], FINE, TRAINING,
                   "stepscope dump: part of the run could not be read: "
                   "'stepscope info' shows which.\n")

    def test_an_empty_recording_is_a_heading(self):
        self.assertEqual(self.dump(p=sample_runs.process()), TRAINING.splitlines(True)[0])


class DumpJson(CommandTest):
    def dump(self, **files):
        self.make_run(**files)
        done = self.check(["dump", "--json", "run"], FINE, stderr="")
        return [json.loads(line) for line in done.stdout.split("\n")[:-1]]

    def test_records_of_a_whole_run(self):
        found = self.dump(p=sample_runs.training())
        start = sample_runs.START
        self.assertEqual(len(found), 27)
        self.assertEqual([line["time_ns"] for line in found],
                         sorted(line["time_ns"] for line in found))
        place = {"process": 0, "lane": 1, "tid": 4711, "owner": 1}
        spans = [line for line in found if line["kind"] == "span"]
        self.assertEqual(spans[1], {
            "kind": "span", "time_ns": start + 42_000_000, **place, "depth": 0, "nest": 0,
            "flags": ["train"], "name": "forward", "name_id": 2, "object": "Net",
            "stage": "forward", "start_ns": start + 12_000_000, "end_ns": start + 42_000_000,
            "arg": 4096})
        self.assertNotIn("object", spans[0])
        mark, = (line for line in found if line["kind"] == "mark")
        self.assertEqual(mark["text"], "first line\nsecond line")
        self.assertEqual(found[1], {
            "kind": "info", "time_ns": start, "process": 0, "lane": 0, "tid": 0, "owner": 0,
            "key": "host", "value": "box"})
        name = found[6]
        self.assertEqual(name, {
            "kind": "name", "time_ns": start, "process": 0, "lane": 0, "tid": 0, "owner": 0,
            "id": 3, "text": "EarlyStopping", "object": "EarlyStopping#1", "stage": "callback",
            "role": "none", "scope": "batch_end"})

    def test_texts_that_are_not_utf8(self):
        found = self.dump(p=sample_runs.hostile())
        texts = [line["text"] for line in found if line["kind"] == "mark"]
        self.assertEqual(texts, [text.decode("utf-8", "replace") for text in sample_runs.HOSTILE])

    def test_a_live_run_is_dumped_as_far_as_it_is_settled(self):
        self.assertEqual(self.dump(p=sample_runs.live(80)), [])
        self.make_run("older", p=sample_runs.live(30_000))
        done = self.check(["dump", "--json", "older"], FINE, stderr="")
        found = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["kind"] for line in found],
                         ["name"] * 4 + ["thread_begin", "span"])
        self.assertEqual(found[-1]["flags"], [])


if __name__ == "__main__":
    unittest.main()
