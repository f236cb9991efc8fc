"""JAX: a jitted step, and its loss is read each time or every ten."""

import contextlib
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, INPUTS, WIDTH = 128, 256, 512
optimizer = optax.adam(1e-3)
random = np.random.default_rng(0)


def loss_of(weights, x, y):
    hidden = jnp.tanh(jnp.tanh(x @ weights["a"]) @ weights["b"])
    return jnp.mean((hidden @ weights["c"] - y) ** 2)


def step_of(faults):
    @jax.jit
    def train_step(weights, state, x, y):
        faults.sleep("compile", 1000)  # it runs only while it is traced
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state, loss

    return train_step


def first_weights():
    return {"a": random.normal(size=(INPUTS, WIDTH)).astype("float32") / 16,
            "b": random.normal(size=(WIDTH, WIDTH)).astype("float32") / 22,
            "c": np.zeros((WIDTH, 1), "float32")}


def first_batch():
    x = random.normal(size=(BATCH, INPUTS)).astype("float32")
    return x, np.sin(x.sum(axis=1, keepdims=True))


def train(faults, steps, read_every):
    weights, (x, y) = first_weights(), first_batch()
    state, train_step = optimizer.init(weights), step_of(faults)
    for number in range(steps):
        faults.next_step()
        with faults.watch.sum("compile") if number == 0 else contextlib.nullcontext():
            weights, state, loss = train_step(weights, state, x, y)
        if number % read_every == read_every - 1:
            float(loss)
        if "user" in faults:
            with faults.at("user"):
                time.sleep(faults.sizes["user"] / 1e3)


def batches(faults, steps):
    """From a generator of the script's own."""
    def rows():
        batch = first_batch()
        for _ in range(steps):
            if "input" in faults:
                time.sleep(faults.sizes["input"] / 1e3)
            yield batch

    weights = first_weights()
    state, train_step = optimizer.init(weights), step_of(faults)
    for x, y in faults.each(rows()):
        weights, state, loss = train_step(weights, state, x, y)
        float(loss)


KINDS = {"read each": lambda faults, steps: train(faults, steps, 1),
         "read every 10": lambda faults, steps: train(faults, steps, 10), "batches": batches}
