"""A JAX training loop with Optax, without a word about Stepscope:

    stepscope run -- python examples/jax_train.py [STEPS]

The report counts the calls of `train_step` as steps: it takes a gradient while it is traced. Those
of `evaluate` are cut out. `float(loss)` waits for the device, which shows as `sync`; the generator
has no stage of its own, so its time is `other`, and the report names its line."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
BATCH, INPUTS, HIDDEN = 64, 32, 128

optimizer = optax.adam(1e-2)


def make_weights(random):
    return {"hidden": random.normal(size=(INPUTS, HIDDEN)).astype("float32") / INPUTS ** 0.5,
            "out": np.zeros((HIDDEN, 1), "float32")}


def batches(random, count):
    """Numbers, and what they should become."""
    for _ in range(count):
        x = random.normal(size=(BATCH, INPUTS)).astype("float32")
        yield x, np.sin(x.sum(axis=1, keepdims=True))


def loss_of(weights, x, y):
    return jnp.mean((jnp.tanh(x @ weights["hidden"]) @ weights["out"] - y) ** 2)


@jax.jit
def train_step(weights, state, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    updates, state = optimizer.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state, loss


@jax.jit
def evaluate(weights, x, y):
    return loss_of(weights, x, y)


def main():
    random = np.random.default_rng(0)
    weights = make_weights(random)
    state = optimizer.init(weights)
    held_out = list(batches(random, 5))
    for step, (x, y) in enumerate(batches(random, STEPS), 1):
        weights, state, loss = train_step(weights, state, x, y)
        if step % 10 == 0:
            float(loss)  # waits for the last ten steps
        if step % 50 == 0:
            error = sum(float(evaluate(weights, *batch)) for batch in held_out) / len(held_out)
            print("step %d: held-out error %.4f" % (step, error))


if __name__ == "__main__":
    main()
