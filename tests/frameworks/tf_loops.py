"""Trains without fit, in many ways: tf_loops.py FOLDER CASE... 6 epochs of 10 batches, each with
3 batches of evaluation after it.

Prints what came out, to be compared bit by bit. With a folder each case is a run of its own in
there, which is started when TensorFlow has long been imported; "" for none."""

import hashlib
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

EPOCHS = 6


class Task:
    """A model with what trains it, and a step in eager code."""

    def __init__(self):
        self.model = keras.Sequential([
            keras.layers.Input((8,)), keras.layers.Dense(32), keras.layers.Dropout(0.1),
            keras.layers.Dense(1)])
        self.optimizer = keras.optimizers.Adam()
        self.optimizer.build(self.model.trainable_variables)
        self.loss_of = keras.losses.MeanSquaredError()
        self.evaluate = tf.function(self.measure)

    def measure(self, x, y):
        return self.loss_of(y, self.model(x))

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss_of(y, self.model(x, training=True))
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    def loop(self, step, after_epoch=lambda: None):
        for _ in range(EPOCHS):
            for number, batch in enumerate(data):
                loss = step(*batch)
                if number % 5 == 0:
                    print("loss", float(loss))
            for batch in data.take(3):
                self.evaluate(*batch)
            after_epoch()


def eager():
    task = Task()
    task.loop(task.step)
    return task


def function():
    task = Task()
    task.loop(tf.function(task.step))
    return task


def traced_before():
    """The function has been traced before anything is recorded."""
    task = Task()
    step = tf.function(task.step)
    step(*next(iter(data)))
    yield
    task.loop(step)
    yield task


def whole_epoch():
    """All of an epoch is one call, which gets its batches by itself."""
    task = Task()

    @tf.function
    def epoch(batches):
        loss = 0.0
        for _ in tf.range(10):
            loss = task.step(*next(batches))
        return loss

    for _ in range(EPOCHS):
        print("loss", float(epoch(iter(data))))
    return task


def over_iterator():
    """The same, with a loop that AutoGraph makes a part of the graph."""
    task = Task()

    @tf.function
    def epoch(batches):
        for batch in batches:
            task.step(*batch)

    for _ in range(EPOCHS):
        epoch(iter(data))
    return task


def without_optimizer():
    """Weights are changed by hand."""
    task = Task()
    variables = task.model.trainable_variables

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = task.loss_of(y, task.model(x))
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign(variable - 0.1 * gradient)
        return loss

    task.loop(step)
    return task


def two_optimizers():
    """A model and its opponent, by turns: one step."""
    task, other = Task(), Task()
    task.loop(lambda *batch: task.step(*batch) + other.step(*batch))
    return task


def saves():
    task = Task()
    with tempfile.TemporaryDirectory() as kept:
        keeper = tf.train.CheckpointManager(
            tf.train.Checkpoint(model=task.model), kept, max_to_keep=2)
        task.loop(tf.function(task.step), after_epoch=keeper.save)
    return task


def mirrored():
    """Two replicas, which run eagerly."""
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        task = Task()
    batches = strategy.experimental_distribute_dataset(data)
    for _ in range(2):
        for batch in batches:
            strategy.run(task.step, args=batch)
        for batch in batches:
            strategy.run(task.measure, args=batch)
    return task


def train(case):
    """Starts to record when the case says so, or at once."""
    task = globals()[case]
    if case == "traced_before":
        parts = task()
        next(parts)
        start(case)
        return next(parts)
    start(case)
    return task()


def start(case):
    if folder:
        import stepscope

        assert stepscope.start(folder, case), stepscope.status()


def stop():
    if folder:
        import stepscope

        stepscope.stop()


folder = sys.argv[1]
if "mirrored" in sys.argv:
    device = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(device, [tf.config.LogicalDeviceConfiguration()] * 2)
keras.utils.set_random_seed(1)
inputs = np.random.rand(160, 8).astype("float32")
targets = np.random.rand(160, 1).astype("float32")
data = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(16)
for name in sys.argv[2:]:
    keras.utils.set_random_seed(2)
    done = train(name)
    stop()
    digest = hashlib.md5()
    for variable in done.model.variables + done.optimizer.variables:
        digest.update(variable.numpy().tobytes())
    print(name, digest.hexdigest())
