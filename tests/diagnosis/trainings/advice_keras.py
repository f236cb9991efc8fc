"""Keras: faults of the advice trials, and the advice followed (advice_torch.py says how).

On TensorFlow, or what KERAS_BACKEND says."""

import os
import tempfile
import time

import keras
import numpy as np

if keras.backend.backend() == "torch":
    import torch
    torch.set_num_threads(1)
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)

BATCH, INPUTS, WIDTH = 64, 256, 512
EPOCH = 20  # steps, where there are several
x = np.random.rand(BATCH, INPUTS).astype("float32")
y = np.random.randint(0, 10, (BATCH,))


def is_cured(cure, name=None):
    return cure is not None and (name is None or cure["is"] == name)


def make_model(ballast=0, **words):
    model = keras.Sequential([
        keras.layers.Input((INPUTS,)), keras.layers.Dense(WIDTH, activation="relu"),
        keras.layers.Dense(WIDTH, activation="relu"), keras.layers.Dense(10)])
    model.compile(keras.optimizers.SGD(0.01),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True), **words)
    return model


def compute_for(numbers):
    return float(np.sort(np.sin(np.arange(numbers, dtype="float64"))).sum())


class Rows(keras.utils.PyDataset):
    def __init__(self, steps, work=lambda: None, **words):
        super().__init__(**words)
        self.steps, self.work = steps, work

    def __len__(self):
        return self.steps

    def __getitem__(self, at):
        self.work()
        return x, y


def fits(data, model=None, **words):
    model = model or make_model()

    def train():
        model.fit(data() if callable(data) and not hasattr(data, "__getitem__") else data,
                  verbose=0, **words)
    return train


def ready(steps):
    return Rows(steps)


def py_dataset(work):
    def make(cure, steps):
        words = {}
        if is_cured(cure, "workers"):
            words = {"workers": max(1, min(2, os.cpu_count()))}
            words["use_multiprocessing"] = "multiprocessing" in cure
        return fits(Rows(steps, work, **words))
    return make


def python_generator(cure, steps):
    """A generator, and a PyDataset that does the same with workers."""
    def rows():
        for _ in range(steps):
            time.sleep(0.008)
            yield x, y

    if is_cured(cure, "workers"):
        return fits(Rows(steps, lambda: time.sleep(0.008), workers=int(cure.get("workers") or 2)))
    return fits(rows, steps_per_epoch=steps)


class Watcher(keras.callbacks.Callback):
    def __init__(self, every):
        super().__init__()
        self.every = every

    def on_train_batch_end(self, batch, logs=None):
        if batch % self.every == 0:
            time.sleep(0.005)


def callback(cure, steps):
    return fits(ready(steps), callbacks=[Watcher(50 if is_cured(cure, "every 50") else 1)])


class Weights(keras.callbacks.Callback):
    """Looks at all weights after each batch."""

    def __init__(self, every):
        super().__init__()
        self.every = every

    def on_train_batch_end(self, batch, logs=None):
        if batch % self.every == 0:
            for weight in self.model.get_weights():
                float(np.sort(weight.ravel()[:60000])[-1])


def weights(cure, steps):
    return fits(ready(steps), callbacks=[Weights(50 if is_cured(cure, "every 50") else 1)])


def saving(cure, steps):
    """Every 10 batches, or after the epoch."""
    def train():
        place = os.path.join(tempfile.mkdtemp(), "model.weights.h5")
        keeper = keras.callbacks.ModelCheckpoint(
            place, save_weights_only=True, save_freq=steps if is_cured(cure, "rarely") else 10)
        model.fit(data, verbose=0, callbacks=[keeper])

    model, data = make_model(), ready(steps)
    return train


def validation(cure, steps):
    """After each short epoch."""
    words = {"validation_freq": int(cure["every"])} if is_cured(cure, "rarely") else {}
    return fits(ready(EPOCH), epochs=steps // EPOCH, validation_data=Rows(30), **words)


def own_code(cure, steps):
    """A loop of the script's own."""
    model, every = make_model(), 50 if is_cured(cure, "every 50") else 1

    def train():
        for number in range(steps):
            model.train_on_batch(x, y)
            if number % every == 0:
                time.sleep(0.005)
    return train


def mapped(cure, steps):
    """Operations of TensorFlow, one batch after the other."""
    def transform(seed):
        noise = tf.random.uniform([60000], seed=1) + tf.cast(seed, tf.float32)
        return x + 0 * tf.reduce_sum(tf.sort(noise)), y

    data = tf.data.Dataset.range(steps)
    if is_cured(cure, "parallel"):
        data = data.map(transform, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    else:
        data = data.map(transform)
    return fits(data)


def python_mapped(cure, steps):
    """Python code in a map that is parallel already: the interpreter runs one at a time."""
    values = np.random.rand(4000)

    def in_python(at):
        total = 0.0
        for value in values.tolist():
            total += value * value if value > 0.5 else -value
        return np.float32(total)

    def transform(at):
        if is_cured(cure, "operations"):
            total = tf.reduce_sum(tf.where(values > 0.5, values * values, -values))
            return x + 0 * tf.cast(total, tf.float32), y
        found = tf.numpy_function(lambda at: sum(in_python(at) for _ in range(12)) * np.float32(1),
                                  [at], tf.float32)
        return x + 0 * tf.reshape(found, ()), y

    data = tf.data.Dataset.range(steps).map(transform, num_parallel_calls=tf.data.AUTOTUNE)
    return fits(data.prefetch(tf.data.AUTOTUNE))


def small_batches(cure, steps):
    """As many samples, a few in each batch, or several batches in a call; larger ones are tried."""
    words = {"steps_per_execution": 32} if is_cured(cure, "execution") else {}
    size = 64 if is_cured(cure, "larger") else 4
    model = keras.Sequential([keras.layers.Input((INPUTS,)), keras.layers.Dense(64),
                              keras.layers.Dense(10)])
    model.compile("sgd", "mse", **words)
    count = steps * 4
    samples, labels = np.random.rand(count, INPUTS), np.random.rand(count, 10)

    def train():
        model.fit(samples, labels, batch_size=size, verbose=0)
        if not cure:
            model.fit(samples, labels, batch_size=64, verbose=0)
    return train


def short_epochs(cure, steps):
    """An iterator for each of many epochs of a few steps."""
    data = tf.data.Dataset.from_tensors((x, y)).repeat(4).shuffle(1000)
    if is_cured(cure):
        return fits(data.repeat(), epochs=1, steps_per_epoch=steps)
    return fits(data, epochs=steps // 4)


KINDS = {
    "waiting PyDataset": py_dataset(lambda: time.sleep(0.008)),
    "computed PyDataset": py_dataset(lambda: compute_for(120000)),
    "generator": python_generator, "callback": callback, "weights": weights, "saving": saving,
    "validation": validation, "own code": own_code, "mapped": mapped,
    "python mapped": python_mapped, "small batches": small_batches, "short epochs": short_epochs,
}
