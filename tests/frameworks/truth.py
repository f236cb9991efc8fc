"""Compares what was found with what a script timed itself, inside the same calls: whatever else the
machine does during that time is in both. Where it happens between the two clocks it is not, so that the quarter
of steps or calls that agrees best has to agree; a hook that is wrong is wrong in all of them."""

import json
import statistics

from framework import PROGRAM, FrameworkTest

PART = 0.02
MOST_NS = 100e3
# Calls of a step that a stage is made of, if more than one: each has two clocks, with something between
# them. `optimizer`: zero_grad and step; in `other` are the edges of all the other stages.
CALLS = {"optimizer": 2, "other": 2}


def best_quarter(values):
    """What the least disturbed ones are, of values that a disturbance can only make larger."""
    values = list(values)
    return statistics.quantiles(values, n=4)[0] if len(values) > 3 else min(values)


class TruthTest(FrameworkTest):
    def steps(self):
        """Each step of the run, in order of time."""
        printed = self.execute([PROGRAM, "report", "--steps", "--json", self.runs + "/latest"]).stdout
        steps = [json.loads(line) for line in printed.splitlines()]
        return sorted(steps, key=lambda step: step["start_ns"])

    def calls(self):
        """ns of each call by name ("Adam.step"), in order of time. The second object of a class has
        the name of the first."""
        names, calls = {}, {}
        for record in self.records():
            if record["kind"] == "name":
                of = record["object"].partition("#")[0]
                label = ".".join(filter(None, (of, record["text"])))
                names[record["process"], record["id"]] = label
            elif record["kind"] == "span":
                label = names[record["process"], record["name_id"]]
                calls.setdefault(label, []).append((record["start_ns"], record["end_ns"]))
        return {name: [end - start for start, end in sorted(times)]
                for name, times in calls.items()}

    def assert_times(self, found_ns, true_s, text, most_ns=MOST_NS):
        self.assertEqual(len(found_ns), len(true_s), text)
        missed = [abs(found - 1e9 * true) for found, true in zip(found_ns, true_s)]
        most = max(PART * 1e9 * statistics.median(true_s), most_ns)
        self.assertLessEqual(best_quarter(missed), most, (text, statistics.median(true_s)))

    def assert_steps(self, found, true, stages, text=""):
        for stage in stages:
            self.assert_times([step["stages_ns"].get(stage, 0) for step in found],
                              [step.get(stage, 0) for step in true], (text, stage),
                              MOST_NS * CALLS.get(stage, 1))

    def assert_calls(self, true):
        """Each call once, and as long as the script says; by the names that the report has."""
        found = self.calls()
        for name, times in true.items():
            self.assert_times(found.get(name, []), times, name)

    def assert_sums(self, found_ns, true_s, times, text):
        """Each of what was done this many times."""
        self.assertEqual(len(found_ns), len(true_s), text)
        missed = [abs(found - 1e9 * true) / max(PART * 1e9 * true, MOST_NS * times)
                  for found, true in zip(found_ns, true_s)]
        self.assertLessEqual(best_quarter(missed), 1, (text, found_ns, true_s))

    def assert_hot(self, report, stage, function):
        """A line of this function has most samples of a stage."""
        lines = [line for line in report["hot"]["lines"] if line["stage"] == stage]
        most = max(lines, key=lambda line: line["count"], default={"function": None})
        self.assertEqual(most["function"], function, lines)
