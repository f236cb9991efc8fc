"""The pairs of the advice trials as a table: a fault in a training, the finding that names it, and
the pieces of advice that may be printed, each with how it is followed.

Groups of a pattern are the numbers that the advice gives; the training gets them. Advice whose name
is ENVIRONMENT sets the variables that are in it. What each does: trainings/advice_*.py."""

import collections
import fnmatch
import re

Pair = collections.namedtuple("Pair", "name trainer kind finding advice steps")

ENVIRONMENT = "environment"
STEPS = 100  # of a turn

WORKERS = (r"num_workers=(?P<workers>\d+)", "workers")
MORE = (r"use more than \d+ DataLoader workers \(\w*num_workers=(?P<workers>\d+)\)", "more")
STORED = (r"made ahead of time and stored", "stored")  # where no core is free
PIECE = (r"fetch each batch in one piece", "piece")
PY_DATASET = (r"PyDataset\(?.*?workers=(?P<workers>\d*)", "workers")
PARALLEL = (r"num_parallel_calls=tf\.data\.AUTOTUNE", "parallel")
EVERY_50 = (r"every 50 steps|% 50 == 0", "every 50")

PAIRS = (  # trainer, kind, finding, advice
    ("torch", "waiting items", "input-bound", [WORKERS]),
    ("torch", "computed items", "input-bound", [WORKERS, STORED]),
    ("torch", "tensors in memory", "input-bound", [PIECE, WORKERS]),
    ("torch", "many fields", "input-bound", [PIECE, WORKERS]),
    ("torch", "waiting generator", "input-bound", [WORKERS]),
    ("torch", "computed generator", "input-bound", [WORKERS, STORED]),
    ("torch", "too few workers", "input-bound", [MORE]),
    ("torch", "large objects", "input-bound", [(r"tensors instead of lists", "tensors"), MORE]),
    ("torch", "log each", "user-code", [EVERY_50]),
    ("torch", "score items", "user-code", [(r"vectorised over the whole batch", "at once")]),
    ("torch", "checkpoint", "checkpoint-heavy", [(r"less often", "rarely")]),
    ("torch", "evaluation", "eval-heavy", [(r"fewer batches", "fewer")]),
    ("torch", "collected", "gc-pauses", [(r"gc\.freeze\(\)", "freeze")]),
    ("torch", "short epochs", "setup-heavy", [(r"persistent_workers=True", "persistent")]),
    ("torch", "iterator each step", "input-bound", [(r"make the iterator once", "once")]),
    ("torch", "fresh memory", "fresh-memory",
     [(r"MALLOC_\w+=.* in the environment", ENVIRONMENT)]),
    ("torch", "crowded", "preempted", [(r"OMP_\w+=\w+", ENVIRONMENT)]),
    ("torch", "small batches", "overhead-bound", [(r"larger batches", "larger")]),
    ("torch", "recompiled", "retrace-storm", [(r"call torch\.compile once", "once")]),
    ("lightning", "waiting items", "input-bound", [WORKERS]),
    ("lightning", "computed items", "input-bound", [WORKERS, STORED]),
    ("lightning", "callback", "callback-bound", [EVERY_50]),
    ("lightning", "gradients", "callback-bound", [EVERY_50]),
    ("lightning", "logger", "callback-bound", [(r"log_every_n_steps=(?P<every>\d+)", "log")]),
    ("lightning", "own code", "user-code", [EVERY_50]),
    ("lightning", "validation", "eval-heavy",
     [(r"check_val_every_n_epoch=(?P<every>\d+)", "rarely")]),
    ("lightning", "saving", "checkpoint-heavy", [(r"every_n_epochs=(?P<every>\d+)", "rarely")]),
    ("lightning", "short epochs", "setup-heavy", [(r"persistent_workers=True", "persistent")]),
    ("hf", "waiting items", "input-bound", [WORKERS]),
    ("hf", "computed items", "input-bound", [WORKERS, STORED]),
    ("hf", "callback", "callback-bound", [EVERY_50]),
    ("hf", "logger", "callback-bound", [(r"logging_steps=(?P<every>\d+)", "log")]),
    ("hf", "evaluation", "eval-heavy", [(r"eval_steps=(?P<every>\d+)", "rarely")]),
    ("hf", "saving", "checkpoint-heavy", [(r"save_steps=(?P<every>\d+)", "rarely")]),
    ("keras", "waiting PyDataset", "input-bound", [PY_DATASET]),
    ("keras", "computed PyDataset", "input-bound", [PY_DATASET]),
    ("keras", "generator", "input-bound", [PY_DATASET]),
    ("keras", "callback", "callback-bound", [EVERY_50]),
    ("keras", "weights", "callback-bound", [EVERY_50]),
    ("keras", "saving", "checkpoint-heavy", [(r"save_freq", "rarely")]),
    ("keras", "validation", "eval-heavy", [(r"validation_freq=(?P<every>\d+)", "rarely")]),
    ("keras", "own code", "user-code", [EVERY_50]),
    ("keras", "mapped", "input-bound", [PARALLEL]),
    ("keras", "python mapped", "input-bound", [(r"operations of TensorFlow", "operations")]),
    ("keras", "small batches", "overhead-bound", [(r"larger batches", "larger")]),
    ("keras", "short epochs", "setup-heavy", [(r"dataset\.repeat\(\)", "repeat")]),
    ("keras_on_jax", "waiting PyDataset", "input-bound", [PY_DATASET]),
    ("keras_on_jax", "callback", "callback-bound", [EVERY_50]),
    ("keras_on_torch", "waiting PyDataset", "input-bound", [PY_DATASET]),
    ("keras_on_torch", "callback", "callback-bound", [EVERY_50]),
    ("keras_on_torch", "validation", "eval-heavy",
     [(r"validation_freq=(?P<every>\d+)", "rarely")]),
    ("tape", "waiting generator", "input-bound", [(r"from_generator", "generator")]),
    ("tape", "computed generator", "input-bound", [(r"from_generator", "generator")]),
    ("tape", "from_generator", "input-bound", [(r"prefetch\(tf\.data\.AUTOTUNE\)", "prefetch")]),
    ("tape", "mapped", "input-bound", [PARALLEL]),
    ("tape", "log each", "user-code", [EVERY_50]),
    ("tape", "python numbers", "retrace-storm", [(r"tensors instead of Python numbers", "tensors")]),
    ("tape", "iterator each step", "setup-heavy", [(r"make iter\(dataset\) outside", "once")]),
    ("jax", "waiting generator", "input-bound", [(r"thread that fills a queue", "thread")]),
    ("jax", "computed generator", "input-bound", [(r"thread that fills a queue", "thread")]),
    ("jax", "log each", "user-code", [EVERY_50]),
    ("jax", "new shapes", "retrace-storm", [(r"pad the last batch", "pad")]),
    ("jax", "new functions", "retrace-storm", [(r"jax\.jit once", "once")]),
    ("jax", "evaluation", "eval-heavy", [(r"that jax\.jit compiles", "compiled")]),
    ("jax", "saving", "checkpoint-heavy", [(r"save less often", "rarely")]),
)
STEPS_OF = {"small batches": 800, "short epochs": 200}
BACKENDS = {"keras_on_jax": "jax", "keras_on_torch": "torch"}  # modules are those of keras


def all_pairs():
    return [Pair("%s-%s" % (trainer, kind.replace(" ", "_")), trainer, kind, finding, advice,
                 STEPS_OF.get(kind, STEPS)) for trainer, kind, finding, advice in PAIRS]


def only(pairs, patterns):
    """Those whose name has one of the patterns in it, as the shell has them."""
    return [one for one in pairs
            if any(fnmatch.fnmatch(one.name, "*%s*" % pattern) for pattern in patterns)]


def cure_of(pair, text):
    """How the advice of that text is followed; None: the table does not know it."""
    for pattern, name in pair.advice:
        match = re.search(pattern, text)
        if match and name == ENVIRONMENT:
            return {"is": name, "set": dict(re.findall(r"\b([A-Z_]+)=([\w-]+)", match.group(0)))}
        if match:
            return {"is": name, **match.groupdict()}
    return None
