#!/usr/bin/python3
"""Compares the C reader with decoder.py: both must read every run the same way.

The tool comes from STEPSCOPE_BIN (default build/release/stepscope), a program that
records into the directory given as its argument from STEPSCOPE_RECORD_PROGRAM (default
build/release/example_loop). SOAK=1 tries many more damaged runs. The first runs that the
two read differently are kept, and the failure says where.
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import zlib
from itertools import islice, zip_longest

import decoder
import make_runs
from builder import RUNS, START, ProcessFile, open_span, step, this_process
from mutations import Mutator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = os.path.join(ROOT, "build", "release")
TOOL = os.environ.get("STEPSCOPE_BIN", os.path.join(RELEASE, "stepscope"))
GOLDEN = os.path.join(ROOT, "tests", "data", "golden")
SOAK = os.environ.get("SOAK") == "1"
MUTANTS = 2000 if SOAK else 80
BATCH = 16
KEPT_RUNS = 3
ENDLESS = str(10**9)  # steps, the second argument of the program that records

# Made runs that are small and have something of everything: copies of them are damaged.
MUTATED = ["every_kind", "several_lanes", "the_same_place_twice",
           "clock_with_calibrations", "clock_with_an_odd_beat",
           "open_spans_in_every_lane", "open_span_just_being_closed", "appended_spans",
           "texts", "cut_at_65952",
           "horizon_after_the_whole_beat", "names_missing_and_repeated"]


def record_program():
    """The program that makes fresh runs, None if there is none."""
    program = os.environ.get("STEPSCOPE_RECORD_PROGRAM")
    if program is None:
        program = os.path.join(RELEASE, "example_loop")
    return program if os.access(program, os.X_OK) else None


def missing(what):
    """Ends a test that lacks something: in CI it fails, elsewhere it is skipped."""
    if os.environ.get("CI") == "true":
        raise AssertionError(what)
    raise unittest.SkipTest(what)


class Comparison(unittest.TestCase):
    """Reads runs both ways; whatever differs is noted, and fails the test at its end."""

    def setUp(self):
        if not os.access(TOOL, os.X_OK):
            missing(f"no tool at {TOOL}: build it, or set STEPSCOPE_BIN")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.differences = []

    def tearDown(self):
        if self.differences:
            text = "\n\n".join(self.differences[:KEPT_RUNS])
            self.fail(f"{len(self.differences)} runs are read differently\n{text}")

    def tool(self, command, run):
        process = subprocess.run([TOOL, command, run, "--json"], capture_output=True,
                                 timeout=60)
        self.assertGreaterEqual(process.returncode, 0, f"{command} died on {run}")
        self.assertNotIn(b"Sanitizer", process.stderr)
        return process.stdout

    def compare(self, run, what):
        """Notes how the two differ on a run; `what` says which one it is."""
        difference = self.difference(run)
        if difference is not None:
            self.note(run, what, *difference)

    def difference(self, run):
        """Where the two read a run differently, and what each has there, or None."""
        decoded = decoder.Run.open(run)
        theirs = [json.loads(line) for line in self.tool("dump", run).splitlines()]
        both = zip_longest(decoder.json_lines(decoded), theirs)
        for number, (our, their) in enumerate(both, start=1):
            if our != their:
                return f"line {number}", our, their
        info = self.tool("info", run)
        if not info:
            # The tool refuses a run without any process file.
            return ("info", "a process", "none") if decoded.processes else None
        ours = sorted(decoder.json_losses(decoded), key=json.dumps)
        theirs = sorted(json.loads(info)["lost"]["unread"], key=json.dumps)
        return ("losses", ours, theirs) if ours != theirs else None

    def note(self, run, what, where, ours, theirs):
        kept = ""
        if len(self.differences) < KEPT_RUNS:
            kept = tempfile.mkdtemp(prefix="stepscope-differs-")
            shutil.copytree(run, kept, dirs_exist_ok=True)
        self.differences.append(f"{what}, {where} (kept in {kept})\n"
                                f"  decoder: {json.dumps(ours, sort_keys=True)}\n"
                                f"  tool:    {json.dumps(theirs, sort_keys=True)}")

    def compare_mutants(self, data, count, what):
        """Compares damaged copies of a file, a batch at a time as one run."""
        mutator = Mutator(data, seed=zlib.crc32(what.encode()))
        mutants = enumerate(mutator.mutants(count))
        while batch := {f"{i:06}.ssp": mutant for i, mutant in islice(mutants, BATCH)}:
            run = os.path.join(self.directory, "batch")
            make_runs.write_run(batch, run)
            if self.difference(run) is not None:
                self.compare_one_by_one(run, batch, what)
            shutil.rmtree(run)

    def compare_one_by_one(self, run, batch, what):
        """Finds the files for which a batch is read differently."""
        known = len(self.differences)
        for file, mutant in batch.items():
            alone = os.path.join(run, "alone")
            make_runs.write_run({file: mutant}, alone)
            self.compare(alone, f"mutant {file} of {what}")
            shutil.rmtree(alone)
        if len(self.differences) == known:
            self.compare(run, f"mutants {min(batch)} to {max(batch)} of {what}, together")


class AgreementTest(Comparison):
    def record(self, run, *arguments):
        program = record_program()
        if program is None:
            missing("no program that records: set STEPSCOPE_RECORD_PROGRAM")
        os.makedirs(run)
        return subprocess.Popen([program, run, *arguments], stdout=subprocess.DEVNULL)

    def test_made_runs(self):
        make_runs.write_all(self.directory)
        for name in RUNS:
            self.compare(os.path.join(self.directory, name), name)

    def test_damaged_made_runs(self):
        for name in MUTATED:
            data = make_runs.files_of(RUNS[name])[make_runs.FILE]
            self.compare_mutants(data, MUTANTS, name)

    def test_golden_runs(self):
        runs = sorted(glob.glob(os.path.join(GOLDEN, "*", "")))
        if not runs:
            self.skipTest(f"no golden runs in {GOLDEN}")
        for run in runs:
            self.compare(run, run)

    def test_damaged_golden_runs(self):
        for path in sorted(glob.glob(os.path.join(GOLDEN, "*", "*.ssp"))):
            with open(path, "rb") as file:
                data = file.read(4 * 65536)
            self.compare_mutants(data, MUTANTS // 2, os.path.relpath(path, GOLDEN))

    def test_fresh_run(self):
        run = os.path.join(self.directory, "run")
        self.assertEqual(self.record(run).wait(120), 0)
        paths = decoder.run_files(run)
        self.assertTrue(paths, "nothing was recorded")
        self.compare(run, "fresh run")
        decoded = decoder.Run.open(run)
        self.assertEqual(decoded.losses, [])
        self.assertFalse([line for line in decoder.json_lines(decoded)
                          if line.get("name", "").startswith("(name ")])
        with open(paths[0], "rb") as file:
            self.compare_mutants(file.read(4 * 65536), MUTANTS // 2, "fresh run")

    def test_process_that_lives_and_others_that_only_seem_to(self):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        second = 10**9
        living = {**this_process(), "clock": 1, "start_raw_ns": now - 100 * second,
                  "beats": 1, "beat1_ticks": START + 500, "beat1_ns": now}
        killed = [{"boot_id": bytes(16)}, {"process_start": 1}, {"pid": 2**32 - 1},
                  {"beat1_ns": now - 60 * second}, {"beats": 2, "beat0_ns": 0},
                  {"beats": 0}, {"state": 2}, {"state": 3}]
        also_living = [{}, {"beats": 2, "beat0_ticks": START + 500, "beat0_ns": now},
                       {"beats": 0, "start_raw_ns": now - second}]
        for lines, changes in ((1, also_living), (2, killed)):
            for change in changes:
                process = ProcessFile(**{**living, **change})
                process.block(1, step(START + 1), spans=[open_span(START)])
                run = os.path.join(self.directory, "run")
                make_runs.write_run({make_runs.FILE: process.bytes()}, run)
                self.compare(run, f"living process but for {change}")
                self.assertEqual(len(self.tool("dump", run).splitlines()), lines, change)

    def test_killed_runs(self):
        """Runs whose process was killed when its file had grown to some segments."""
        for segments in (1, 33, 49):
            run = os.path.join(self.directory, f"killed-{segments}")
            process = self.record(run, ENDLESS)
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                if any(os.path.getsize(path) >= segments * 65536
                       for path in decoder.run_files(run)):
                    break
            process.kill()
            self.assertEqual(process.wait(), -signal.SIGKILL, "it ended by itself")
            self.compare(run, f"run killed at {segments} segments")


if __name__ == "__main__":
    unittest.main()
