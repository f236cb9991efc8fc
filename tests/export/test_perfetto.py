"""Perfetto traces, read by the public field numbers: every span, nested as it was; steps, counters, marks."""

import collections
import os
import subprocess
import unittest

from export_support import ExportTest, has_perfetto  # finds the others

import pftrace
import report_runs
from builder import counter, mark, span, system, thread_begin
from report_runs import MS, START

APPENDED, OVERLAY = 1 << 7, 1 << 5


@unittest.skipUnless(has_perfetto(), "built without nanopb")
class Perfetto(ExportTest):
    def trace(self, run="run"):
        self.export("perfetto", run, run + ".pftrace")
        return pftrace.load(self.path(run + ".pftrace"))

    def spans(self, trace):
        """Slices that are spans of the run: those of threads, and what lies beside them."""
        threads = {uuid for uuid, track in trace.tracks.items() if track["tid"] is not None}
        beside = {uuid for uuid, track in trace.tracks.items() if track["name"] == "beside"}
        return [s for s in trace.slices if s.track in threads | beside and s.category]

    def test_spans_are_those_of_the_dump_to_the_nanosecond(self):
        for run in self.runs():
            with self.subTest(run):
                wanted = collections.Counter(
                    (r["start_ns"], r["end_ns"], r["stage"], r["arg"], " ".join(r["flags"]))
                    for r in self.dump(run) if r["kind"] == "span")
                found = collections.Counter(
                    (s.start, s.end, s.category, s.notes.get("argument", 0), s.notes.get("flags", ""))
                    for s in self.spans(self.trace(run)))
                self.assertEqual(found, wanted)

    def test_steps_have_a_track_for_each_loop(self):
        for run in self.runs():
            with self.subTest(run):
                trace = self.trace(run)
                rows = collections.defaultdict(list)
                for row in self.table("csv", run):
                    rows[row["loop"]].append(row)
                tracks = {uuid: track["name"] for uuid, track in trace.tracks.items()
                          if track["name"].startswith("steps of loop ")}
                self.assertEqual(len(tracks), len(rows))
                for uuid, name in tracks.items():
                    number = name.removeprefix("steps of loop ").split(",")[0]
                    steps = [s for s in trace.slices if s.track == uuid]
                    self.assertEqual([s.notes["step"] for s in steps],
                                     [int(row["step"]) for row in rows[number]])
                    self.assertEqual([s.notes["time_ns"] for s in steps],
                                     [int(row["time_ns"]) for row in rows[number]])
                    self.assertEqual([s.end - s.start for s in steps],
                                     [int(r["end_ns"]) - int(r["start_ns"]) for r in rows[number]])
                    self.assertEqual([s.notes.get("epoch", "") for s in steps],
                                     [int(r["epoch"]) if r["epoch"] else "" for r in rows[number]])
                    self.assertTrue(all(s.depth == 0 for s in steps))

    def test_sums_of_steps_are_those_of_the_report(self):
        loops = 0
        for run in self.runs():
            with self.subTest(run):
                trace, report = self.trace(run), self.report(run)
                for number, loop in enumerate(report["loops"]):
                    tracks = {uuid for uuid, track in trace.tracks.items()
                              if track["name"].split(",")[0] == f"steps of loop {number}"}
                    self.check_sums([s.notes for s in trace.slices if s.track in tracks], loop)
                    loops += 1
        self.assertGreater(loops, 14)

    def check_sums(self, steps, loop):
        def total(key, part):
            return sum(step[key] for step in steps if step["part"] == part)

        counts = {part: total("steps", part) for part in ("warmup", "steady", "left_out")}
        told = loop["steps"]
        self.assertEqual(counts, {"warmup": told["warmup"], "steady": told["steady"]["count"],
                                  "left_out": told["left_out"]})
        self.assertEqual(sum(counts.values()), told["count"])
        self.assertEqual(total("time_ns", "steady"), told["steady"]["total_ns"])

    def make(self, *threads, **more):
        self.make_run(p=report_runs.process(*threads, **more))
        return self.trace()

    def test_spans_of_one_nanosecond_nest_as_they_were(self):
        """All orders of equal begins and ends, up to spans that take no time at all."""
        layout = [  # start, end, depth; in the order in which they end
            (10, 10, 2), (10, 10, 1), (10, 12, 2), (12, 12, 3), (12, 12, 2), (10, 14, 1), (14, 14, 1),
            (14, 20, 2), (14, 20, 1), (10, 20, 0), (20, 20, 0), (20, 25, 1), (20, 30, 0),
            (30, 30, 1), (30, 30, 0)]
        thread = report_runs.Thread()
        for start, end, depth in layout:
            thread.records.append(span(START + start, START + end, start * 100 + end, name=2,
                                       depth=depth))
        thread.now += 100
        slices = self.spans(self.make(thread))
        found = sorted((s.start - START, s.end - START, s.depth) for s in slices)
        self.assertEqual(found, sorted(layout))
        for s in slices:
            self.assertEqual(s.notes["argument"], (s.start - START) * 100 + s.end - START)

    def test_what_does_not_nest_lies_beside(self):
        thread = report_runs.Thread()
        thread.span(2, 10 * MS)
        for start, end in ((2, 8), (1, 4), (3, 12), (8, 9)):
            thread.records.append(span(START + start * MS, START + end * MS, name=1,
                                       flags=APPENDED if start == 1 else OVERLAY))
        thread.now += 10 * MS
        trace = self.make(thread)
        thread_track = next(u for u, t in trace.tracks.items() if t["tid"] == report_runs.PID)
        beside = trace.named("beside")
        self.assertEqual({trace.tracks[u]["parent"] for u in beside}, {thread_track})
        slices = [s for s in trace.slices if s.track in beside]
        self.assertEqual(sorted(((s.start - START) // MS, (s.end - START) // MS) for s in slices),
                         [(1, 4), (2, 8), (3, 12), (8, 9)])
        self.assertTrue(all(s.depth == 0 for s in slices))
        self.assertEqual(len(beside), 3)  # the last one fits behind the first

    def test_threads_counters_and_marks(self):
        names = (*report_runs.NAMES, (20, b"loss", b"", 0, 0, 0), (21, b"note", b"", 0, 0, 0))
        thread = report_runs.Thread()
        thread.records += [counter(START + MS, 0.5, name=20), counter(START + 2 * MS, 0.25, name=20),
                           mark(START + 3 * MS, b"hello", name=21)]
        thread.now += 5 * MS
        loader = report_runs.Thread(tid=99, text=b"loader")
        loader.span(1, MS)
        loader.records += [thread_begin(START + 2 * MS, 100, b"second"),
                           span(START + 2 * MS, START + 3 * MS, name=1)]
        trace = self.make(thread, loader, names=names)
        threads = {t["tid"]: t["name"] for t in trace.tracks.values() if t["tid"]}
        self.assertEqual(threads, {report_runs.PID: "main", 99: "loader", 100: "second"})
        self.assertEqual({t["pid"] for t in trace.tracks.values() if t["tid"]}, {report_runs.PID})
        loss = trace.named("loss")[0]
        self.assertEqual([(p.time - START, p.value) for p in trace.points if p.track == loss],
                         [(MS, 0.5), (2 * MS, 0.25)])
        self.assertEqual([(i.time - START, i.name, i.notes) for i in trace.instants],
                         [(3 * MS, "note", {"text": "hello"})])

    def test_counters_of_the_machine_are_shown_a_second(self):
        names = ((1, b"cpu.busy", b"", 0, 0, 0), (2, b"tree.rss", b"", 0, 0, 0))
        samples = report_runs.Thread()
        for i in range(3):  # a core and a half; 1, 2, 3 GB
            samples.records += [system(START + i * MS, i * 1.5 * MS, 2**64 - 1, name=1),
                                system(START + i * MS, (i + 1) * 1e9, 0, name=2)]
        samples.now += 5 * MS
        machine = report_runs.process(samples, names=names, pid=77)
        machine.poke(33, "B", 1)  # a supervisor's file
        self.make_run(p=report_runs.healthy(), q=machine)
        trace = self.trace()
        busy, rss = trace.named("cpu.busy of all cores")[0], trace.named("tree.rss")[0]
        self.assertEqual([p.value for p in trace.points if p.track == busy], [1.5, 1.5])
        self.assertEqual([p.value for p in trace.points if p.track == rss], [1e9, 2e9, 3e9])
        self.assertEqual([trace.tracks[u]["unit"] for u in (busy, rss)], ["s/s", "B"])
        self.assertEqual(trace.tracks[trace.tracks[rss]["parent"]]["name"], "machine")

    def test_names_are_told_once_and_texts_are_safe(self):
        self.make_run(p=report_runs.hostile())
        trace = self.trace()  # its reader fails on a name told twice, and on bad UTF-8
        for name in [t["name"] for t in trace.tracks.values()] + list(trace.names.values()):
            self.assertFalse([c for c in name if c < " " or c == "\x7f" or c == "\u202e"], repr(name))
        self.assertLess(trace.packets, 3 * len(trace.slices) + 100)

    def test_long_texts_are_cut_between_characters(self):
        names = ((1, "\u00e9".encode() * 2200, b"", report_runs.USER, 0, 0),)
        thread = report_runs.Thread(text=b"\xff" * 2000)  # each becomes three bytes
        thread.span(1, MS)
        thread.records.append(mark(START + MS, b"x" + b"\xff" * 1900, name=1))
        trace = self.make(thread, names=names)
        self.assertEqual(list(trace.names.values()), ["\u00e9" * 2000])
        self.assertEqual({t["name"] for t in trace.tracks.values() if t["tid"]}, {"\ufffd" * 1333})
        self.assertEqual(trace.instants[0].notes["text"], "x" + "\ufffd" * 1333)

    def test_time_is_that_of_the_run_with_the_real_time_beside_it(self):
        self.make_run(p=report_runs.healthy())
        trace = self.trace()
        self.assertEqual(trace.clocks, {5: START, 1: report_runs.REALTIME})
        self.assertEqual((trace.clock, trace.primary), (5, 5))

    def test_two_hosts_may_have_the_same_pid(self):
        self.make_run(p=report_runs.healthy(), q=report_runs.healthy())
        trace = self.trace()
        pids = sorted(t["pid"] for t in trace.tracks.values() if t["is_process"])
        self.assertEqual(pids, [report_runs.PID, report_runs.PID + (1 << 22)])
        tids = sorted(t["tid"] for t in trace.tracks.values() if t["tid"])
        self.assertEqual(tids, pids)

    def test_a_run_that_goes_on(self):
        self.make_run(p=report_runs.live())
        trace = self.trace()
        self.assertEqual(len([s for s in trace.slices if "step" in s.notes]), 100)

    def test_the_published_description_of_the_format_knows_every_field(self):
        """PyPI's perfetto has it; its trace processor is a program that is downloaded, and not here."""
        read = ("import sys\n"
                "from google.protobuf.unknown_fields import UnknownFieldSet\n"
                "from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace\n"
                "def unknown(m):\n"
                "    inner = [v for f, v in m.ListFields() if f.message_type]\n"
                "    inner = [x for v in inner for x in (v if hasattr(v, 'append') else [v])]\n"
                "    return len(UnknownFieldSet(m)) + sum(map(unknown, inner))\n"
                "data = open(sys.argv[1], 'rb').read()\n"
                "trace = Trace.FromString(data)\n"
                "print(len(trace.packet), unknown(trace), trace.SerializeToString() == data)\n")
        python = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON")
        if not python or subprocess.run([python, "-c", "import perfetto.protos"], check=False,
                                        stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no Python with PyPI's perfetto")
        self.make_run(p=report_runs.full())
        trace = self.trace()
        done = subprocess.run([python, "-c", read, self.path("run.pftrace")], check=True,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout.split(), [str(trace.packets), "0", "True"])


if __name__ == "__main__":
    unittest.main()
