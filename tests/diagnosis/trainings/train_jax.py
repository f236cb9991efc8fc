"""JAX: a jitted step, and its loss is read each time or every ten."""

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


@jax.jit
def train_step(weights, state, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    updates, state = optimizer.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state, loss


def train(faults, steps, read_every):
    weights = {"a": random.normal(size=(INPUTS, WIDTH)).astype("float32") / 16,
               "b": random.normal(size=(WIDTH, WIDTH)).astype("float32") / 22,
               "c": np.zeros((WIDTH, 1), "float32")}
    state = optimizer.init(weights)
    x = random.normal(size=(BATCH, INPUTS)).astype("float32")
    y = np.sin(x.sum(axis=1, keepdims=True))
    for number in range(steps):
        faults.next_step()
        weights, state, loss = train_step(weights, state, x, y)
        if number % read_every == read_every - 1:
            float(loss)
        if "user" in faults:
            with faults.at("user"):
                time.sleep(faults.sizes["user"] / 1e3)


KINDS = {"read each": lambda faults, steps: train(faults, steps, 1),
         "read every 10": lambda faults, steps: train(faults, steps, 10)}
