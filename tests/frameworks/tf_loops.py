"""Trains without fit, in many ways: tf_loops.py FOLDER CASE... 6 epochs of 10 batches, each with
3 batches of evaluation after it.

Prints what came out, to be compared bit by bit. With a folder each case is a run of its own in
there, which is started when TensorFlow has long been imported; "" for none."""

import functools
import hashlib
import itertools
import os
import sys
import tempfile
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

EPOCHS = 6


class Task:
    """A model with what trains it, and a step in eager code."""

    def __init__(self, dropped=0.1):
        self.model = keras.Sequential([
            keras.layers.Input((8,)), keras.layers.Dense(32), keras.layers.Dropout(dropped),
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


def redefined():
    """By the same name, for another task."""
    task = Task()

    @tf.function
    def train_step(x, y):
        return task.step(x, y)

    task.loop(train_step)
    other = Task()

    @tf.function
    def train_step(x, y):
        return other.step(x, y)

    other.loop(train_step)
    return other


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


def two_functions():
    """The same in functions, and then in one of another name, for another model."""
    task, other, third = Task(), Task(), Task()

    @tf.function
    def train_model(x, y):
        return task.step(x, y)

    @tf.function
    def train_opponent(x, y):
        return other.step(x, y)

    task.loop(lambda *batch: train_model(*batch) + train_opponent(*batch))
    third.loop(tf.function(third.step))
    return third


def saves():
    """In each way that TensorFlow has, twice in the middle of an epoch too."""
    task = Task()
    made = tf.train.Checkpoint(model=task.model)
    step = tf.function(task.step)

    def step_and_read(x, y):
        loss = step(x, y)
        if task.optimizer.iterations.numpy() in (17, 38):
            made.read(made.write(kept + "/written"))
        return loss

    with tempfile.TemporaryDirectory() as kept:
        keeper = tf.train.CheckpointManager(made, kept + "/managed", max_to_keep=2)
        task.loop(step_and_read, after_epoch=keeper.save)
        made.restore(made.save(kept + "/saved"))
    return task


def mirrored():
    """Two replicas, which run eagerly."""
    return run_two_epochs(*make_mirrored(data))


def mirrored_otherwise():
    """The same; the functions have no names, or are given by keyword."""
    def call(run, function, batch):
        if next(turn) % 2:
            run(fn=function, args=batch)
        else:
            run(functools.partial(function), args=batch)

    turn = itertools.count()
    return run_two_epochs(*make_mirrored(data), call)


def mirrored_by_keyword():
    """The same, of functions that are compiled."""
    strategy, task, batches = make_mirrored(data)
    compiled = {function: tf.function(function) for function in (task.step, task.measure)}
    return run_two_epochs(strategy, task, batches, lambda run, function, batch:
                          run(fn=compiled[function], args=batch))


def mirrored_central():
    """The same with variables in one place. Keras cannot drop anything out there."""
    strategy = tf.distribute.experimental.CentralStorageStrategy(["CPU:0", "CPU:1"])
    return run_two_epochs(*distribute(strategy, data, dropped=0))


def run_two_epochs(strategy, task, batches,
                   call=lambda run, function, batch: run(function, args=batch)):
    for _ in range(2):
        for batch in batches:
            call(strategy.run, task.step, batch)
        for batch in batches:
            call(strategy.run, task.measure, batch)
    return task


def mirrored_function():
    """The same in a function. The first two batches are late, and the first step takes so long that
    the replicas' parts of the second batch are fetched in the meantime."""
    strategy, task, batches = make_mirrored(data.enumerate().map(lambda at, batch: (
        tf.ensure_shape(late(tf.where(at < 2, 0.02, 0.0), batch[0]), (16, 8)), batch[1])))
    few = strategy.experimental_distribute_dataset(data.take(3))
    evaluate = tf.function(lambda *batch: strategy.run(task.measure, args=batch))

    @tf.function
    def step(seconds, *batch):
        strategy.run(task.step, args=batch)
        return late(seconds, 0.0)

    for _ in range(EPOCHS):
        for number, batch in enumerate(batches):
            step(tf.constant(0.0 if number else 0.04), *batch)
        for batch in few:
            evaluate(*batch)
    return task


def mirrored_epoch():
    """Each replica has an iterator of its own, and gets parts of batches inside the function."""
    strategy, task, batches = make_mirrored(data)

    @tf.function
    def epoch(parts, many):
        for _ in tf.range(many):
            strategy.run(task.step, args=next(parts))

    for _ in range(EPOCHS):
        parts = iter(batches)
        for many in (7, 3):
            epoch(parts, tf.constant(many))
    return task


def two_threads():
    """While a step of the first loop runs, the second one gets the two batches of its next step."""
    first, second = Task(), Task()
    met = threading.Barrier(2, timeout=100)

    @tf.function
    def step(x, y):
        loss = first.step(x, y)
        with tf.control_dependencies([loss]):
            tf.py_function(lambda: met.wait() + met.wait(), [], tf.int64)
        return loss

    def train_second():
        step_second = tf.function(lambda x, y, more, unused: second.step(x + more, y))
        for _ in range(EPOCHS):
            batches, others = iter(data), iter(data)
            for _ in range(10):
                met.wait()
                both = *next(batches), *next(others)
                met.wait()
                step_second(*both)

    beside = threading.Thread(target=train_second)
    beside.start()
    for _ in range(EPOCHS):
        for batch in data:
            step(*batch)
    beside.join()
    return second


def late(seconds, value):
    """The same value, in a graph."""
    def wait(long, given):
        time.sleep(float(long))
        return given

    return tf.numpy_function(wait, [seconds, value], tf.float32)


@functools.cache
def two_replicas():
    """A second strategy would count its collective operations from the start: they would clash."""
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def make_mirrored(batches):
    """(strategy, task of its replicas, what gives them parts of the batches)"""
    return distribute(two_replicas(), batches)


def distribute(strategy, batches, **options):
    with strategy.scope():
        task = Task(**options)
    return strategy, task, strategy.experimental_distribute_dataset(batches)


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
if any("mirrored" in argument for argument in sys.argv[2:]):
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
