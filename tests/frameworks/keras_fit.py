"""Trains a small Keras model in one of many ways: keras_fit.py CASE [MILLISECONDS].

Prints what came out, to be compared bit by bit, and after that how long it slept, by its own clock, at
each place that the case slows down. Every epoch has 10 batches of 16."""

import contextlib
import hashlib
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

CASE = sys.argv[1]
DELAY_S = float(sys.argv[2]) / 1e3 if len(sys.argv) > 2 else 0.0
BATCHES, BATCH = 10, 16

slept = {}


@contextlib.contextmanager
def timed(place):
    start = time.perf_counter_ns()
    yield
    slept.setdefault(place, []).append(time.perf_counter_ns() - start)


def sleep(place):
    with timed(place):
        time.sleep(DELAY_S)


class Slow(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        sleep("Slower.on_train_batch_begin")

    def on_train_batch_end(self, batch, logs=None):
        sleep("Slower.on_train_batch_end")

    def on_epoch_end(self, epoch, logs=None):
        sleep("Slower.on_epoch_end")


class Slower(Slow):
    """Its epoch end is one call, though two classes have a part in it."""

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)

    def on_test_batch_end(self, batch, logs=None):
        sleep("Slower.on_test_batch_end")


class Saves(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        with timed("Model.save_weights"):
            self.model.save_weights("here.weights.h5")


class Predicts(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.predict(inputs[:BATCH], verbose=0)


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return BATCHES

    def __getitem__(self, at):
        return inputs[at * BATCH:][:BATCH], targets[at * BATCH:][:BATCH]


def generate():
    for at in range(BATCHES):
        yield inputs[at * BATCH:][:BATCH], targets[at * BATCH:][:BATCH]


def unknown_length():
    shapes = tf.TensorSpec((BATCH, 8)), tf.TensorSpec((BATCH, 1))
    return tf.data.Dataset.from_generator(generate, output_signature=shapes)


def slow_map(prefetch):
    """A dataset whose map sleeps once a batch, on a thread of TensorFlow's."""

    def wait(batch):
        sleep("map")
        return batch

    data = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(BATCH)
    data = data.map(lambda x, y: (tf.ensure_shape(
        tf.numpy_function(wait, [x], tf.float32), (BATCH, 8)), y))
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return data.prefetch(4).with_options(options) if prefetch else data.with_options(options)


def make_model():
    made = keras.Sequential([
        keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"),
        keras.layers.BatchNormalization(), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    made.compile("adam", "mse", steps_per_execution=4 if CASE.startswith("four") else 1,
                 run_eagerly=CASE == "eager", jit_compile=CASE == "jit")
    return made


def scope():
    if CASE != "mirrored":
        return contextlib.nullcontext()
    device = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(device, [tf.config.LogicalDeviceConfiguration()] * 2)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope()


def train():
    """Gives the history, where there is one."""
    arrays = {"x": inputs, "y": targets, "batch_size": BATCH}
    if CASE == "callbacks":
        given = keras.callbacks.LambdaCallback(on_epoch_begin=lambda *_: sleep("LambdaCallback"))
        return model.fit(**arrays, epochs=6, verbose=2, validation_data=(inputs[:32], targets[:32]),
                         callbacks=[Slower(), given, Saves(), keras.callbacks.EarlyStopping(patience=9)])
    if CASE == "map":
        return model.fit(slow_map(False), epochs=6, verbose=0)
    if CASE == "prefetch":
        return model.fit(slow_map(True), epochs=6, verbose=0, callbacks=[Slow()])
    if CASE == "by_hand":
        for batch in list(generate()) * 6:
            model.train_on_batch(*batch)
            sleep("other")
        return None
    if CASE == "predicts":
        return model.fit(**arrays, epochs=2, verbose=0, callbacks=[Predicts()])
    if CASE == "weighted":
        return model.fit(**arrays, epochs=2, verbose=0, sample_weight=np.linspace(0, 1, len(inputs)))
    if CASE == "again":
        for _ in range(3):
            history = model.fit(**arrays, epochs=2, verbose=0)
        return history
    if CASE == "four_endless":
        data = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(BATCH).repeat()
        return model.fit(data, epochs=2, verbose=0, steps_per_epoch=BATCHES)
    if CASE == "generator":
        return model.fit(generate(), epochs=1, verbose=0)
    if CASE == "unknown":
        return model.fit(unknown_length(), epochs=2, verbose=0)
    if CASE == "dataset":
        return model.fit(Rows(workers=2), epochs=2, verbose=0)
    return model.fit(**arrays, epochs=2, verbose=0)


keras.utils.set_random_seed(1)
inputs = np.random.rand(BATCHES * BATCH, 8).astype("float32")
targets = np.random.rand(BATCHES * BATCH, 1).astype("float32")
with scope():
    model = make_model()
past = train()
digest = hashlib.md5()
for variable in model.variables + model.optimizer.variables:
    digest.update(variable.numpy().tobytes())
print(digest.hexdigest(), json.dumps(past.history if past else None))
print(json.dumps(slept))
