"""The built-in trainer in the fault matrix: its kinds, how its faults are asked for, what it says
of itself, and a limit on what it may use."""

import contextlib
import os
import time

DEMO_KINDS = {  # steps of some milliseconds, in which callbacks and evaluation are next to nothing
    "narrow": ("--hidden", "256,128", "--batch", "128"),
    "deep": ("--hidden", "128,128,128,128", "--batch", "128"),
    "one layer": ("--hidden", "256", "--batch", "192"),
    "large batches": ("--hidden", "128,64", "--batch", "256"),
}
EVERY = 100  # steps between two checkpoints
PAUSE_EVERY = 25
CGROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")
PERIOD_US = 20000
PATIENCE_S = 10


def command_of(program, case, steps, truth, faults=()):
    return [program, "demo", "--plain", "--steps", str(steps), "--truth", truth,
            *DEMO_KINDS[case.kind], *faults]


def fault_words(case, step_ms):
    """As the command has them; a limit is none of its own. Its loader works outside the loop thread: as
    much as the loop itself takes is hidden."""
    hidden_ms = case.faults.get("callback", 0) + step_ms
    words = []
    for fault, size in case.faults.items():
        if fault != "limit":
            words += ["--fault", {
                "input": "slow-input=%dms" % (size + hidden_ms),
                "callback": "slow-callback=MetricLog:%dms" % size,
                "checkpoint": "checkpoint-stall=%dms" % (EVERY * size),
                "pause": "periodic-pause=%d:%dms" % (PAUSE_EVERY, PAUSE_EVERY * size),
                "unnamed": "periodic-pause=1:%dms" % size,
                "drift": "growing-step=%dus" % (1000 * size // 100),
                "hog": "cpu-hog=%d" % size}[fault]]
    return words


def truth_of(truth, case, without):
    """The same form as that of trainings/one_case.py: seconds by fault of each step."""
    columns, spent = truth["steps"], {fault["name"]: fault["spent_ns"] for fault in truth["faults"]}
    steps = []
    for i in range(columns["count"]):
        step = {"input": columns["data_ns"][i], "callback": columns["callback_ns"][i]}
        step["other"] = columns["wall_ns"][i] - sum(step.values())
        steps.append({name: ns / 1e9 for name, ns in step.items()})
    for fault, of in (("pause", "periodic-pause"), ("unnamed", "periodic-pause"),
                      ("drift", "growing-step")):
        if fault in case.faults:  # known in all, not of each step
            for step in steps:
                step[fault] = spent[of] / 1e9 / len(steps)
                step["other"] -= step[fault]
    loop = truth["loop"]
    steps[-1]["checkpoint"] = loop["checkpoint_ns"] / 1e9
    steps[-1]["eval"] = loop["eval_ns"] / 1e9
    return {"steps": steps, "cuts": ["eval", "checkpoint"], "shares": {}, "without": without,
            "waited": max(0, loop["waited_ns"]) / (loop["end_ns"] - loop["begin_ns"])}


def make_limit(percent):
    """A cgroup that may use this part of a core; None if there cannot be one here."""
    for root in CGROUPS:
        place = os.path.join(root, "stepscope-matrix-%d" % os.getpid())
        settings = {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": PERIOD_US * percent // 100}
        if not os.path.exists(os.path.join(root, "cpu.cfs_quota_us")):
            settings = {"cpu.max": "%d %d" % (PERIOD_US * percent // 100, PERIOD_US)}
        try:
            os.mkdir(place)
            for name, value in settings.items():
                with open(os.path.join(place, name), "w", encoding="ascii") as file:
                    file.write(str(value))
            return place
        except OSError:
            with contextlib.suppress(OSError):
                os.rmdir(place)
    return None


def remove_limit(place):
    """The kernel takes a moment to see that it is empty."""
    late = time.monotonic() + PATIENCE_S
    while os.path.exists(place):
        with contextlib.suppress(OSError):
            os.rmdir(place)
        if time.monotonic() > late:
            raise RuntimeError("%s is still in use" % place)
        time.sleep(0.01)


@contextlib.contextmanager
def limited(percent):
    """The words in front of a command that may use this part of a core, none if it may use all; None
    if that cannot be had here."""
    place = make_limit(percent) if percent else ""
    try:
        yield (None if place is None else [] if not place else
               ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', place + "/cgroup.procs"])
    finally:
        if place:
            remove_limit(place)
