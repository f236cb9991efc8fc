"""A JAX training loop with delays wherever a script has code of its own, which times itself.

    jax_loop.py DELAY_MS [STEPS]

Prints JSON: a digest of the weights, the seconds of each step by place."""

import hashlib
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

DELAY_S = float(sys.argv[1]) / 1e3
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 60
EVERY = 10  # steps between evaluations
spent = {place: [] for place in ("generator", "step", "between", "eval")}

class timed:
    """Notes the time of a `with`."""

    def __init__(self, place):
        self.place = place

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, *exception):
        spent[self.place].append(time.perf_counter() - self.start)


def batches():
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        with timed("generator"):
            time.sleep(DELAY_S)
            x = random.normal(size=(16, 8)).astype("f")
        yield x


def slowly(x):
    time.sleep(DELAY_S)
    return np.asarray(x)


def loss_of(weights, x):
    x = jax.pure_callback(slowly, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    return jnp.mean((jnp.tanh(x @ weights["in"]) @ weights["out"]) ** 2)


@jax.jit
def train_step(weights, x):
    loss, gradients = jax.value_and_grad(lambda w: loss_of(w, x))(weights)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients), loss


@jax.jit
def eval_step(weights, x):
    return loss_of(weights, x)


def evaluate(weights, x):
    with timed("eval"):
        return float(eval_step(weights, x))


def main():
    weights = {"in": np.full((8, 16), 0.1, "f"), "out": np.full((16, 1), 0.1, "f")}
    losses = []
    for number, x in enumerate(batches(), 1):
        with timed("step"):
            weights, loss = train_step(weights, x)
            losses.append(float(loss))
        with timed("between"):
            time.sleep(DELAY_S)
        if number % EVERY == 5:
            losses.append(evaluate(weights, x))
    digest = hashlib.sha256(repr(losses).encode())
    for name in sorted(weights):
        digest.update(np.asarray(weights[name]).tobytes())
    print(json.dumps({"digest": digest.hexdigest(), "spent": spent}))


main()
