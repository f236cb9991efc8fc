"""Trains with delays of 0, 1, 5 and 20 ms in turn at places of known stage: keras_truth.py
PLACE...

One loop for each place. Prints for each of them how long it slept, by its own clock, in the
order of time; by the name of the span where there is one. An epoch has 10 batches of 16 rows."""

import itertools
import json
import os
import sys
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras_fit import make_two_devices

BATCHES, BATCH, EPOCHS = 10, 16, 8
DELAYS_MS = 0, 1, 5, 20
widths = itertools.count(16)  # models of one size, trained by one line, would be one training of parts

slept = {}
turn = 0


def sleep(place, turns=True):
    """For as long as it is this turn's; `turns` says whether the next turn begins."""
    global turn
    start = time.perf_counter_ns()
    time.sleep(DELAYS_MS[turn % len(DELAYS_MS)] / 1e3)
    slept.setdefault(place, []).append(time.perf_counter_ns() - start)
    turn += turns


class Slow(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        sleep("Slower.on_train_batch_begin")

    def on_train_batch_end(self, batch, logs=None):
        sleep("Slower.on_train_batch_end", turns=False)

    def on_epoch_end(self, epoch, logs=None):
        sleep("Slower.on_epoch_end")


class Slower(Slow):
    """Its epoch end is one call, though two classes have a part in it."""

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)

    def on_test_batch_end(self, batch, logs=None):
        sleep("Slower.on_test_batch_end")


class SlowToSave(keras.layers.Layer):
    def call(self, x):
        return x

    def save_own_variables(self, store):
        sleep("saved")


class Saves(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        start = time.perf_counter_ns()
        self.model.save_weights("here.weights.h5")
        slept.setdefault("Model.save_weights", []).append(time.perf_counter_ns() - start)


class SlowLayer(keras.layers.Layer):
    """Sleeps in the graph, on the way forward in training."""

    def call(self, x, training=False):
        if not training:
            return x
        slow = tf.py_function(lambda given: sleep("compute") or given, [x], tf.float32)
        return tf.ensure_shape(tf.stop_gradient(slow), x.shape)


class Watch(keras.callbacks.Callback):
    """From asking for each batch to the next callback (took), and to its being made (waited), if it
    is known when that was, by the number of the batch."""

    def __init__(self, made=()):
        super().__init__()
        self.made, self.asked, self.took, self.waited = made, 0, [], []

    def on_train_batch_begin(self, batch, logs=None):
        self.asked = time.perf_counter_ns()

    def on_train_batch_end(self, batch, logs=None):
        self.took.append(time.perf_counter_ns() - self.asked)
        if batch in self.made:
            self.waited.append(max(0, self.made[batch] - self.asked))


class SlowEagerLayer(keras.layers.Layer):
    def call(self, x, training=False):
        if training:
            sleep("compute")
        return x


class SlowInference(keras.layers.Layer):
    def call(self, x, training=False):
        slow = tf.py_function(lambda given: sleep("predict_function") or given, [x], tf.float32)
        return tf.ensure_shape(slow, x.shape)


def make_model(*first, **compiled):
    made = keras.Sequential([
        keras.layers.Input((8,)), *first, keras.layers.Dense(next(widths), activation="relu"),
        keras.layers.Dense(1)])
    made.compile("adam", "mse", **compiled)
    return made


def slices():
    return tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(BATCH)


def without_prefetch(data):
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return data.with_options(options)


def slow_map(data):
    """Sleeps once a batch, on a thread of TensorFlow's."""
    def wait(batch):
        sleep("data")
        return batch

    return data.map(lambda x, y: (tf.ensure_shape(
        tf.numpy_function(wait, [x], tf.float32), (BATCH, 8)), y))


def callbacks():
    given = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: sleep("LambdaCallback.on_epoch_begin"))
    make_model(SlowToSave()).fit(
        inputs, targets, batch_size=BATCH, epochs=EPOCHS, verbose=2,
        validation_data=(inputs[:48], targets[:48]), validation_batch_size=BATCH,
        callbacks=[Slower(), given, Saves(), keras.callbacks.EarlyStopping(patience=99)])


def layer():
    watch = Watch()
    make_model(SlowLayer()).fit(
        inputs, targets, batch_size=BATCH, epochs=EPOCHS, verbose=0, callbacks=[watch])
    slept["took"] = watch.took


def eager_layer():
    watch = Watch()
    make_model(SlowEagerLayer(), run_eagerly=True).fit(
        inputs, targets, batch_size=BATCH, epochs=4, verbose=0, callbacks=[watch])
    slept["took"] = watch.took


def in_map():
    make_model().fit(without_prefetch(slow_map(slices())), epochs=EPOCHS, verbose=0)


def in_map_of_four():
    make_model(steps_per_execution=4).fit(
        without_prefetch(slow_map(slices().repeat())), epochs=2, steps_per_epoch=40, verbose=0)


def prefetched():
    """The loop takes longer than its data does."""
    class Busy(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep(0.025)

    make_model().fit(slow_map(slices()).prefetch(4), epochs=3, verbose=0, callbacks=[Busy()])


def predictions():
    model = make_model(SlowInference())
    model.make_predict_function()
    called = model.predict_function

    def predict(batch):
        start = time.perf_counter_ns()
        found = called(batch)
        slept.setdefault("took", []).append(time.perf_counter_ns() - start)
        return found

    model.predict_function = predict
    for _ in range(EPOCHS):
        model.predict(inputs, batch_size=BATCH, verbose=0)


def sleep_around(train):
    """Before and after the step, in a loop of one's own."""
    for x, y in slices().repeat(EPOCHS):
        sleep("other", turns=False)
        start = time.perf_counter_ns()
        train(x, y)
        slept.setdefault("took", []).append(time.perf_counter_ns() - start)
        sleep("other")


def user_code():
    sleep_around(make_model().train_on_batch)


def user_code_of_eager_loop():
    model = make_model()
    optimizer, loss_of = keras.optimizers.Adam(), keras.losses.MeanSquaredError()

    def train(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        found = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(found, model.trainable_variables))

    sleep_around(train)


class Source(keras.callbacks.Callback):
    """Makes batches by numbers. Each takes 2 ms and the delay of its turn, from when the loop asks
    for it: so it is not ready by then, and the wait for it grows by as much as the delay does. For a
    loop that is slow they are made ahead, 22 ms each."""

    def __init__(self, is_loop_slow):
        super().__init__()
        self.is_loop_slow = is_loop_slow
        self.many = 30 if is_loop_slow else 160
        self.asked = [threading.Event() for _ in range(self.many + 1)]  # and for the end
        self.took = [0] * self.many

    def on_train_batch_begin(self, batch, logs=None):
        self.asked[batch].set()

    def on_train_batch_end(self, batch, logs=None):
        if self.is_loop_slow:
            time.sleep(0.025)

    def make(self, at):
        delay_ms = DELAYS_MS[-1 if self.is_loop_slow else at % len(DELAYS_MS)]
        if at > 1 and not self.is_loop_slow:  # Keras looks at two of them before it begins
            assert self.asked[at].wait(100)
        start = time.perf_counter_ns()
        time.sleep((2 + delay_ms) / 1e3)
        self.took[at] = time.perf_counter_ns() - start
        return inputs[:BATCH], targets[:BATCH]


class Rows(keras.utils.PyDataset):
    def __init__(self, source):
        super().__init__(workers=2)
        self.source = source

    def __len__(self):
        return self.source.many

    def __getitem__(self, at):
        return self.source.make(at)


def in_generator():
    fit_source(lambda source: (source.make(at) for at in range(source.many)))


def in_workers():
    fit_source(Rows)


def fit_source(batches_of):
    """A loop that waits for each batch, and one that is slower than they are made."""
    for is_slow in (False, True):
        source = Source(is_slow)
        make_model().fit(batches_of(source), shuffle=False, verbose=0, callbacks=[source])
        slept["ahead" if is_slow else "asked"] = source.took


def in_map_of_replicas():
    """Parts of batches are got ahead for two replicas."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for delay_ms in (0, 20):
        made = {}

        def wait(at, batch):
            time.sleep(delay_ms / 1e3)
            made[int(at)] = time.perf_counter_ns()
            return batch

        batches = slices().repeat(4).enumerate().map(lambda at, batch: (tf.ensure_shape(
            tf.numpy_function(wait, [at, batch[0]], tf.float32), (BATCH, 8)), batch[1]))
        with strategy.scope():
            model = make_model()
        watch = Watch(made)
        model.fit(without_prefetch(batches), verbose=0, callbacks=[watch])
        slept[delay_ms] = watch.waited


if "in_map_of_replicas" in sys.argv:
    make_two_devices()
keras.utils.set_random_seed(1)
inputs = np.random.rand(BATCHES * BATCH, 8).astype("float32")
targets = np.random.rand(BATCHES * BATCH, 1).astype("float32")
for name in sys.argv[1:]:
    slept.clear()
    turn = 0
    globals()[name]()
    print("SLEPT", json.dumps([name, slept]))
