"""TensorFlow: loops of the script's own, with faults of the advice trials, and the advice followed
(advice_torch.py says how)."""

import time

import numpy as np
import tensorflow as tf
from advice_keras import BATCH, INPUTS, compute_for, is_cured, make_model, x, y

loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
KINDS_OF_BATCH = (tf.TensorSpec((BATCH, INPUTS), tf.float32), tf.TensorSpec((BATCH,), tf.int64))


def step_of(model):
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(inputs, labels, scale=1.0):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(inputs)) * scale
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    return train_step


def trains(data, after=lambda number: None):
    train_step = step_of(make_model())

    def train():
        for number, (inputs, labels) in enumerate(data):
            train_step(inputs, labels)
            after(number)
    return train


def ready(steps):
    return tf.data.Dataset.from_tensors((x, y)).repeat(steps)


def python_rows(steps, work):
    def rows():
        for _ in range(steps):
            work()
            yield x, y.astype("int64")
    return rows


def own_generator(work):
    """The loop is over a generator of the script's own; or of a dataset that runs beside it."""
    def make(cure, steps):
        rows = python_rows(steps, work)
        if is_cured(cure):
            data = tf.data.Dataset.from_generator(rows, output_signature=KINDS_OF_BATCH)
            return trains(data.prefetch(tf.data.AUTOTUNE))

        class Rows:
            def __iter__(self):
                return rows()
        return trains(Rows())
    return make


def from_generator(cure, steps):
    """A dataset that does not run ahead."""
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    data = tf.data.Dataset.from_generator(python_rows(steps, lambda: time.sleep(0.006)),
                                          output_signature=KINDS_OF_BATCH)
    if is_cured(cure, "prefetch"):
        data = data.prefetch(tf.data.AUTOTUNE)
    return trains(data.with_options(options))


def mapped(cure, steps):
    def transform(seed):
        noise = tf.random.uniform([60000], seed=1) + tf.cast(seed, tf.float32)
        return x + 0 * tf.reduce_sum(tf.sort(noise)), y

    data = tf.data.Dataset.range(steps)
    if is_cured(cure, "parallel"):
        data = data.map(transform, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    else:
        data = data.map(transform)
    return trains(data)


def log_each(cure, steps):
    every = 50 if is_cured(cure, "every 50") else 1

    def log(number):
        if number % every == 0:
            time.sleep(0.005)
    return trains(ready(steps), log)


def python_numbers(cure, steps):
    """A new Python number every ten steps is a new function."""
    train_step = step_of(make_model())
    inputs, labels = tf.constant(x), tf.constant(y)
    seen = [0]

    def train():
        for number in range(steps):
            seen[0] += number % 10 == 9
            rate = 1.0 + seen[0] * 1e-6
            train_step(inputs, labels, tf.constant(rate) if is_cured(cure) else rate)
    return train


def iterator_each_step(cure, steps):
    data = tf.data.Dataset.from_tensor_slices((np.tile(x, (20, 1)), np.tile(y, 20)))
    data = data.shuffle(20 * BATCH).repeat().batch(BATCH)
    train_step = step_of(make_model())

    def train():
        rows = iter(data)
        for _ in range(steps):
            train_step(*(next(rows) if is_cured(cure) else next(iter(data))))
    return train


KINDS = {
    "waiting generator": own_generator(lambda: time.sleep(0.006)),
    "computed generator": own_generator(lambda: compute_for(60000)),
    "from_generator": from_generator, "mapped": mapped, "log each": log_each,
    "python numbers": python_numbers, "iterator each step": iterator_each_step,
}
