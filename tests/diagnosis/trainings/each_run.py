"""Trains several times, each as a run of its own in a folder: each_run.py TRAINER FOLDER CASES

CASES is a file of JSON, a list: name, kind, steps and faults (sizes by name). Frameworks are
imported once, which takes longer than most trainings do. What each case really did is written to
FOLDER/NAME.truth.json."""

import importlib
import json
import os
import sys

from inside_faults import NOT_PER_STEP, Faults
from one_case import train, write

import stepscope

STEPS_WITHOUT, WARM_UP = 60, 10


def train_without(module, case):
    """Seconds of each step without the faults."""
    if not case["faults"] or NOT_PER_STEP & set(case["faults"]):
        return []
    faults = Faults({}, like=case["faults"])
    module.KINDS[case["kind"]](faults, STEPS_WITHOUT)
    faults.watch.end()
    return [sum(step.values()) for step in faults.watch.steps[WARM_UP:-1]]


def main():
    trainer, folder, cases = sys.argv[1:]
    with open(cases, encoding="ascii") as file:
        cases = json.load(file)
    module = importlib.import_module("train_" + trainer)
    module.KINDS[cases[0]["kind"]](Faults({}), 30)  # what happens only once in a process
    for case in cases:
        before = train_without(module, case)
        if not stepscope.start(folder, case["name"]):
            sys.exit("not recorded: %s" % stepscope.status())
        truth = train(module, case)
        stepscope.stop()
        # Before and after it: if the machine does something else in between, the two differ.
        truth["without"] = before + train_without(module, case)
        write(os.path.join(folder, case["name"] + ".truth.json"), truth)
        print(case["name"], flush=True)


main()
