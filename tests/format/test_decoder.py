#!/usr/bin/python3
"""Tests of decoder.py against docs/format.md; expected values are worked out by hand."""

import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stdout

import damaged_runs
import decoder
import make_runs
from builder import (
    LOST, PERTURBED, RUNS, START, START_NS, ProcessFile, calibration, control,
    frame, mark, open_span, plan, record, sample, span, spans, step, this_process,
    thread_begin)

T = START


def read(*files, dead=True):
    """The run of some made files."""
    return decoder.Run([(f"{i}.ssp", file if isinstance(file, bytes) else file.bytes())
                        for i, file in enumerate(files)], dead)


def made(run_name):
    files = make_runs.files_of(RUNS[run_name])
    names = sorted(file for file in files if file.endswith(".ssp"))
    return decoder.Run([(file, files[file]) for file in names])


def lines(run, **match):
    """The JSON objects of a run that have these values."""
    return [line for line in decoder.json_lines(run)
            if all(line.get(key) == value for key, value in match.items())]


def column(run, key, **match):
    return [line[key] for line in lines(run, **match)]


def losses(run):
    return [tuple(loss) for _, loss in run.losses]


def lane_of(*records, **header):
    """A run of one process whose lane 1 holds these records."""
    process = ProcessFile(**header)
    process.block(1, *records)
    return read(process)


BLOCK_1 = 16384
RECORDS_1 = BLOCK_1 + 2048


class RecordsTest(unittest.TestCase):
    def test_every_kind_has_its_own_fields(self):
        run = made("every_kind")
        self.assertEqual({line["kind"] for line in lines(run)},
                         {kind.word for kind in decoder.KINDS.values()})
        self.assertEqual(losses(run), [])
        one = {kind: line for line in lines(run, lane=1) for kind in [line["kind"]]}
        head = {"process": 0, "lane": 1, "tid": 4242, "owner": 1, "depth": 0, "nest": 0,
                "flags": []}
        self.assertEqual(one["span"], {
            **head, "kind": "span", "time_ns": T + 9, "name": "forward", "object": "Net",
            "name_id": 1, "stage": "forward", "start_ns": T + 6, "end_ns": T + 9,
            "arg": -5,
            "flags": ["train"], "depth": 2, "nest": 0xC9})
        self.assertEqual(one["sample"], {**head, "kind": "sample", "time_ns": T + 12,
                                         "tid": 4243,
                                         "frames": [7, 8, 0xFFFFFFFF]})
        self.assertEqual(one["plan"], {**head, "kind": "plan", "time_ns": T + 2,
                                       "steps": 100,
                                       "epochs": 2, "steps_per_epoch": 50, "batch": 32})
        self.assertEqual(one["hook"], {**head, "kind": "hook", "time_ns": T + 13,
                                       "flags": ["failed"], "target": "torch.nn",
                                       "reason": "absent"})
        self.assertEqual(one["system"]["state"], "absent")
        self.assertEqual(one["frame"], {"kind": "frame", "time_ns": T + 11, "process": 0,
                                        "lane": 1,
                                        "tid": 4242, "owner": 1, "id": 7, "line": 120,
                                        "traits": 3, "body": 40, "function": "train", "file": "train.py"})
        self.assertEqual(one["lost"]["count"], 17)
        self.assertEqual(one["perturbed"]["reason"], 2)
        self.assertEqual(one["epoch_begin"]["epoch"], 3)
        self.assertEqual(one["thread_begin"]["thread"], "main")
        calibrated = lines(run, kind="calibration")[0]
        self.assertEqual((calibrated["raw_ns"], calibrated["realtime_ns"],
                          calibrated["bracket_ticks"]), (START_NS + 50, 123, 7))

    def test_numbers_that_are_not_known_read_as_the_first_word(self):
        named = lines(made("every_word_and_flag"), kind="name")
        self.assertEqual([line["stage"] for line in named[16:21]],
                         ["produce", "user", "other", "other", "other"])
        self.assertEqual([line["role"] for line in named[6:10]],
                         ["user_step", "loop", "collective", "none"])
        self.assertEqual([line["scope"] for line in named[5:8]],
                         ["train_begin", "train_end", "none"])

    def test_flags_are_words_in_the_order_of_their_bits(self):
        flags = column(made("every_word_and_flag"), "flags", kind="span")
        self.assertEqual(flags[:10], [[flag] for flag in decoder.FLAGS])
        self.assertEqual(flags[10:16], [[]] * 6)
        self.assertEqual(flags[20], decoder.FLAGS)

    def test_longer_records_and_unknown_kinds_are_read_over(self):
        for run_name, count in (("records_may_be_longer", 2),
                                ("unknown_kinds_are_skipped", 7)):
            run = made(run_name)
            self.assertEqual(losses(run), [])
            self.assertEqual(len(lines(run, kind="span")), count)

    def test_invalid_utf8_becomes_replacement_characters(self):
        texts = column(made("texts"), "text", kind="mark", lane=1)
        self.assertEqual(texts[6:9], ["a\ufffd", "\ufffd", "\ufffdz"])
        self.assertEqual(texts[9:11], ["\ufffd" * 2, "\ufffd" * 3])

    def test_values_that_json_lacks_are_null(self):
        self.assertEqual(column(made("numbers"), "value", kind="counter")[13:],
                         [None] * 3)

    def test_names(self):
        run = made("names_missing_and_repeated")
        spans_ = lines(run, kind="span")
        self.assertEqual([(line["name"], line["stage"]) for line in spans_],
                         [("(unnamed)", "other"), ("(name 1)", "other"),
                          ("(name 2)", "other"),
                          ("(name 3)", "other"), ("(name 4)", "other"), ("first", "data"),
                          ("late", "backward"), ("(name 65535)", "other")])
        self.assertEqual([line.get("object") for line in spans_[4:7]], [None, "A", None])

    def test_owners_change_with_thread_begin(self):
        run = made("threads_that_share_a_lane")
        spans_ = lines(run, kind="span")
        self.assertEqual([(line["tid"], line["owner"]) for line in spans_],
                         [(0, 0), (71, 1), (71, 1), (72, 2), (72, 2)])
        self.assertEqual(column(run, "tid", kind="sample"), [5])


class TimeTest(unittest.TestCase):
    """Format 6. The spans of these runs end at T, T + 1, T + 2, T + 3, T + 10, ..."""

    def ends(self, run_name):
        run = made(run_name)
        return {line["arg"]: line["end_ns"] - START_NS
                for line in lines(run, kind="span")}

    def test_ticks_of_clock_0_are_nanoseconds(self):
        self.assertEqual(self.ends("clock_of_nanoseconds")[4], T + 10 - START_NS)

    def test_one_point_uses_the_first_estimate(self):
        # 3 ticks a nanosecond: m = floor(10^9 * 2^40 / (3 * 10^9)), just below a third.
        ends = self.ends("clock_with_one_point")
        self.assertEqual([ends[i] for i in (0, 1, 2, 3, 4, 5, 6)],
                         [0, 0, 0, 0, 3, 32, 33])

    def test_no_estimate_means_a_tick_a_nanosecond(self):
        self.assertEqual(self.ends("clock_without_a_rate")[5], 99)

    def test_points_are_joined_by_lines(self):
        # Lines (0, 0) (100, 33) (200, 67) (300, 111) (400, 112); T + 150 is at 33 + 17,
        # less 1 because m is rounded down.
        ends = self.ends("clock_with_calibrations")
        self.assertEqual([ends[i] for i in (6, 8, 10, 13, 16)], [33, 49, 67, 111, 112])
        # After the last point the last line goes on: 600 ticks at 1/100.
        self.assertEqual(ends[18], 112 + 5)

    def test_points_that_go_back_are_left_out(self):
        run = made("clock_with_calibrations_that_go_back")
        kept = [(ticks - T, raw - START_NS)
                for ticks, raw in run.processes[0].clock.points]
        self.assertEqual(kept, [(0, 0), (100, 33), (200, 67), (299, 68), (400, 90)])

    def test_the_whole_beat_is_the_last_point(self):
        for run_name in ("clock_with_an_odd_beat", "clock_with_an_even_beat"):
            run = made(run_name)
            self.assertEqual(run.processes[0].clock.points[-1], (T + 250, START_NS + 90))
        run = made("clock_with_no_beat_but_its_bytes")
        self.assertEqual(len(run.processes[0].clock.points), 2)

    def test_only_the_control_lane_calibrates(self):
        run = made("clock_with_calibrations_in_another_lane")
        self.assertEqual(len(run.processes[0].clock.points), 2)

    def test_times_that_no_i64_can_hold_become_the_nearest(self):
        ends = column(made("extreme_ticks_of_a_slow_clock"), "end_ns", kind="span")
        self.assertEqual(ends[2:], [2**63 - 1] * 7)
        self.assertEqual(column(made("extreme_start_early"), "start_ns"), [-2**63] * 9)

    def test_calibrations_count_in_the_order_of_the_lane(self):
        run = made("clock_with_calibrations_in_segments")
        self.assertEqual([ticks - T for ticks, _ in run.processes[0].clock.points],
                         [0, 100, 200, 300])


class SegmentsTest(unittest.TestCase):
    """Format 8.1 to 8.4."""

    def test_files_that_are_no_process_files_are_lost_as_a_whole(self):
        run = made("no_process_files")
        self.assertEqual([loss.kind for _, loss in run.losses],
                         ["truncated"] * 2 + ["header"] * 5 + ["file"])
        self.assertEqual(set(column(run, "process")), {0})

    def test_a_newer_version_with_an_old_reader_in_mind_is_read(self):
        self.assertEqual(len(lines(made("a_newer_version"), kind="span")), 2)

    def test_a_lane_goes_on_in_its_segments_by_seq(self):
        run = made("several_segments")
        starts = column(run, "start_ns", kind="span")
        self.assertEqual(len(starts), 192 + 2046 + 20 + 20)
        self.assertEqual(starts, sorted(starts))

    def test_gaps_in_seq_are_no_loss(self):
        run = made("gaps_in_seq")
        self.assertEqual(losses(run), [])
        self.assertEqual(len(lines(run, kind="span")), 12)

    def test_of_two_at_the_same_place_the_higher_lease_counts(self):
        run = made("the_same_place_twice")
        self.assertEqual(column(run, "arg", kind="span")[2:], [90, 3])
        self.assertEqual(losses(run), [("order", k * 65536, 65536) for k in (1, 3, 5, 4)])

    def test_a_lane_needs_no_block(self):
        run = made("a_lane_without_a_block")
        self.assertEqual(losses(run), [])
        self.assertEqual([len(lines(run, lane=lane, kind="span")) for lane in (5, 3000)],
                         [3, 3])

    def test_segments_not_in_use_are_no_loss(self):
        run = made("segments_that_are_not_in_use")
        self.assertEqual(losses(run), [])
        self.assertEqual(len(lines(run, kind="span")), 2)

    def test_broken_segment_headers_lose_the_segment(self):
        run = made("segments_with_broken_headers")
        self.assertEqual(losses(run), [("header", k * 65536, 65536) for k in range(1, 9)])
        self.assertEqual(len(lines(run, kind="span")), 2)

    def test_directories_out_of_place_are_lost(self):
        run = made("directories_out_of_place")
        # 0 and the second 7 have been seen, 8 is no multiple of 7, two are too large.
        self.assertEqual(losses(run),
                         [("header", k * 65536, 65536) for k in (1, 3, 4, 5, 6)])
        self.assertEqual(column(run, "lane", kind="span"), [7, 14])

    def test_broken_blocks_are_lost_and_their_segments_are_not(self):
        run = made("blocks_with_broken_headers")
        self.assertEqual(losses(run)[:3],
                         [("header", (lane + 1) * 8192, 8192) for lane in (1, 2, 4)])
        self.assertEqual([kind for kind, *_ in losses(run)[3:]], ["header"] * 2)
        counts = [len(lines(run, lane=lane, kind="span")) for lane in range(1, 7)]
        self.assertEqual(counts, [2, 0, 0, 0, 2, 2])

    def test_a_file_may_be_cut_anywhere(self):
        expected = {
            1024: [], 8192: [], 8193: [("truncated", 8192, 1)], 16384: [],
            24575: [("truncated", 16384, 8191)], 65536: [],
            65599: [("truncated", 65536, 63)], 65600: [("truncated", 65600, 0)],
            65601: [("truncated", 65600, 1)], 65632: [("truncated", 65632, 0)],
            65727: [("truncated", 65696, 31)], 65728: [("truncated", 65696, 32)],
            65823: [("truncated", 65696, 127)], 65824: [("truncated", 65824, 0)],
            131072: [], 131136: [], 139265: [("truncated", 139264, 1)], 147456: [],
            262143: [("truncated", 262112, 31)],
        }
        for size, loss in expected.items():
            self.assertEqual(losses(made(f"cut_at_{size}")), loss, size)

    def test_a_segment_that_changed_hands_does_not_count(self):
        process = ProcessFile()
        offset = process.records(1, 1, spans(T, 2))
        process.records(1, 2, spans(T, 3))
        run = decoder.Run([("p.ssp", process.bytes(), {offset})])
        self.assertEqual(len(lines(run)), 3)
        self.assertEqual(losses(run), [])


class BadRecordsTest(unittest.TestCase):
    """Format 8.5."""

    def assert_bad(self, *bad, **header):
        for one in bad:
            run = lane_of(spans(T, 1), one, spans(T + 50, 1), **header)
            self.assertEqual(losses(run), [("records", RECORDS_1 + 32, 6144 - 32)], one)
            self.assertEqual(len(lines(run)), 1)

    def assert_good(self, *good, **header):
        for one in good:
            run = lane_of(spans(T, 1), one, spans(T + 50, 1), **header)
            self.assertEqual(losses(run), [], one)
            self.assertEqual(len(lines(run)), 3)

    def test_heads(self):
        self.assert_bad(record(0, bytes(24)), record(0, bytes(24), units=0, nest=1),
                        record(2, bytes(24), units=0), record(99, bytes(24), units=192))

    def test_too_few_units(self):
        self.assert_bad(plan(T, units=1), calibration(T, 1, units=1))

    def test_texts_that_are_too_long(self):
        self.assert_bad(mark(T, b"x" * 8, length=9), mark(T, b"x" * 40, length=41))
        self.assert_bad(frame(1, 1, b"x" * 4, b"y" * 4, lengths=(4, 5)))
        self.assert_good(mark(T, b"x" * 8), frame(1, 1, b"x" * 4, b"y" * 4))

    def test_frames_that_are_too_many(self):
        self.assert_bad(sample(T, 1, [1, 2], count=3), sample(T, 1, [1, 2], count=0x4000))
        self.assert_good(sample(T, 1, [1, 2]))

    def test_ends_before_starts(self):
        for kind in (1, PERTURBED, LOST):
            self.assert_bad(span(T + 9, T + 8, kind=kind))
            self.assert_good(span(T + 9, T + 9, kind=kind))

    def test_ticks_before_the_start(self):
        self.assert_bad(*damaged_runs.one_of_each_with_ticks(T - 1), span(T - 1, T + 9))
        self.assert_good(*damaged_runs.one_of_each_with_ticks(T))

    def test_ticks_after_the_horizon(self):
        header = {"ticks_per_s": 10, "end_ticks": 0}
        for latest in ({"end_ticks": T + 500}, {"beat0_ticks": T + 500},
                       {"beat1_ticks": T + 500},
                       {"start_ticks": T}):
            limit = (T if "start_ticks" in latest else T + 500) + 36000
            fields = {**header, **latest, "beats": 7}
            self.assert_good(*damaged_runs.one_of_each_with_ticks(limit), **fields)
            self.assert_bad(*damaged_runs.one_of_each_with_ticks(limit + 1),
                            span(T, limit + 1),
                            **fields)
            self.assert_good(step(limit + 1), **{**fields, "beats": 0})

    def test_reading_goes_on_with_the_next_segment(self):
        run = made("bad_heads")
        for lane in range(1, 6):
            self.assertEqual(column(run, "start_ns", lane=lane, kind="span"),
                             [T, T + 10, T + 200, T + 400])
        self.assertEqual([kind for kind, *_ in losses(run)], ["records"] * 10)

    def test_a_record_may_fill_the_rest_of_its_segment(self):
        run = made("records_that_do_not_fit")
        self.assertEqual(losses(run), [
            ("records", BLOCK_1 + 2048 + 190 * 32, 64),
            ("records", 65536 + 64 + 2044 * 32, 64),
            ("records", 3 * 65536 + 64 + 2045 * 32, 32), ("records", 32768 + 2048, 6144)])


class OrderTest(unittest.TestCase):
    """Format 8.6 and 8.7."""

    def test_time_never_goes_back_in_a_lane(self):
        run = lane_of(frame(1, 1, b"", b""), spans(T + 10, 1), span(T + 1, T + 2, 7),
                      step(T + 3),
                      frame(1, 1, b"", b""), step(T + 20), frame(1, 1, b"", b""))
        self.assertEqual([time_ns - T for time_ns in column(run, "time_ns")],
                         [0, 15, 15, 15, 15, 20, 20])
        self.assertEqual(column(run, "end_ns", arg=7, kind="span"), [T + 2])

    def test_the_same_time_is_ordered_by_file_lane_and_place(self):
        spans_ = lines(made("the_same_time_everywhere"), kind="span")
        key = [(line["process"], line["lane"]) for line in spans_]
        self.assertEqual(key, sorted(key))
        self.assertEqual([line["arg"] for line in spans_[:13]],
                         [0, 1, 2, 3, 0, 1, 2, 3, 10, 0, 1, 2, 3])

    def test_processes_with_different_clocks_are_merged(self):
        run = made("two_processes")
        times = column(run, "time_ns")
        self.assertEqual(times, sorted(times))
        processes = column(run, "process", kind="span")
        self.assertGreater(sum(a != b for a, b in zip(processes, processes[1:])), 20)


class OpenSpansTest(unittest.TestCase):
    """Format 8.8. The stack of these runs was begun at T + 10, T + 20 and T + 30."""

    def unfinished(self, run_name):
        return [(line["start_ns"] - T, line["end_ns"] - T, line["time_ns"] - T)
                for line in lines(made(run_name), kind="span")
                if "unfinished" in line["flags"]]

    def test_they_end_innermost_first_at_the_last_beat(self):
        run = made("open_spans_of_a_killed_process")
        self.assertEqual(self.unfinished("open_spans_of_a_killed_process"),
                         [(30, 500, 500), (20, 500, 500), (10, 500, 500)])
        inner, middle, outer = lines(run, kind="span")[2:]
        self.assertEqual(inner["flags"], ["eval", "unfinished"])
        self.assertEqual(inner["name"], "(name 77)")
        self.assertEqual((middle["name"], middle["depth"], middle["nest"], middle["arg"]),
                         ("forward", 1, 0x41, 0))
        self.assertEqual((outer["tid"], outer["owner"]), (31, 1))

    def test_time_of_death(self):
        for run_name, ends in (
                ("open_spans_by_the_other_beat", [400] * 3),
                ("open_spans_without_beats", [55] * 3),
                ("open_spans_without_beats_and_records", [30] * 3),
                ("open_spans_of_a_stopped_process", [100] * 3),
                ("open_spans_of_an_exited_process", [600] * 3),
                ("open_spans_and_a_later_record", [915] * 3),
                ("open_spans_of_an_end_before_everything", [30] * 3)):
            self.assertEqual([end for _, end, _ in self.unfinished(run_name)], ends,
                             run_name)

    def test_a_start_after_death_moves_the_end_of_all(self):
        self.assertEqual(self.unfinished("open_spans_that_start_after_death"),
                         [(start, 800, 800) for start in (750, 800, 700, 30, 20, 10)])

    def test_entries_that_do_not_count(self):
        starts = [start for start, *_ in self.unfinished("open_spans_that_do_not_count")]
        self.assertEqual(starts, [4, 0])

    def test_a_span_that_was_just_being_closed_does_not_count(self):
        for run_name, starts in (
                ("open_span_just_being_closed", [20, 10]),
                ("open_span_just_being_closed_before_other_records", [20, 10]),
                ("open_span_like_an_older_span", [30, 20, 10]),
                ("open_span_of_another_depth", [30, 20, 10]),
                ("open_span_of_another_start", [30, 20, 10]),
                ("open_span_further_out_being_closed", [30, 20, 10]),
                ("open_span_being_closed_below_one_that_does_not_count", [10])):
            self.assertEqual([start for start, *_ in self.unfinished(run_name)], starts,
                             run_name)

    def test_a_stack_that_is_too_deep_is_lost(self):
        self.assertEqual(len(self.unfinished("open_spans_63_deep")), 63)
        process = ProcessFile(state=1)
        process.block(1, depth=64, spans=[open_span(T)])
        run = read(process)
        self.assertEqual([kind for kind, *_ in losses(run)], ["header"])
        self.assertEqual(lines(run), [])

    def test_a_living_process_has_its_spans_still_open(self):
        process = ProcessFile(state=1)
        process.block(1, spans=[open_span(T)])
        self.assertEqual(lines(read(process, dead=False)), [])
        self.assertEqual(len(lines(read(process, dead=True))), 1)


class LifeTest(unittest.TestCase):
    """Format 8.9."""

    def header_of_this_process(self, **changes):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        fields = {**this_process(), "beats": 1, "beat1_ns": now, **changes}
        return decoder.FileHeader(ProcessFile(**fields).bytes())

    def test_this_process_lives(self):
        self.assertFalse(decoder.has_ended(self.header_of_this_process()))

    def test_anything_else_has_ended(self):
        long_ago = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - 6 * 10**9
        for change in ({"state": 2}, {"state": 3}, {"boot_id": bytes(16)},
                       {"process_start": 1},
                       {"pid": 0}, {"pid": 2**32 - 1}, {"beat1_ns": long_ago},
                       {"beats": 2, "beat0_ns": long_ago}):
            self.assertTrue(decoder.has_ended(self.header_of_this_process(**change)),
                            change)


class RobustnessTest(unittest.TestCase):
    def exhaust(self, data):
        run = decoder.Run([("p.ssp", data)])
        for line in decoder.json_lines(run):
            json.dumps(line)
        size = len(data)
        for _, loss in run.losses:
            self.assertLessEqual(loss.offset + loss.bytes, size)

    def test_every_made_run_can_be_read(self):
        for build in RUNS.values():
            for data in make_runs.files_of(build).values():
                self.exhaust(data)

    def test_noise_can_be_read(self):
        noise = random.Random(1)
        whole = control(clock=1).bytes()[:1024]
        for size in (0, 1, 1023, 1024, 8192, 65536, 200000):
            self.exhaust(noise.randbytes(size))
            self.exhaust(whole + noise.randbytes(size))

    def test_noise_in_headers_blocks_and_records_can_be_read(self):
        noise = random.Random(2)
        pristine = make_runs.files_of(RUNS["every_kind"])[make_runs.FILE]
        for _ in range(200):
            data = bytearray(pristine)
            for base, size in ((104, 216), (8192 + 64, 4), (8192 + 2048, 400),
                               (RECORDS_1, 700)):
                for _ in range(noise.randrange(4)):
                    data[base + noise.randrange(size)] = noise.randrange(256)
            self.exhaust(bytes(data))


class CommandTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_command(self, *arguments):
        out = io.StringIO()
        with redirect_stdout(out):
            self.assertEqual(decoder.main([*arguments, self.directory]), 0)
        return [json.loads(line) for line in out.getvalue().splitlines()]

    def test_it_reads_a_directory(self):
        process = ProcessFile(state=1)
        process.block(1, thread_begin(T, 3), spans=[open_span(T)])
        make_runs.write_run({"b.ssp": process.bytes(), "a.ssp": b"?", "manifest": b"?"},
                            self.directory)
        os.mkdir(os.path.join(self.directory, "c.ssp"))
        os.mkfifo(os.path.join(self.directory, "d.ssp"))
        self.assertEqual([(line["kind"], line["process"]) for line in self.run_command()],
                         [("thread_begin", 0), ("span", 0)])
        self.assertEqual(len(self.run_command("--live")), 1)
        self.assertEqual(len(self.run_command("--dead")), 2)
        self.assertEqual(self.run_command("--losses"), [
            {"kind": "truncated", "file": "a.ssp", "offset": 0, "bytes": 1},
            {"kind": "file", "file": "c.ssp", "offset": 0, "bytes": 0},
            {"kind": "file", "file": "d.ssp", "offset": 0, "bytes": 0}])

    def test_it_stops_quietly_when_nobody_reads(self):
        make_runs.write_run(make_runs.files_of(RUNS["several_segments"]), self.directory)
        process = subprocess.Popen([sys.executable, decoder.__file__, self.directory],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(), 0)

    def test_a_directory_that_does_not_exist_is_an_empty_run(self):
        self.directory = os.path.join(self.directory, "missing")
        self.assertEqual(self.run_command(), [])


if __name__ == "__main__":
    unittest.main()
