"""JAX: faults of the advice trials, and the advice followed (advice_torch.py says how)."""

import queue
import tempfile
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
from train_jax import first_batch, first_weights, loss_of, optimizer


def is_cured(cure, name=None):
    return cure is not None and (name is None or cure["is"] == name)


def compute_for(numbers):
    return float(np.sort(np.sin(np.arange(numbers, dtype="float64"))).sum())


def make_step():
    @jax.jit
    def train_step(weights, state, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        updates, state = optimizer.update(gradients, state, weights)
        return jax.tree.map(lambda w, u: w + u, weights, updates), state, loss
    return train_step


class Training:
    def __init__(self, step=None):
        self.weights = first_weights()
        self.state, self.step = optimizer.init(self.weights), step or make_step()

    def learn(self, x, y):
        self.weights, self.state, loss = self.step(self.weights, self.state, x, y)
        return float(loss)


def ahead(rows, size=2):
    """In a thread that fills a queue."""
    filled, end = queue.Queue(size), object()

    def fill():
        for row in rows:
            filled.put(row)
        filled.put(end)

    threading.Thread(target=fill, daemon=True).start()
    return iter(filled.get, end)


def generator(work):
    def make(cure, steps):
        batch, training = first_batch(), Training()

        def rows():
            for _ in range(steps):
                work()
                yield batch

        def train():
            for x, y in ahead(rows()) if is_cured(cure) else rows():
                training.learn(x, y)
        return train
    return make


def trains(steps, after, training=None):
    (x, y), training = first_batch(), training or Training()

    def train():
        for number in range(steps):
            training.learn(x, y)
            after(number, training)
    return train


def log_each(cure, steps):
    every = 50 if is_cured(cure, "every 50") else 1
    return trains(steps, lambda number, training: time.sleep(0.005) if number % every == 0 else 0)


def new_shapes(cure, steps):
    """The last batch of each ten is smaller, each time by another sample; or padded."""
    training, (x, y) = Training(), first_batch()
    seen = [0]

    def train():
        for number in range(steps):
            size = len(x)
            if number % 10 == 9 and not is_cured(cure):
                seen[0] += 1
                size -= 1 + seen[0]
            training.learn(x[:max(size, 2)], y[:max(size, 2)])
    return train


def new_functions(cure, steps):
    """jax.jit in the loop."""
    training, (x, y) = Training(), first_batch()

    def train():
        for number in range(steps):
            if number % 10 == 9 and not is_cured(cure):
                training.step = make_step()
            training.learn(x, y)
    return train


def evaluation(cure, steps):
    """Without jit, every 20 steps; or with it."""
    held_out = [first_batch() for _ in range(12)]
    error = jax.jit(loss_of) if is_cured(cure) else loss_of

    def evaluate(number, training):
        if number % 20 == 19:
            sum(float(error(training.weights, x, y)) for x, y in held_out)
    return trains(steps, evaluate)


def saving(cure, steps):
    every = 100 if is_cured(cure) else 10

    def save(number, training):
        if number % every == every - 1:
            with tempfile.NamedTemporaryFile(suffix=".npz") as file:
                np.savez_compressed(file, **{name: np.asarray(jnp.tile(value, (2, 1)))
                                             for name, value in training.weights.items()})
    return trains(steps, save)


KINDS = {
    "waiting generator": generator(lambda: time.sleep(0.006)),
    "computed generator": generator(lambda: compute_for(60000)),
    "log each": log_each, "new shapes": new_shapes, "new functions": new_functions,
    "evaluation": evaluation, "saving": saving,
}
