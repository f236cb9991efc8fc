"""The fault matrix as a table: which trainings, which faults, of which sizes.

A case is one training. Those of the built-in trainer and of ranks, and all that are watched, are
commands of their own under `stepscope run`; the others of one Python framework share a process, in
which each is a run of its own (trainings/each_run.py) and the machine is not sampled."""

import collections
import fnmatch

Case = collections.namedtuple("Case", "name trainer kind steps faults is_watched")

# Findings that name a fault; any of them is right. What each does: trainings/inside_faults.py,
# and for the built-in trainer matrix_demo.py.
NAMED_BY = {
    "input": ("input-bound",), "callback": ("callback-bound",), "user": ("user-code",),
    "eval": ("eval-heavy",), "checkpoint": ("checkpoint-heavy",), "gc": ("gc-pauses",),
    "setup": ("setup-heavy",), "restart": ("setup-heavy",), "retrace": ("retrace-storm",),
    "compile": ("compile-heavy",), "drift": ("drift",), "modes": ("bimodal",),
    "pause": ("periodic-pause",), "hog": ("preempted", "cpu-oversubscribed"),
    "crowd": ("cpu-oversubscribed",), "limit": ("cgroup-throttled",), "pages": ("page-faults",),
    "leak": ("memory-leak",), "straggler": ("straggler",), "comm": ("comm-bound",),
    "sync": ("sync-bound",), "transfer": ("transfer-bound",), "tiny": ("overhead-bound",),
    "spread": ("user-code",), "unnamed": ("instrument-more",), "tail": ("latency-tail",),
    "few": ("too-few-steps",),
}
# The same time under another name, which may be above it: who waits for pages waits for data.
ALSO_TRUE = {"pages": ("input-bound",)}
# They are no part of the time of steps, so that there is no share that could be small.
WITHOUT_SHARE = {"leak", "tail", "few"}
WATCHED = {"crowd", "pages", "leak"}  # what only the supervisor sees
# There it is in the forward pass: that it waits is seen from outside, in 20 looks of ten a second.
WATCHED_IN, STEPS_THERE = {"lightning": {"user"}}, 800

SIZES = (2, 5, 12)  # milliseconds a step, beside about 5 ms of computing
STEPS = {"demo": 200, "tape": 80, "jax": 400}
STEPS_OF_FAULT = {"crowd": 400, "leak": 500, "pages": 300, "limit": 400, "tiny": 1000}
USUAL_STEPS = 150

HEALTHY = (  # trainer, kind, how many, of them in the small form, watched ones besides
    ("demo", "narrow", 29, 2, 0), ("demo", "deep", 29, 1, 0), ("demo", "one layer", 15, 0, 0),
    ("demo", "large batches", 15, 0, 0),
    ("torch", "loader", 4, 1, 3), ("torch", "in memory", 4, 1, 0), ("torch", "generator", 3, 0, 0),
    ("torch", "convolutions", 4, 0, 0), ("torch", "accumulated", 4, 0, 0),
    ("torch", "workers", 4, 0, 2), ("torch", "decayed", 4, 0, 0),
    ("lightning", "fit", 4, 0, 2), ("lightning", "epochs", 3, 0, 0),
    ("keras", "arrays", 3, 0, 0), ("keras", "dataset", 3, 0, 2), ("keras", "by batch", 3, 0, 0),
    ("tape", "eager", 2, 0, 0), ("tape", "function", 3, 0, 1),
    ("jax", "read each", 3, 0, 2), ("jax", "read every 10", 3, 0, 0), ("jax", "batches", 2, 0, 0),
)

SINGLE = (  # trainer, kind, fault, sizes
    ("demo", "narrow", "input", SIZES), ("demo", "narrow", "callback", SIZES),
    ("demo", "narrow", "checkpoint", SIZES), ("demo", "narrow", "pause", SIZES),
    ("demo", "narrow", "drift", SIZES), ("demo", "narrow", "hog", (2, 3, 4)),
    ("demo", "narrow", "unnamed", SIZES), ("demo", "narrow", "limit", (80, 60, 40)),
    ("torch", "loader", "input", SIZES), ("torch", "loader", "user", SIZES),
    ("torch", "loader", "eval", SIZES), ("torch", "loader", "checkpoint", SIZES),
    ("torch", "loader", "gc", SIZES), ("torch", "loader", "setup", SIZES),
    ("torch", "loader", "drift", (5, 12, 30)), ("torch", "loader", "modes", (5, 12, 30)),
    ("torch", "loader", "transfer", SIZES), ("torch", "loader", "sync", SIZES),
    ("torch", "loader", "spread", SIZES), ("torch", "loader", "few", (8, 12, 16)),
    ("torch", "loader", "crowd", (2, 4, 8)), ("torch", "loader", "pages", (10, 40, 120)),
    ("torch", "loader", "leak", (8, 12, 20)),
    ("torch", "generator", "input", SIZES), ("torch", "two sizes", "tiny", (2, 4, 8)),
    ("lightning", "fit", "input", SIZES), ("lightning", "fit", "callback", SIZES),
    ("lightning", "fit", "eval", SIZES), ("lightning", "fit", "user", SIZES),
    ("lightning", "epochs", "restart", SIZES),
    ("keras", "dataset", "input", SIZES), ("keras", "dataset", "callback", SIZES),
    ("keras", "dataset", "eval", SIZES), ("keras", "by batch", "user", SIZES),
    ("keras", "two sizes", "tiny", (2, 4, 8)), ("keras", "predictions", "tail", (10, 30, 90)),
    ("tape", "eager", "input", (10, 20, 40)), ("tape", "eager", "user", (10, 20, 40)),
    ("tape", "function", "retrace", (20, 8, 4)),  # every N steps: the last is the largest
    ("tape", "function", "compile", (6, 9, 12)),
    ("jax", "read each", "user", SIZES), ("jax", "batches", "input", SIZES),
    ("jax", "read each", "compile", (6, 9, 12)),
    ("ranks", "two", "straggler", SIZES), ("ranks", "two", "comm", (2, 8, 32)),
)

PAIRS = (  # trainer, kind, both faults
    ("demo", "narrow", "input", "callback"), ("demo", "narrow", "callback", "checkpoint"),
    ("torch", "loader", "input", "user"), ("torch", "loader", "user", "checkpoint"),
    ("torch", "loader", "input", "eval"), ("torch", "loader", "gc", "user"),
    ("torch", "loader", "transfer", "sync"),
    ("lightning", "fit", "input", "callback"), ("lightning", "fit", "callback", "eval"),
    ("keras", "dataset", "input", "callback"), ("tape", "eager", "input", "user"),
)
SMALL_TRAINERS, SMALL_KINDS = ("demo", "torch"), ("narrow", "loader")
SMALL_FAULTS = ("input", "callback", "checkpoint", "pause", "user", "eval", "setup")
PAIR_SIZES = ((5, 5), (12, 4), (4, 12))


def name_of(*words):
    return "-".join(str(word).replace(" ", "_") for word in words)


def steps_of(trainer, faults):
    if "few" in faults:
        return faults["few"]
    least = STEPS_THERE if WATCHED_IN.get(trainer, set()) & set(faults) else USUAL_STEPS
    return max([STEPS.get(trainer, least), *(STEPS_OF_FAULT.get(fault, 0) for fault in faults)])


def case(trainer, kind, faults, number, is_watched=False):
    words = [word for fault, size in faults.items() for word in (fault, size)]
    watched = ["watched"] if is_watched else []
    return Case(name_of(trainer, kind, *watched, *(words or ["healthy"]), number), trainer, kind,
                steps_of(trainer, faults), faults,
                is_watched or bool((WATCHED | WATCHED_IN.get(trainer, set())) & set(faults)))


def healthy(is_small):
    cases = []
    for trainer, kind, many, few, watched in HEALTHY:
        cases += [case(trainer, kind, {}, number) for number in range(few if is_small else many)]
        if not is_small:
            cases += [case(trainer, kind, {}, number, True) for number in range(watched)]
    return cases


def single(is_small):
    cases = []
    for trainer, kind, fault, sizes in SINGLE:
        if is_small and (kind not in SMALL_KINDS or fault not in SMALL_FAULTS):
            continue
        cases += [case(trainer, kind, {fault: size}, 0)
                  for size in (sizes[1:2] if is_small else sizes)]
    return cases


def pairs(is_small):
    return [case(trainer, kind, {first: sizes[0], second: sizes[1]}, 0)
            for trainer, kind, first, second in PAIRS
            for sizes in (PAIR_SIZES[:1] if is_small else PAIR_SIZES)
            if not is_small or trainer in SMALL_TRAINERS]


def all_cases(is_small=False):
    """Healthy ones are everywhere among them, so that what the machine does is in both."""
    cases = healthy(is_small) + single(is_small) + pairs(is_small)
    return sorted(cases, key=lambda one: (int(one.name.rpartition("-")[2]), one.trainer,
                                          one.is_watched, one.name))


def only(cases, patterns):
    """Those whose name has one of the patterns in it, as the shell has them."""
    return [one for one in cases
            if any(fnmatch.fnmatch(one.name, "*%s*" % pattern) for pattern in patterns)]
