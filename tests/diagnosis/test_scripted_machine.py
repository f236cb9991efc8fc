"""What this machine cannot do to a training, or should not: a GPU that is idle or waited for, heat,
swap, a hypervisor that takes the cores. The samples are written by hand, or come from a library
that pretends to be NVML; all else is real."""

import json
import os
import re
import struct
import subprocess
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "report"))

import report_runs as runs  # noqa: E402
from builder import SPAN, START, TRAIN, calibration, mark, name, system  # noqa: E402
from report_runs import MS, PID  # noqa: E402
from report_support import ENVIRONMENT, ReportTest  # noqa: E402
from support import FINE, PROGRAM  # noqa: E402

SECONDS, PER_S = 12, 10
ALL = 2 ** 64 - 1
GB = 1 << 30
LOOP_THREAD = PID << 32 | PID
PERTURBED, SPANS_A_STEP = 1 << 4, 4


def train(perturbed=0, data=MS, **how):
    """12 s of steps that do nothing but compute, of which the first are marked as perturbed."""
    thread = runs.steady(steps=240, data=data, forward=20 * MS, backward=28 * MS)
    spans = [i for i, record in enumerate(thread.records) if record[0] == SPAN]
    for i in spans[:perturbed * SPANS_A_STEP]:
        record = thread.records[i]
        thread.records[i] = record[:4] + struct.pack("<H", TRAIN | PERTURBED) + record[6:]
    return runs.process(thread, **how)


def train_on_device(read, copy, data, steps=240):
    """The same on an asynchronous device; in each step its result is read,
    and data is waited for and copied to it."""
    thread = runs.Thread()
    random = runs.noise(3)
    thread.wait(50 * MS)
    thread.mark(mark, b"cuda", name=22)
    thread.loop(True)
    for _ in range(steps):
        thread.mark(runs.step, 32)
        thread.span(1, max(data, MS) * (1 + 0.1 * next(random)))
        thread.span(21, max(copy, MS / 10))
        thread.span(2, 10 * MS * (1 + 0.02 * next(random)))
        thread.span(3, 14 * MS)
        thread.span(4, MS / 2)
        thread.span(20, max(read, MS / 10))
    thread.loop(False)
    return runs.process(thread, names=runs.NAMES + (
        (20, b"item", b"", runs.SYNC, 0, 0), (21, b"to", b"", runs.TRANSFER, 0, 0),
        (22, b"asynchronous device", b"", 0, 0, 0)))


def gauge(*values):
    """A value over time: the given ones, one after the other."""
    return lambda s: values[min(int(s * len(values) / SECONDS), len(values) - 1)]


def total(per_s, before=1000):
    return lambda s: before + per_s * s


CORES = [("cpu.busy", 0, total(0.5e9)), ("cpu.busy", 1, total(0.99e9)),
         ("cpu.busy", ALL, total(1.49e9)), ("tree.cpu", 0, total(1.2e9)),
         ("memory.available", 0, gauge(8 * GB))]
QUIET = [("thread.wait", LOOP_THREAD, total(1e6)), ("cpu.steal", 0, total(0)),
         ("swap.in", 0, total(0)), ("swap.out", 0, total(0)), ("tree.rss", 0, gauge(GB)),
         ("process.major_faults", PID, total(0)), ("cpu.throttles", 0, total(0))]

OWN_GPU = ("gpu.process_memory", PID, gauge(GB))  # of GPU 0
SLOW_GPU = [("gpu.busy", 0, gauge(0.9)), ("gpu.clock", 0, gauge(1.2e9)),
            ("gpu.clock_most", 0, gauge(1.8e9))]

# What the machine did, and what must be found: id, and its share if it has one.
MACHINES = {
    "quiet": (QUIET, None, None),
    "swap": ([("swap.in", 0, total(4 << 20)), ("swap.out", 0, total(1 << 20))], "swap", None),
    "steal": ([("cpu.steal", 0, total(0.3e9))], "steal", 0.15),
    "a little steal": ([("cpu.steal", 0, total(0.1e9))], None, None),
    "heat": ([("cpu.throttles", 0, total(0.5))], "clock-drop", None),
    "clocks": ([("cpu.frequency", 1, gauge(3e9, 3e9, 2.4e9, 2.4e9))], "clock-drop", 0.2),
    "a page of another program": ([("swap.in", 0, total(4096)), ("swap.out", 0, total(0))], None, None),
    "warm once": ([("cpu.throttles", 0, lambda s: 7 + (s > 6))], None, None),
    "boost": ([("cpu.frequency", 1, gauge(3.6e9, *[3e9] * 9))], None, None),
    "limit": ([("cgroup.cpu_limit", 0, gauge(1.5)), ("cgroup.periods", 0, total(10)),
               ("cgroup.throttled_periods", 0, total(4))], "cgroup-throttled", 0.4),
    "pages": ([("process.major_faults", PID, total(60))], "page-faults", 0.06),
    "fresh memory in each step": ([("process.minor_faults", PID, total(800e3))],
                                       "fresh-memory", 0.2),
    "a loop that is bound to one core, beside threads that are not": (
        [("cpu.allowed", 0, gauge(1)), ("cpu.allowed_busy", 0, total(0.9e9)),
         ("cpu.busy", 0, total(0.8e9)), ("cpu.busy", 1, total(0.9e9)), ("cpu.busy", ALL, total(1.7e9)),
         ("tree.cpu", 0, total(1.6e9)), ("tree.threads", 0, gauge(4)),
         ("thread.wait", LOOP_THREAD, total(0.05e9))], None, None),
    "a little of it": ([("process.minor_faults", PID, total(40e3))], None, None),
    "memory taken at the start": ([("process.minor_faults", PID, lambda s: 1e7 * min(s, 2))], None, None),
    "fresh memory of others": ([("process.minor_faults", PID + 1, total(800e3))], None, None),
    "leak": ([("tree.rss", 0, lambda s: GB + s * GB / 20)], "memory-leak", None),
    "others": ([("thread.wait", LOOP_THREAD, total(0.3e9))], "preempted", 0.3),
    "crowd": ([("thread.wait", LOOP_THREAD, total(0.015e9)), ("tree.threads", 0, gauge(24)),
               ("tree.cpu", 0, total(1.95e9))], None, None),
    "crowded out": ([("thread.wait", LOOP_THREAD, total(0.3e9)), ("tree.threads", 0, gauge(24)),
                     ("tree.cpu", 0, total(1.95e9))], "cpu-oversubscribed", 0.3),
    "own threads in turns": ([("thread.wait", LOOP_THREAD, total(0.3e9)),
                              ("tree.threads", 0, gauge(24)), ("tree.cpu", 0, total(1.4e9))],
                             "cpu-oversubscribed", 0.3),
    "usual threads": ([("thread.wait", LOOP_THREAD, total(0.04e9)), ("tree.threads", 0, gauge(24)),
                       ("tree.cpu", 0, total(1.4e9))], None, None),
    "threads of others": ([("thread.wait", LOOP_THREAD, total(0.3e9)), ("tree.threads", 0, gauge(24)),
                           ("tree.cpu", 0, total(0.7e9))], "preempted", 0.3),
    "own threads in a container": ([("thread.wait", LOOP_THREAD, total(0.3e9)),
                                    ("tree.threads", 0, gauge(24)), ("tree.cpu", 0, total(0.98e9)),
                                    ("cgroup.cpu_limit", 0, gauge(1.0)),
                                    ("cgroup.periods", 0, total(10)),
                                    ("cgroup.throttled_periods", 0, total(0))],
                                   "cpu-oversubscribed", 0.3),
    "own threads on a part of the cores": ([("thread.wait", LOOP_THREAD, total(0.3e9)),
                                            ("tree.threads", 0, gauge(24)), ("tree.cpu", 0, total(0.98e9)),
                                            ("cpu.allowed", 0, gauge(1)),
                                            ("cpu.allowed_busy", 0, total(0.99e9))],
                                           "cpu-oversubscribed", 0.3),
    "idle GPU": ([OWN_GPU, ("gpu.busy", 0, gauge(0.2, 0.4))], "gpu-idle", 0.7),
    "idle GPU of no program": ([("gpu.busy", 0, gauge(0))], None, None),
    "idle GPU beside": ([OWN_GPU, ("gpu.busy", 0, gauge(0.9)), ("gpu.busy", 1, gauge(0))], None, None),
    "busy GPU": ([OWN_GPU, ("gpu.busy", 0, gauge(0.9))], None, None),
    "full GPU": ([OWN_GPU, ("gpu.busy", 0, gauge(0.9)), ("gpu.memory_used", 0, gauge(20 * GB, 23.9 * GB)),
                  ("gpu.memory_total", 0, gauge(24 * GB))], "gpu-memory-full", None),
    "hot GPU": ([OWN_GPU, *SLOW_GPU, ("gpu.held_heat", 0, gauge(0, 1, 1, 1)),
                 ("gpu.held_power", 0, gauge(0, 0, 0, 1))], "gpu-clocks-held", 1 / 3),
    "GPU that was hot once": ([OWN_GPU, *SLOW_GPU, ("gpu.held_heat", 0, gauge(1, *[0] * 29))],
                              None, None),
    "idle GPU of a container": ([("gpu.process_memory", 0, gauge(GB)), ("gpu.busy", 0, gauge(0.2))],
                                "gpu-idle", 0.8),
    "one of ours, and one of the host": ([OWN_GPU, ("gpu.busy", 0, gauge(0.9)),
                                          ("gpu.process_memory", 1 << 32, gauge(GB)),
                                          ("gpu.busy", 1, gauge(0))], None, None),
}


def samples(lines, seconds=SECONDS, per_s=PER_S, notes=(), **header):
    """The supervisor's file: ten samples per second, for that long; None is a value that was not seen.
    Notes are infos."""
    texts = sorted({text for text, _, _ in lines})
    lane = runs.Thread(tid=9)
    lane.records = []
    for i in range(int(seconds * per_s) + 1):
        for text, subject, value in lines:
            if value(i / per_s) is not None:
                lane.records.append(system(int(START + i * 1000 * MS / per_s), value(i / per_s), subject,
                                           name=texts.index(text) + 1))
    made = runs.ProcessFile(pid=9, start_raw_ns=START, ticks_per_s=1_000_000_000,
                            start_realtime_ns=runs.REALTIME, end_ticks=START + seconds * 1000 * MS,
                            **header)
    made.poke(33, "B", 1)
    made.block(0, *(name(i, text.encode()) for i, text in enumerate(texts, 1)), *notes)
    runs.add_thread(made, 1, lane)
    return made


class Scripted(ReportTest):
    def machine(self, key):
        lines = MACHINES[key][0]
        changed = {(text, subject) for text, subject, _ in lines}
        return lines + [line for line in CORES + QUIET if line[:2] not in changed]

    def judge(self, run):
        return json.loads(self.check(["report", "--json", run], FINE).stdout)

    def test_each_machine(self):
        for number, (key, (_, wanted, share)) in enumerate(MACHINES.items()):
            with self.subTest(machine=key):
                run = self.make_run("run-%d" % number, p=train(), s=samples(self.machine(key)))
                report = self.judge(run)
                found = [f for f in report["findings"] if f["severity"] != "info"]
                self.assertEqual([f["id"] for f in found], [wanted] if wanted else [],
                                 report["findings"])
                if wanted:
                    self.assertTrue(found[0]["claim"] and found[0]["advice"], found)
                if share:
                    self.assertAlmostEqual(found[0]["share"], share, delta=0.02)
                if key == "hot GPU":
                    self.assertIn("held by heat 75 %, power cap 25 % of the time", found[0]["evidence"])
                self.report(run=run)
                if key == "leak":  # which is no part of the time
                    self.check(["report", "--fail-on", "memory-leak:99%", run], 1)

    def test_a_disturbance_leads_only_if_it_explains_most(self):
        """Else it is a word of caution: computing is what a step is, or a cause in the script."""
        running = ("thread.state", LOOP_THREAD, gauge(0))
        cases = (({}, "cpu.steal", 0, 0.1e9, "compute-bound"),
                 ({}, "thread.wait", LOOP_THREAD, 0.06e9, "compute-bound"),
                 ({}, "thread.wait", LOOP_THREAD, 0.3e9, "preempted"),
                 ({"data": 40 * MS}, "thread.wait", LOOP_THREAD, 0.3e9, "input-bound"),
                 ({"data": 5 * MS}, "thread.wait", LOOP_THREAD, 0.3e9, "preempted"))
        for number, (how, counter, subject, a_second, wanted) in enumerate(cases):
            with self.subTest(how=how, counter=counter, a_second=a_second):
                lines = [line for line in CORES + QUIET if line[:2] != (counter, subject)]
                lines += [(counter, subject, total(a_second)), running]
                run = self.make_run("leads-%d" % number, p=train(**how), s=samples(lines))
                report = self.judge(run)
                self.assertEqual(report["verdict"], wanted, report["findings"])
                ids = [found["id"] for found in report["findings"]]
                self.assertIn("steal" if counter == "cpu.steal" else "preempted", ids)
                self.assertRegex(self.report(run=run), "\nDisturbed|\nMinor")

    def test_what_is_not_counted_is_neither_found_nor_ruled_out(self):
        report = self.judge(self.make_run(p=train(), s=samples(CORES)))
        self.assertEqual([f["id"] for f in report["findings"] if f["severity"] != "info"], [])
        for cause in ("steal", "swap", "preempted", "clock-drop", "page-faults", "gpu-idle",
                      "cgroup-throttled"):
            self.assertIn(cause, report["unobservable"])

    def test_what_another_machine_did_is_not_held_against_the_loop(self):
        """Ranks of a cluster record into one directory; each machine has its own clock."""
        swaps = samples(self.machine("swap"), boot_id=b"o" * 16)
        report = self.judge(self.make_run(p=train(), s=swaps))
        self.assertIsNone(report["resources"])
        self.assertNotIn("swap", [f["id"] for f in report["findings"]])
        own = samples(self.machine("steal"))
        for number, files in enumerate(({"s": swaps, "t": own}, {"s": own, "t": swaps})):
            report = self.judge(self.make_run("both-%d" % number, p=train(), **files))
            found = [f["id"] for f in report["findings"] if f["severity"] != "info"]
            self.assertEqual(found, ["steal"])

    def test_a_machine_of_which_the_boot_is_not_known_gives_way(self):
        """As in runs of older versions: it may be the loop's, but another one is that for sure."""
        unknown = samples(self.machine("swap"), boot_id=b"\0" * 16)
        own = samples(self.machine("steal"))
        for number, files in enumerate(({"s": unknown, "t": own}, {"s": own, "t": unknown})):
            report = self.judge(self.make_run("old-%d" % number, p=train(), **files))
            found = [f["id"] for f in report["findings"] if f["severity"] != "info"]
            self.assertEqual(found, ["steal"])
        report = self.judge(self.make_run("alone", p=train(), s=unknown))
        self.assertIn("swap", [f["id"] for f in report["findings"]])

    def test_samples_that_another_machine_lost_are_not_missed_here(self):
        own, other = samples(self.machine("quiet")), samples(self.machine("quiet"), boot_id=b"o" * 16)
        for made, level in ((other, "ok"), (own, "note")):
            made.poke(made.block_offset(1) + 128, "Q", 7)
            report = self.judge(self.make_run("lost-" + level, p=train(), s=own, t=other))
            watched, = (i for i in report["validity"]["items"] if i["id"] == "watched")
            self.assertEqual(watched["level"], level)

    def test_a_device_that_is_waited_for(self):
        """To wait for it, or for anything while it works, is a loss only where it has nothing to do at
        other times."""
        idle, busy = gauge(0.3), gauge(0.9)
        for number, (cause, gpu, wanted) in enumerate((
                ("sync-bound", idle, {"sync-bound", "gpu-idle"}), ("sync-bound", busy, set()),
                ("sync-bound", None, set()), (None, busy, set()),
                ("transfer-bound", idle, {"transfer-bound", "gpu-idle"}),
                ("transfer-bound", busy, set()), ("transfer-bound", None, {"transfer-bound"}),
                ("input-bound", idle, {"input-bound", "gpu-idle"}), ("input-bound", busy, set()),
                ("input-bound", None, {"input-bound"}))):
            with self.subTest(cause=cause, number=number):
                gpus = [OWN_GPU, ("gpu.busy", 0, gpu)] if gpu else []
                waits = [20 * MS * (cause == one)
                         for one in ("sync-bound", "transfer-bound", "input-bound")]
                run = self.make_run("device-%d" % number, p=train_on_device(*waits),
                                    s=samples(CORES + QUIET + gpus))
                findings = {f["id"]: f for f in self.judge(run)["findings"]}
                self.assertEqual({name for name, f in findings.items() if f["severity"] != "info"},
                                 wanted, findings)
                if cause:
                    self.assertEqual(findings[cause]["share_kind"], "bound")
                    true = 20 / (44.7 if cause == "input-bound" else 45.6)
                    is_hidden = gpu is busy and cause != "sync-bound"
                    self.assertAlmostEqual(findings[cause]["share"], 0.1 if is_hidden else true,
                                           delta=0.015)

    def test_the_device_of_others_hides_nothing(self):
        lines = CORES + QUIET + [("gpu.process_memory", 1 << 32 | PID, gauge(GB)),
                                 ("gpu.busy", 0, gauge(0.95)), ("gpu.busy", 1, gauge(0.4))]
        report = self.judge(self.make_run(p=train_on_device(0, 8 * MS, 20 * MS), s=samples(lines)))
        bounds = [f["id"] for f in report["findings"] if f["id"].endswith("-bound")]
        self.assertEqual(bounds, ["input-bound", "transfer-bound"], report["findings"])
        report = self.judge(self.make_run("other", p=train_on_device(0, 20 * MS, 8 * MS),
                                          s=samples(lines)))
        bounds = [f["id"] for f in report["findings"] if f["id"].endswith("-bound")]
        self.assertEqual(bounds, ["transfer-bound", "input-bound"], report["findings"])


class Rows(ReportTest):
    def test_what_is_known_of_a_gpu_is_shown(self):
        gpu = [OWN_GPU, *SLOW_GPU, ("gpu.memory_busy", 0, gauge(0.35)), ("gpu.memory_clock", 0, gauge(1.6e9)),
               ("gpu.received", 0, gauge(300 << 20)), ("gpu.sent", 0, gauge(20 << 20)),
               ("gpu.held_power", 0, gauge(0, 1)), ("gpu.held_heat", 0, gauge(0))]
        text = self.report(run=self.make_run(p=train(), s=samples(CORES + QUIET + gpu)))
        for label, value in (("memory busy, %", "35.0"), ("memory clock, GHz", "1.60"),
                             ("PCIe in, MB/s", "300"), ("PCIe out, MB/s", "20.0")):
            self.assertRegex(text, rf"(?m)^ *GPU 0 {label} .* {value} +{value}$")
        self.assertRegex(text, r"(?m)^Held +the clock of GPU 0 by power cap 50 % of the time$")


    def test_whether_the_loop_thread_ran_is_said_by_stage(self):
        """Half of the time it did, in whatever stage it was."""
        thread = [("thread.cpu", LOOP_THREAD, total(0.5e9)), ("thread.state", LOOP_THREAD, gauge(0, 1))]
        text = self.report(run=self.make_run(p=train(), s=samples(CORES + QUIET + thread)))
        said = " ".join(re.search(r"(?m)^Busy +(.*(?:\n {10}.*)*)", text)[1].split())
        self.assertRegex(said, "^the loop thread was running, or ready to run, in .*of the time; otherwise it waited$")
        shares = dict(re.findall(r"(\w+) (\d+) %", said))
        for stage in ("forward", "backward"):
            self.assertAlmostEqual(int(shares[stage]), 50, delta=10)


class Stamp(ReportTest):
    """The line of the summary that says whether times can be trusted."""

    ALONE = [line for line in CORES if line[0] != "tree.cpu"] + [("tree.cpu", 0, total(1.49e9))]
    ALL_SEEN = ALONE + QUIET + [("cpu.frequency", 1, gauge(3e9)), ("cgroup.cpu_limit", 0, gauge(0)),
                                ("psi.memory.some", 0, total(0)), ("psi.io.full", 0, total(0))]

    @staticmethod
    def measured():
        """Training of which it is known what a span costs: 31 ns."""
        made = train()
        made.poke(36, "I", 31000)
        return made

    def line(self, run):
        view = os.path.join(os.path.dirname(PROGRAM), "report_view")
        text = subprocess.run([view, "summary", run], cwd=self.folder, env=ENVIRONMENT, check=True,
                              stdout=subprocess.PIPE, encoding="utf-8").stdout
        self.check_lines(text)
        self.assertLessEqual(len(text.splitlines()), 15, text)
        return " ".join(re.findall(r"^(?:valid|caution) +(.*(?:\n {8}.*)*)", text, re.M)[0].split())

    def item(self, key, process, *lines):
        """Of the stamp: level and value."""
        changed = {text for text, _, _ in lines}
        kept = [line for line in self.ALL_SEEN if line[0] not in changed]
        run = self.make_run("run-%d" % len(os.listdir(self.folder)), p=process,
                            s=samples(kept + list(lines)))
        report = json.loads(self.check(["report", "--json", run], FINE).stdout)
        found, = (item for item in report["validity"]["items"] if item["id"] == key)
        others = {item["level"] for item in report["validity"]["items"] if item is not found}
        self.assertEqual(others, {"ok"}, report["validity"])
        return found["level"], found["value"]

    def judged(self, run):
        return json.loads(self.check(["report", "--json", run], FINE).stdout)["validity"]

    def poked(self, offset, form, value):
        made = self.measured()
        made.poke(offset, form, value)
        return made

    def test_pressure(self):
        for key, counter, note, warn in (("memory", "psi.memory.some", 5e6, 20e6),
                                         ("io", "psi.io.full", 10e6, 30e6)):
            for level, per_s in (("ok", 0), ("note", note), ("warn", warn)):
                found = self.item(key, self.measured(), (counter, 0, total(per_s)))
                self.assertEqual((found[0], round(found[1], 4)), (level, per_s / 1e9))

    def test_records_that_found_no_room(self):
        made = self.measured()
        made.poke(made.block_offset(1) + 128, "Q", 7)
        self.assertEqual(self.item("dropped", made), ("warn", 7))

    def test_what_recording_cost(self):
        """4 spans in a step of 49.6 ms, twice as much as they cost at the start."""
        for level, span_us in (("ok", 10), ("note", 25), ("warn", 40)):
            found = self.item("cost", self.poked(36, "I", span_us * 1_000_000))
            self.assertEqual(found[0], level)
            self.assertAlmostEqual(found[1], 4 * span_us * 2 / 49600, delta=1e-5)
        for level, helper_s in (("ok", 0.05), ("note", 0.2), ("warn", 0.6)):  # of 12 s
            self.assertEqual(self.item("cost", self.poked(352, "Q", int(helper_s * 1e9)))[0], level)

    def test_steps_that_another_profiler_had(self):
        for level, perturbed in (("ok", 2), ("note", 6), ("warn", 30)):
            made = train(perturbed)
            made.poke(36, "I", 31000)
            self.assertEqual(self.item("perturbed", made), (level, perturbed / 240))

    def test_a_machine_that_was_not_watched_to_the_end(self):
        levels = {}
        for seconds in (6, SECONDS):
            run = self.make_run("watched-%d" % seconds, p=self.measured(), s=samples(self.ALL_SEEN, seconds))
            items = self.judged(run)["items"]
            watched, = (item for item in items if item["id"] == "watched")
            levels[seconds] = watched["level"]
            self.assertAlmostEqual(watched["value"], min(1, seconds / SECONDS), delta=0.02)
        self.assertEqual(levels, {6: "warn", SECONDS: "ok"})

    def test_samples_that_found_no_room(self):
        made = samples(self.ALL_SEEN)
        made.poke(made.block_offset(1) + 128, "Q", 7)
        items = {item["id"]: item for item in self.judged(self.make_run(p=self.measured(), s=made))["items"]}
        self.assertEqual((items["watched"]["level"], items["watched"]["value"]), ("note", 7))
        self.assertEqual(items["dropped"]["level"], "ok")

    def test_a_clock_that_jumped(self):
        """By 3 ms, before the first step."""
        before = [START + MS * tenth // 10 for tenth in (2, 4, 6)]
        made = train(clock=1, control=[calibration(at, at + 3 * MS) for at in before])
        made.poke(36, "I", 31000)
        self.assertEqual(self.item("clock", made)[0], "warn")

    def test_nothing_disturbed_it(self):
        run = self.make_run(p=self.measured(), s=samples(self.ALL_SEEN))
        self.assertEqual(self.line(run), "no interference detected")

    def test_what_was_not_seen_is_not_ruled_out(self):
        in_a_vm = [line for line in self.ALL_SEEN if line[0] not in ("cpu.frequency", "cpu.throttles")]
        run = self.make_run("vm", p=self.measured(), s=samples(in_a_vm))
        self.assertEqual(self.line(run), "no interference detected (not measurable here: "
                                         "frequency, heat)")
        run = self.make_run("blind", p=self.measured(), s=samples(self.ALONE))
        self.assertEqual(self.line(run), "no interference detected (not measurable here: "
                                         "frequency, heat, cgroup, 5 more)")

    def test_without_a_supervisor(self):
        run = self.make_run(p=self.measured())
        report = json.loads(self.check(["report", "--json", run], FINE).stdout)
        levels = {item["id"]: item["level"] for item in report["validity"]["items"]}
        self.assertEqual({key for key, level in levels.items() if level != "unseen"},
                         {"clock", "dropped", "cost", "perturbed"})
        self.assertEqual(report["validity"]["level"], "ok")
        self.assertNotIn("Interference", self.report(run=run))


class Pretended(ReportTest):
    IDLE = ("count.0 1\nutilization.0 12\nmemory.0 %d\nmemory_used.0 %d\n"
            "clock.0 1400\nclock_most.0 1410\nheld.0 1\n" % (24 * GB, GB))
    CONTAINER = ("unshare", "-pf", "--mount-proc")
    NOBODY_HERE = "pid.0 3999999\nusers.0 1000000\n"
    TRAIN = 'exec "$0" demo --plain --steps 600'

    def train(self, script, command, *before, **variables):
        """The report on a training beside GPUs that answer so."""
        with open(self.path("script"), "w", encoding="ascii") as file:
            file.write(script)
        library = os.path.join(os.path.dirname(PROGRAM), "fake_nvml.so")
        env = {**os.environ, "STEPSCOPE_NVML": library, "FAKE_NVML": self.path("script"), **variables}
        subprocess.run([*before, PROGRAM, "run", "--quiet", "--dir", "runs", "--", "sh", "-c", command,
                        PROGRAM], cwd=self.folder, env=env, check=True, timeout=300,
                       stdout=subprocess.DEVNULL)
        return json.loads(self.check(["report", "--json", "runs/latest"], FINE).stdout)

    def train_in_container(self, script, **variables):
        if subprocess.run([*self.CONTAINER, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no namespace can be made here")
        report = self.train(script, self.TRAIN, *self.CONTAINER, **variables)
        return {f["id"]: f for f in report["findings"]}, report["unobservable_reasons"]

    def test_a_gpu_that_has_nothing_to_do(self):
        report = self.train(self.IDLE, 'printf "pid.0 %d\\nusers.0 1000000\\n" $$ >>"$FAKE_NVML"; ' +
                            self.TRAIN)
        idle = next(f for f in report["findings"] if f["id"] == "gpu-idle")
        self.assertEqual(idle["severity"], "high")
        self.assertAlmostEqual(idle["share"], 0.88, delta=0.01)
        self.assertNotIn("could not be matched", idle["evidence"])
        self.assertNotIn("gpu-clocks-held", [f["id"] for f in report["findings"]])

    def test_in_a_container_its_processes_cannot_be_matched(self):
        found, _ = self.train_in_container(self.IDLE + self.NOBODY_HERE)
        self.assertEqual(found["gpu-idle"]["severity"], "high")
        self.assertIn("could not be matched", found["gpu-idle"]["evidence"])

    def test_in_a_container_with_a_gpu_that_the_run_does_not_see(self):
        found, _ = self.train_in_container(self.IDLE + self.NOBODY_HERE, CUDA_VISIBLE_DEVICES="1,2")
        self.assertNotIn("gpu-idle", found)

    def test_a_driver_that_tells_no_processes_in_a_container(self):
        found, reasons = self.train_in_container(self.IDLE)
        self.assertNotIn("gpu-idle", found)
        self.assertIn("does not report which processes", json.dumps(reasons))

    def test_a_gpu_of_somebody_else(self):
        report = self.train(self.IDLE + self.NOBODY_HERE, self.TRAIN)
        self.assertNotIn("gpu-idle", [f["id"] for f in report["findings"]])
        self.assertIn("no process of the run uses a GPU", json.dumps(report["unobservable_reasons"]))


if __name__ == "__main__":
    unittest.main()
