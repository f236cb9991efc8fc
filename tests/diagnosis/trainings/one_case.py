"""Trains one case: one_case.py TRAINER CASES TRUTH

CASES is a file of JSON, a list with one case: kind, steps and faults (sizes by name). What it
really did is written to TRUTH."""

import importlib
import json
import os
import sys
import time

from busy_machine import Machine, waited_ns
from inside_faults import CUTS, Faults

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def train(module, case):
    """What was true of it, and what the machine did at that time."""
    faults = Faults(case["faults"])
    machine, waited, start = Machine(), waited_ns(), time.perf_counter()
    module.KINDS[case["kind"]](faults, case["steps"])
    faults.watch.end()
    wall = time.perf_counter() - start
    return {"steps": faults.watch.steps, "cuts": CUTS,
            "shares": faults.shares | {name: seconds / wall
                                       for name, seconds in faults.watch.sums.items()},
            "waited": (waited_ns() - waited) / 1e9 / wall, "machine": machine.end(), "without": []}


def write(path, truth):
    with open(path + ".new", "w", encoding="ascii") as file:
        json.dump(truth, file)
    os.rename(path + ".new", path)


def main():
    trainer, cases, truth = sys.argv[1:]
    with open(cases, encoding="ascii") as file:
        (case,) = json.load(file)
    write(truth, train(importlib.import_module("train_" + trainer), case))


if __name__ == "__main__":
    main()
