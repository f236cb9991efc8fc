"""The fault matrix as a table: which trainings, which faults, of which sizes.

A case is one training. Those of the built-in trainer and of ranks are commands of their own under
`stepscope run`; those of other Python frameworks share a process, in which each is a run of its own
(trainings/each_run.py)."""

import collections

Case = collections.namedtuple("Case", "name trainer kind steps faults")

# Findings that name a fault; any of them is right.
NAMED_BY = {
    "input": ("input-bound",), "callback": ("callback-bound",), "user": ("user-code",),
    "eval": ("eval-heavy",), "checkpoint": ("checkpoint-heavy",), "gc": ("gc-pauses",),
    "setup": ("setup-heavy",), "retrace": ("retrace-storm",), "drift": ("drift",),
    "modes": ("bimodal",), "pause": ("periodic-pause",),
    "hog": ("preempted", "cpu-oversubscribed"), "straggler": ("straggler",),
}

SIZES = (2, 5, 12)  # milliseconds a step, beside about 5 ms of computing
STEPS = {"demo": 200, "tape": 80, "jax": 400}
USUAL_STEPS = 150

HEALTHY = (  # trainer, kind, how many, of them in the small form
    ("demo", "narrow", 33, 2), ("demo", "deep", 33, 1), ("demo", "one layer", 17, 0),
    ("demo", "large batches", 17, 0),
    ("torch", "loader", 5, 1), ("torch", "in memory", 5, 1), ("torch", "convolutions", 5, 0),
    ("torch", "accumulated", 5, 0), ("torch", "workers", 5, 0), ("torch", "decayed", 5, 0),
    ("lightning", "fit", 5, 0), ("keras", "arrays", 3, 0), ("keras", "dataset", 3, 0),
    ("tape", "eager", 2, 0), ("tape", "function", 3, 0),
    ("jax", "read each", 3, 0), ("jax", "read every 10", 3, 0),
)

SINGLE = (  # trainer, kind, fault, sizes
    ("demo", "narrow", "input", SIZES), ("demo", "narrow", "callback", SIZES),
    ("demo", "narrow", "checkpoint", SIZES), ("demo", "narrow", "pause", SIZES),
    ("demo", "narrow", "drift", SIZES), ("demo", "narrow", "hog", (2, 3, 4)),
    ("torch", "loader", "input", SIZES), ("torch", "loader", "user", SIZES),
    ("torch", "loader", "eval", SIZES), ("torch", "loader", "checkpoint", SIZES),
    ("torch", "loader", "gc", SIZES), ("torch", "loader", "setup", SIZES),
    ("torch", "loader", "drift", (5, 12, 30)), ("torch", "loader", "modes", (5, 12, 30)),
    ("lightning", "fit", "input", SIZES), ("lightning", "fit", "callback", SIZES),
    ("lightning", "fit", "eval", SIZES),
    ("keras", "dataset", "input", SIZES), ("keras", "dataset", "callback", SIZES),
    ("keras", "dataset", "eval", SIZES),
    ("tape", "eager", "input", (10, 20, 40)), ("tape", "eager", "user", (10, 20, 40)),
    ("tape", "function", "retrace", (20, 8, 4)),  # each so many steps: the last is the largest
    ("jax", "read each", "user", SIZES), ("ranks", "two", "straggler", SIZES),
)

PAIRS = (  # trainer, kind, both faults
    ("demo", "narrow", "input", "callback"), ("demo", "narrow", "callback", "checkpoint"),
    ("torch", "loader", "input", "user"), ("torch", "loader", "user", "checkpoint"),
    ("torch", "loader", "input", "eval"), ("torch", "loader", "gc", "user"),
    ("lightning", "fit", "input", "callback"), ("lightning", "fit", "callback", "eval"),
    ("keras", "dataset", "input", "callback"), ("tape", "eager", "input", "user"),
)
SMALL_TRAINERS = ("demo", "torch")
SMALL_FAULTS = ("input", "callback", "checkpoint", "pause", "user", "eval", "setup")
PAIR_SIZES = ((5, 5), (12, 4), (4, 12))


def name_of(*words):
    return "-".join(str(word).replace(" ", "_") for word in words)


def case(trainer, kind, faults, number):
    words = [word for fault, size in faults.items() for word in (fault, size)]
    return Case(name_of(trainer, kind, *(words or ["healthy"]), number), trainer, kind,
                STEPS.get(trainer, USUAL_STEPS), faults)


def healthy(is_small):
    return [case(trainer, kind, {}, number) for trainer, kind, many, few in HEALTHY
            for number in range(few if is_small else many)]


def single(is_small):
    cases = []
    for trainer, kind, fault, sizes in SINGLE:
        if is_small and (trainer not in SMALL_TRAINERS or fault not in SMALL_FAULTS):
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
    return sorted(cases, key=lambda one: (int(one.name.rpartition("-")[2]), one.trainer, one.name))
