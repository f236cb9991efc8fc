#!/usr/bin/env python3
"""What recording costs a JAX training step of 1, 3 and 10 ms.

    STEPSCOPE_FRAMEWORKS_PYTHON=... bench/bench_jax.py BUILD      (BENCH_PAIRS: of each length)

In one process, by neighbouring pairs of steps (step_pairs.py). A step is a batch from numpy, a
compiled train function with as many rows per batch as it takes, and float(loss). Then a step that
computes next to nothing, in blocks, with the hooks in place and taken away: what they take by
themselves, in nanoseconds of CPU time.
"""

import sys
import tempfile
import time

import framework_python
from step_pairs import PAIRS, interval, measure_lengths

INPUTS, HIDDEN = 64, 256
BLOCK, BLOCKS = 200, 100  # steps that compute next to nothing


def train(rows, tick):
    """Each step from the same weights."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    numbers = np.random.default_rng(0)
    weights = jax.device_put({
        "in": numbers.normal(size=(INPUTS, HIDDEN)).astype("f") / 8,
        "middle": numbers.normal(size=(HIDDEN, HIDDEN)).astype("f") / HIDDEN ** 0.5,
        "out": numbers.normal(size=(HIDDEN, 1)).astype("f") / HIDDEN ** 0.5})

    def loss_of(weights, x):
        inside = jnp.tanh(jnp.tanh(x @ weights["in"]) @ weights["middle"])
        return jnp.mean((inside @ weights["out"]) ** 2)

    @jax.jit
    def train_step(weights, x):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x)
        return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients), loss

    while not tick():
        x = numbers.standard_normal((rows, INPUTS), dtype="f")
        _, loss = train_step(weights, x)
        float(loss)


def cpu_ns(work):
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


def cost_ns(core):
    """What the hooks add to a step that computes next to nothing: blocks with and without."""
    import jax
    import numpy as np

    x = np.float32(1)
    tiny = jax.jit(lambda x: x + 1)

    def block():
        for _ in range(BLOCK):
            float(tiny(x))

    more = []
    for _ in range(BLOCKS):
        core.hooks_on()
        block()
        hooked_ns = cpu_ns(block)
        core.hooks_off()
        block()
        more.append((hooked_ns - cpu_ns(block)) / BLOCK)
    core.hooks_on()
    return more


def measure():
    """Runs in the interpreter that has JAX."""
    import stepscope
    from stepscope import _core

    with tempfile.TemporaryDirectory() as place:
        stepscope.start(place, "bench")
        measure_lengths(_core, "jax", train, cpu=time.process_time_ns)  # XLA has a thread
        more = interval(cost_ns(_core))
        framework_python.print_hooks("jax", more)
        stepscope.stop()


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        framework_python.run(__file__, BENCH_PAIRS=str(PAIRS),
                             XLA_FLAGS="--xla_cpu_multi_thread_eigen=false "
                                       "intra_op_parallelism_threads=1")
