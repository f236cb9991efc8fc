#!/usr/bin/env python3
"""What recording costs a JAX training step of 1, 3 and 10 ms.

    STEPSCOPE_FRAMEWORKS_PYTHON=... bench/bench_jax.py BUILD      (BENCH_PAIRS: of each length)

In one process, by neighbouring pairs of steps (step_pairs.py). A step is a batch from numpy, a
compiled train function whose matrices are as large as it takes, and float(loss). Then a step that
computes next to nothing, in blocks, with the hooks in place and taken away: what they take by
themselves, in nanoseconds of CPU time.
"""

import os
import sys
import tempfile
import time

import framework_python

PAIRS = int(os.environ.get("BENCH_PAIRS", "1000"))
LENGTHS_MS = (1, 3, 10)
TARGET = 1.005
BATCH, INPUTS = 64, 64
BLOCK, BLOCKS = 200, 100  # steps that compute next to nothing


def make_step(hidden):
    """A function that trains one step, each time from the same weights."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    numbers = np.random.default_rng(0)
    weights = jax.device_put({
        "in": numbers.normal(size=(INPUTS, hidden)).astype("f") / 8,
        "middle": numbers.normal(size=(hidden, hidden)).astype("f") / hidden ** 0.5,
        "out": numbers.normal(size=(hidden, 1)).astype("f") / hidden ** 0.5})

    def loss_of(weights, x):
        inside = jnp.tanh(jnp.tanh(x @ weights["in"]) @ weights["middle"])
        return jnp.mean((inside @ weights["out"]) ** 2)

    @jax.jit
    def train_step(weights, x):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x)
        return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients), loss

    def step():
        x = numbers.standard_normal((BATCH, INPUTS), dtype="f")
        _, loss = train_step(weights, x)
        return float(loss)

    return step


def cpu_ns(work):
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


def find_step(wanted_ms):
    hidden, step = 128, make_step(128)
    while True:
        step()
        took_ns = sorted(cpu_ns(step) for _ in range(30))[15]
        if took_ns >= wanted_ms * 1e6 or hidden > 8192:
            return step
        hidden = int(hidden * 1.15)
        step = make_step(hidden)


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
    from step_pairs import StepPairs, enough, interval
    from stepscope import _core

    with tempfile.TemporaryDirectory() as place:
        stepscope.start(place, "bench")
        for wanted_ms in LENGTHS_MS:
            step = find_step(wanted_ms)
            pairs = StepPairs(_core, enough(PAIRS, wanted_ms),
                              cpu=time.process_time_ns)  # XLA has a thread
            while not pairs.is_done:
                pairs.tick()
                step()
            pairs.print("jax_%dms" % wanted_ms, TARGET)
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
