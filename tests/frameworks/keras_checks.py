"""What the tests of Keras and TensorFlow share."""

import json
import os
import statistics
from concurrent.futures import ThreadPoolExecutor

from framework import BUILD, PROGRAM, FrameworkTest

# Steps of the loops of "fitted_two": both models fitted, one step for both, each one by itself after
# one more fit.
TWO = [10, 10, 10, 10, 20, 10, 20]


class KerasTest(FrameworkTest):
    def steps(self):
        """The steps of each loop, loops in the order of time."""
        lines = self.execute([PROGRAM, "report", "--json", "--steps", self.runs + "/latest"]).stdout
        loops = {}
        for line in lines.splitlines():
            step = json.loads(line)
            loops.setdefault(step["loop"], []).append(step)
        return sorted(loops.values(), key=lambda steps: steps[0]["start_ns"])

    def durations(self):
        """Of all spans: {"Class.method": [nanoseconds]}, in the order of time."""
        found = {}
        for record in self.records():
            if record["kind"] == "span":
                name = ".".join(filter(None, (record.get("object"), record["name"])))
                found.setdefault(name, []).append(record["end_ns"] - record["start_ns"])
        return found

    def both(self, script, *arguments, **more):
        """Runs a script with us and without us, at the same time."""
        with ThreadPoolExecutor(1) as other:
            plain = other.submit(self.plain, script, *arguments, **more)
            return self.hooked(script, *arguments, **more), plain.result()

    def compare(self, script, *arguments, **environment):
        """Runs a script without us and with us: it must print the same. The report."""
        hooked, plain = self.both(script, *arguments, **environment)
        self.assertEqual(hooked.stdout, plain.stdout)
        report = self.report()
        self.assertEqual([hook for hook in report["hooks"] if hook["reason"]], [])
        for loop in report["loops"]:
            self.assertEqual(loop["negative_ns"], 0)
        return report

    def run_many(self, script, *arguments):
        """Runs a script that makes runs of its own in the folder that is its first argument: what
        it prints, and their reports by name."""
        folder = os.path.join(self.folder, "many")
        said = self.plain(script, folder, *arguments,
                          PYTHONPATH=os.path.join(BUILD, "python")).stdout
        found = {}
        for run in os.listdir(folder):
            if run[0].isdigit():
                report = json.loads(self.execute(
                    [PROGRAM, "report", "--json", os.path.join(folder, run)]).stdout)
                found[run.split("-", 2)[2]] = report  # after date and time
        return said, found

    def compare_many(self, script, *arguments):
        """The same; without the folder it must print the same."""
        with ThreadPoolExecutor(1) as other:
            plain = other.submit(self.plain, script, "", *arguments)
            said, found = self.run_many(script, *arguments)
            self.assertEqual(said, plain.result().stdout)
        return found

    def text(self):
        """The report for people."""
        return self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout


def loops_of(report):
    """In the order of time."""
    return sorted(report["loops"], key=lambda loop: loop["start_ns"])


def names_of(report):
    """The spans by "Class.method"."""
    return {".".join(filter(None, (span["object"], span["name"]))): span
            for span in report["spans"]}


def middle(values):
    return statistics.median(values)
