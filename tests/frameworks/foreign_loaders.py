"""Trains with batches of another framework: foreign_loaders.py keras_torch|jax_torch

Each item of the DataLoader takes its time, so that the wait for batches is most of a step. What else
takes some is a matter of the framework that trains: a callback, or an evaluation."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

STEPS, BATCH = 60, 4


class Slow(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, at):
        random = np.random.default_rng(at)
        for _ in range(5):
            row = np.sort(random.normal(size=20000))
        return row[:8].astype("f"), np.ones(1, "f")


def keras_torch():
    import keras

    class Sorts(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            np.sort(np.random.default_rng(0).normal(size=200000))

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(DataLoader(Slow(), BATCH), verbose=0, callbacks=[Sorts()])


def jax_torch():
    import jax
    import jax.numpy as jnp

    def loss_of(weights, x, y):
        return jnp.mean((x @ weights - y) ** 2)

    @jax.jit
    def train_step(weights, x, y):
        loss, gradient = jax.value_and_grad(loss_of)(weights, x, y)
        return weights - 0.01 * gradient, loss

    @jax.jit
    def eval_step(weights, x):
        return jnp.sum(x @ x) + jnp.sum(weights)

    weights, held_out = jnp.zeros((8, 1)), jnp.ones((1500, 1500))
    for step, (x, y) in enumerate(DataLoader(Slow(), BATCH)):
        weights, loss = train_step(weights, x.numpy(), y.numpy())
        float(loss)
        if step % 5 == 4:
            float(eval_step(weights, held_out))


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
