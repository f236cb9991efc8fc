"""What the tests of exports share: runs of known content, and what the tool itself says about them."""

import csv
import io
import json
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "report"))

import report_runs  # noqa: E402 (tests/report/report_runs.py; finds tests/cli)
from support import FINE, CommandTest, stepscope  # noqa: E402

STAGES = ("other data transfer forward backward optimizer compute comm sync callback compile setup "
          "gc").split()


def has_perfetto():
    return "perfetto" in stepscope("export", "?", "x", "y").stderr


def jit_calls(synced=10, calls=95):
    """Calls of a jitted function, with a sync every `synced` calls: windows of that many steps. Two of
    them are disturbed, and no reader waits for the last ones."""
    names = ((1, b"train", b"", report_runs.COMPUTE, 3, 0), (2, b"float", b"", report_runs.SYNC, 0, 0))
    thread = report_runs.Thread()
    for i in range(calls):
        flags = report_runs.TRAIN | (16 if i in (33, 71) else 0)  # perturbed
        thread.span(1, 100_000 + 7 * i, flags)
        if i % synced == synced - 1:
            thread.span(2, 900_000 + 11 * i)
        thread.wait(10_000)
    return report_runs.process(thread, names=names)


def raised(announced=True):
    """A trainer's loop whose first updates turn out to be none: then step marks come."""
    thread = report_runs.Thread()
    if announced:
        thread.loop(True)
    for _ in range(7):
        thread.span(1, 1_000_000)
        thread.span(4, 2_000_000)
    for _ in range(30):
        report_runs.one_step(thread)
    if announced:
        thread.loop(False)
    return report_runs.process(thread)


class ExportTest(CommandTest):
    def runs(self):
        """Runs by name, of every kind that a report has to cope with."""
        made = {"healthy": report_runs.healthy(), "full": report_runs.full(),
                "two_models": report_runs.two_models(), "too_few": report_runs.too_few(),
                "untrained": report_runs.untrained(), "killed": report_runs.killed(),
                "damaged": report_runs.damaged(), "drift": report_runs.changing("drift"),
                "overlapping": report_runs.overlapping(), "extremes": report_runs.extremes(),
                "hostile": report_runs.hostile(), "jit": jit_calls(), "raised": raised(),
                "never_synced": jit_calls(synced=1000), "raised_alone": raised(False)}
        for name, file in made.items():
            yield self.make_run(name, p=file)
        yield self.make_run("ranks", p=report_runs.rank(0), q=report_runs.rank(1))

    def report(self, run):
        return json.loads(self.check(["report", "--json", run], FINE).stdout)

    def dump(self, run):
        return [json.loads(line)
                for line in self.check(["dump", "--json", run], FINE).stdout.splitlines()]

    def export(self, kind, run, out="-", *options, **more):
        return self.check(["export", kind, run, out, *options], FINE, **more).stdout

    def table(self, kind, run):
        """The rows of an export as CSV, and what stands in front of them."""
        rows = list(csv.reader(io.StringIO(self.export(kind, run), newline=""), strict=True))
        for row in rows:
            self.assertEqual(len(row), len(rows[0]), row)
        return [dict(zip(rows[0], row)) for row in rows[1:]]
