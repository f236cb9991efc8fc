"""TensorFlow: loops with a GradientTape, eager and as a function."""

import time

import tensorflow as tf
from train_keras import BATCH, make_model, slow_batches, x, y

loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def parts():
    model = make_model()
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    return model, optimizer


def eager(faults, steps):
    model, optimizer = parts()
    data = (slow_batches(faults, steps) if "input" in faults else
            tf.data.Dataset.from_tensors((x[:BATCH], y[:BATCH])).repeat(steps))
    for inputs, labels in faults.each(data):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(inputs))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        if "user" in faults:
            with faults.at("user"):
                time.sleep(faults.sizes["user"] / 1e3)


def function(faults, steps):
    """With the fault retrace it is given a new Python number now and then. Its Python code runs
    only while it is traced."""
    model, optimizer = parts()

    @tf.function(reduce_retracing=False)
    def train_step(inputs, labels, number):
        faults.sleep("compile", 1000)
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(inputs))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss * number

    inputs, labels = tf.constant(x[:BATCH]), tf.constant(y[:BATCH])
    with faults.watch.sum("compile"):
        train_step(inputs, labels, 0)
    every = int(faults.sizes.get("retrace", 0))
    usual = []
    for number in range(steps):
        faults.next_step()
        is_new = every and number % every == every - 1
        start = time.perf_counter()
        train_step(inputs, labels, number if is_new else 0)
        took = time.perf_counter() - start
        if not is_new:
            usual.append(took)
        else:
            faults.watch.steps[-1]["retrace"] = took - sorted(usual)[len(usual) // 2]
        if "user" in faults:
            with faults.at("user"):
                time.sleep(faults.sizes["user"] / 1e3)


KINDS = {"eager": eager, "function": function}
