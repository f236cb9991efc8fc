"""Trains several times, each as a run of its own in a folder: each_run.py TRAINER FOLDER CASES

CASES is a file of JSON, a list: name, kind, steps and faults (milliseconds by name). Frameworks are
imported once, which takes longer than most trainings do. What each case really did is written to
FOLDER/NAME.truth.json."""

import importlib
import json
import os
import sys
import time

from inside_faults import CUTS, Faults

import stepscope

STEPS_WITHOUT, WARM_UP = 60, 10
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def waited_ns():
    """For how long this thread was ready, but had no core, as the kernel counts it."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1])
    except OSError:
        return 0


def train(module, case):
    faults = Faults(case["faults"])
    waited, start = waited_ns(), time.perf_counter()
    module.KINDS[case["kind"]](faults, case["steps"])
    faults.watch.end()
    wall = time.perf_counter() - start
    return {"steps": faults.watch.steps, "cuts": CUTS,
            "waited": (waited_ns() - waited) / 1e9 / wall}


def train_without(module, case):
    """Seconds of each step without the faults."""
    faults = Faults({}, like=case["faults"])
    if case["faults"]:
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
        # Before and after it: if the machine does something else meanwhile, the two differ.
        truth["without"] = before + train_without(module, case)
        path = os.path.join(folder, case["name"] + ".truth.json")
        with open(path + ".new", "w", encoding="ascii") as file:
            json.dump(truth, file)
        os.rename(path + ".new", path)
        print(case["name"], flush=True)


main()
