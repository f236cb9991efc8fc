#!/usr/bin/env python3
"""Whether recording makes the end of a Keras fit longer: from its last batch until it returns.

    STEPSCOPE_FRAMEWORKS_PYTHON=... bench/bench_fit_end.py BUILD      (BENCH_ROUNDS: pairs, 20)

That end takes seconds now and then, in plain trainings as well. So each pair is one plain and one recorded
training, in processes of their own, in a random order; of each, the longest end of its fits counts. Medians
and 95 % intervals, how often an end was long, and how probable such a difference is if recording changes
nothing (a sign test over the pairs).
"""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

from step_pairs import interval

PAIRS = int(os.environ.get("BENCH_ROUNDS", "20"))
FITS, EPOCHS, BATCHES, BATCH = 3, 2, 100, 32
LONG_S = 1.0


def train():
    """Fits from arrays and from tf.data; prints the seconds of each end."""
    import keras
    import numpy as np
    import tensorflow as tf

    class Last(keras.callbacks.Callback):
        at = 0.0

        def on_train_batch_end(self, batch, logs=None):
            self.at = time.perf_counter()

    x = np.random.default_rng(0).normal(size=(BATCHES * BATCH, 32)).astype("f")
    y = x[:, :1]
    data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 2, b)).batch(BATCH).prefetch(2)
    ends = []
    for number in range(FITS):
        model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        last = Last()
        given = (data,) if number % 2 else (x, y, BATCH)
        model.fit(*given, epochs=EPOCHS, verbose=0, callbacks=[last])
        ends.append(time.perf_counter() - last.at)
    print(json.dumps(ends))


def longest_end(python, before):
    done = subprocess.run([*before, python, os.path.abspath(__file__), "--train"], check=True,
                          stdout=subprocess.PIPE, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"))
    return max(json.loads(done.stdout.splitlines()[-1]))


def chance_of(more, fewer):
    """Two-sided, of so uneven a split or more if both sides are equally probable."""
    both = more + fewer
    tail = sum(math.comb(both, k) for k in range(min(more, fewer) + 1)) / 2 ** both
    return min(1.0, 2 * tail)


def main(build):
    made = os.path.join(os.path.dirname(build), "frameworks", "bin", "python")
    python = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON", made)
    if not os.path.exists(python):
        print("%s is not there: tools/frameworks makes it" % python)
        return
    ends = {"plain": [], "recorded": []}
    with tempfile.TemporaryDirectory(prefix="stepscope-bench-") as place:
        before = {"plain": [], "recorded": [os.path.join(build, "stepscope"), "run", "--quiet", "--dir", place, "--"]}
        for pair in range(PAIRS):
            for kind in random.sample(list(ends), 2):
                ends[kind].append(longest_end(python, before[kind]))
            print("  pair %2d: plain %.3f s, recorded %.3f s" % (
                pair + 1, ends["plain"][-1], ends["recorded"][-1]), flush=True)
    for kind, seconds in ends.items():
        print("  %-8s longest end: median %.3f s [%.3f, %.3f], most %.3f s; above %.0f s: %d of %d" % (
            kind, *interval(seconds), max(seconds), LONG_S, sum(s > LONG_S for s in seconds), PAIRS))
    more = sum(r > p for p, r in zip(ends["plain"], ends["recorded"]))
    print("  longer with recording in %d of %d pairs: probability %.2f if it changes nothing" % (
        more, PAIRS, chance_of(more, PAIRS - more)))
    ratios = interval(r / p for p, r in zip(ends["plain"], ends["recorded"]))
    print("RESULT fit_end_ratio %.2f %.2f %.2f - -" % ratios)


if __name__ == "__main__":
    if sys.argv[1:] == ["--train"]:
        train()
    else:
        main(os.path.abspath(sys.argv[1]))
