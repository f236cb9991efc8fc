"""Keras fit, with TensorFlow: arrays, a dataset, callbacks and validation."""

import time

import keras
import numpy as np
import tensorflow as tf
from inside_faults import EVERY, note_fixed_part
from tensorflow.python.data.experimental.ops import testing

BATCH, INPUTS, WIDTH = 128, 256, 512
LARGE_BATCH, LARGE_STEPS = 256, 40
PREDICTIONS, SLOW_EVERY = 300, 33
tf.config.threading.set_intra_op_parallelism_threads(1)
x = np.random.rand(8 * BATCH, INPUTS).astype("float32")
y = np.random.randint(0, 10, (8 * BATCH,))


def make_model(first=()):
    model = keras.Sequential([
        keras.layers.Input((INPUTS,)), *first, keras.layers.Dense(WIDTH, activation="relu"),
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
    """A dataset that sleeps for each batch, inside TensorFlow and not while the one before is
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


def arrays(faults, steps, batch=BATCH):
    times = steps * batch // len(x) + 1
    inputs, labels = np.tile(x, (times, 1))[:steps * batch], np.tile(y, times)[:steps * batch]
    make_model().fit(inputs, labels, batch_size=batch, verbose=0, callbacks=[Watcher(faults)])


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


def by_batch(faults, steps):
    """A loop of the script's own around train_on_batch."""
    model = make_model()
    for _ in range(steps):
        faults.next_step()
        model.train_on_batch(x[:BATCH], y[:BATCH])
        if "user" in faults:
            with faults.at("user"):
                time.sleep(faults.sizes["user"] / 1e3)


def two_sizes(faults, steps):
    """Small batches, and then large ones for a new model."""
    small = faults.sizes.get("tiny", BATCH)
    note_fixed_part(faults, lambda size, count: arrays(faults, count, size), small, steps,
                    LARGE_BATCH, LARGE_STEPS)


class SlowNowAndThen(keras.layers.Layer):
    """Takes longer for some of the batches."""

    def __init__(self, faults):
        super().__init__()
        self.faults, self.seen = faults, 0

    def look(self, batch):
        self.seen += 1
        if self.seen % SLOW_EVERY == 0:
            self.faults.sleep("tail")
        return batch

    def call(self, batch):
        return tf.ensure_shape(tf.numpy_function(self.look, [batch], tf.float32), batch.shape)


def predictions(faults, steps):
    """Some training, and then one prediction after the other."""
    arrays(faults, steps)
    model = make_model([SlowNowAndThen(faults)])
    for _ in range(PREDICTIONS):
        model.predict_on_batch(x[:BATCH])


KINDS = {"arrays": arrays, "dataset": dataset, "by batch": by_batch, "two sizes": two_sizes,
         "predictions": predictions}
