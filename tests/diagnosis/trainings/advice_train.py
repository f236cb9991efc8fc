"""Trains one pair of the advice trials, with its fault or with the advice followed:

    advice_train.py TRAINER KIND CURE STEPS once             trains
    advice_train.py TRAINER KIND CURE STEPS timed OUT        trains twice, the second time is timed
    advice_train.py TRAINER KIND CURE STEPS turns ROUNDS FOLDER OUT

CURE is JSON: null (with the fault), or a dictionary: `is`, which advice is followed, and the numbers
that it gave. `turns` trains both by turns in one process, so that both see the same machine, and
then once more with the advice followed, as the run `cured` in FOLDER. Seconds go to OUT."""

import importlib
import json
import os
import random
import sys
import time

from busy_machine import Machine
from one_case import write

RECORDED_MORE = 4  # this many times the steps of a turn, as a run needs more to be judged


def timed(train):
    start = time.perf_counter()
    train()
    return time.perf_counter() - start


def take_turns(make, cure, steps, rounds):
    """Both sides begin a round equally often. What happens only once is before the first."""
    fault, cured = make(None, steps), make(cure, steps)
    fault(), cured()
    machine, pairs = Machine(), []
    for number in range(rounds):
        if number % 2:
            after = timed(cured)
            pairs.append((timed(fault), after))
        else:
            before = timed(fault)
            pairs.append((before, timed(cured)))
    return {"pairs": pairs, "machine": machine.end()}


def record(make, cure, steps, folder):
    import stepscope
    train = make(cure, RECORDED_MORE * steps)
    if not stepscope.start(folder, "cured"):
        sys.exit("not recorded: %s" % stepscope.status())
    train()
    stepscope.stop()


def main():
    trainer, kind, cure, steps, way = sys.argv[1:6]
    make = importlib.import_module("advice_" + trainer).KINDS[kind]
    cure, steps = json.loads(cure), int(steps)
    random.seed(1)
    if way == "once":
        make(cure, RECORDED_MORE * steps)()
    elif way == "timed":
        train = make(cure, steps)
        train()
        write(sys.argv[6], {"seconds": timed(train)})
    else:
        rounds, folder, out = sys.argv[6:]
        result = take_turns(make, cure, steps, int(rounds))
        record(make, cure, steps, folder)
        write(out, result)
    sys.stdout.flush()
    os._exit(0) if way == "turns" else sys.exit(0)


main()
