"""Keras fit, with TensorFlow: arrays, a dataset, callbacks and validation."""

import time

import keras
import numpy as np
import tensorflow as tf
from inside_faults import EVERY
from tensorflow.python.data.experimental.ops import testing

BATCH, INPUTS, WIDTH = 128, 256, 512
tf.config.threading.set_intra_op_parallelism_threads(1)
x = np.random.rand(8 * BATCH, INPUTS).astype("float32")
y = np.random.randint(0, 10, (8 * BATCH,))


def make_model():
    model = keras.Sequential([
        keras.layers.Input((INPUTS,)), keras.layers.Dense(WIDTH, activation="relu"),
        keras.layers.Dense(WIDTH, activation="relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


class Watcher(keras.callbacks.Callback):
    """Looks at each batch for longer than it should."""

    def __init__(self, faults):
        super().__init__()
        self.faults = faults

    def on_train_batch_begin(self, batch, logs=None):
        self.faults.next_step()
        note_input(self.faults)

    def on_train_batch_end(self, batch, logs=None):
        if "callback" in self.faults:
            with self.faults.at("callback"):
                self.faults.sleep("callback")
        self.last_s = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """Between the last batch and this there is nothing but evaluation."""
        if "eval" in self.faults:
            self.faults.watch.steps[-1]["eval"] = time.perf_counter() - self.last_s


def slow_batches(faults, count):
    """A dataset that sleeps for each batch, inside of TensorFlow and not while the one before is
    trained on. How long is known ahead: what else it takes to get a batch is next to nothing."""
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    data = tf.data.Dataset.from_tensors((x[:BATCH], y[:BATCH])).repeat(count)
    return data.apply(testing.sleep(int(1e3 * faults.sizes["input"]))).with_options(options)


def note_input(faults):
    if "input" in faults:
        faults.watch.steps[-1]["input"] = faults.sizes["input"] / 1e3


def held_out(faults):
    """Two batches to evaluate on."""
    def rows():
        for _ in range(2):
            faults.sleep("eval", EVERY / 2)
            yield x[:BATCH], y[:BATCH]

    kinds = (tf.TensorSpec((BATCH, INPUTS), tf.float32), tf.TensorSpec((BATCH,), tf.int64))
    return tf.data.Dataset.from_generator(rows, output_signature=kinds)


def fit(faults, steps, data, **more):
    make_model().fit(data, verbose=0, callbacks=[Watcher(faults)], **more)


def arrays(faults, steps):
    inputs = np.tile(x, (steps // 8 + 1, 1))[:steps * BATCH]
    labels = np.tile(y, steps // 8 + 1)[:steps * BATCH]
    make_model().fit(inputs, labels, batch_size=BATCH, verbose=0, callbacks=[Watcher(faults)])


def dataset(faults, steps):
    if "input" in faults:
        fit(faults, steps, slow_batches(faults, steps))
        return
    data = tf.data.Dataset.from_tensors((x[:BATCH], y[:BATCH])).repeat(steps)
    more = {}
    if "eval" in faults.like:
        data = tf.data.Dataset.from_tensors((x[:BATCH], y[:BATCH])).repeat(EVERY)
        more = {"epochs": steps // EVERY}
    if "eval" in faults:
        more["validation_data"] = held_out(faults)
    fit(faults, steps, data, **more)


KINDS = {"arrays": arrays, "dataset": dataset}
