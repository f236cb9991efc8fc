"""Input of which each part is known: what an adapter says of it, then a training whose batches Python
code makes in threads of TensorFlow, in a function inside one that AutoGraph converts.

    tf_input.py KIND

KIND is computes or waits."""

import json
import sys
import time

import numpy as np
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
STEPS, BATCH, INPUTS = 40, 4, 8


def describe():
    """{name: what the adapter says}."""
    from stepscope.adapters import _pipeline

    base = tf.data.Dataset.range(8)

    def python(i):
        return tf.numpy_function(lambda v: v, [i], tf.int64)

    def hidden(i):
        return tf.function(python)(i)

    def rows():
        yield 1

    generated = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((), tf.int64))
    pipelines = {
        "plain": base.batch(2),
        "ahead": base.map(lambda i: i, num_parallel_calls=2).prefetch(2),
        "ahead below": base.prefetch(2).map(lambda i: i),
        "ahead and more": base.cache().prefetch(AUTOTUNE).take(3).repeat(2),
        "options": base.prefetch(1).with_options(tf.data.Options()),
        "python": base.map(python, num_parallel_calls=AUTOTUNE),
        "hidden": base.map(hidden),
        "generator": generated.batch(2),
        "interleave": base.interleave(lambda i: tf.data.Dataset.from_tensors(i)),
        "parallel": base.interleave(lambda i: tf.data.Dataset.from_tensors(i),
                                    num_parallel_calls=2),
        "zip": tf.data.Dataset.zip((base.cache(), base.map(lambda i: i))),
    }
    return {name: _pipeline.of_dataset(dataset) for name, dataset in pipelines.items()}


def load(kind):
    def convert(i):
        def decode(value):
            if kind == "waits":
                time.sleep(0.012)
            total = 0
            while kind == "computes" and total < 200:
                total += 1
            return np.full((INPUTS,), value, "float32")

        x = tf.numpy_function(decode, [i], tf.float32)
        return tf.ensure_shape(x, (INPUTS,)), tf.cast(i % 2, tf.float32)
    return convert


def train(kind):
    weights = tf.Variable(tf.zeros((INPUTS, 1)))

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.squeeze(x @ weights, 1) - y) ** 2)
        weights.assign_sub(1e-9 * tape.gradient(loss, weights))

    data = tf.data.Dataset.range(STEPS * BATCH).map(load(kind), num_parallel_calls=AUTOTUNE)
    for x, y in data.batch(BATCH).prefetch(AUTOTUNE):
        step(x, y)
    for _ in tf.data.Dataset.range(3).cache():  # what else is read is not its input
        pass


if __name__ == "__main__":
    if sys.argv[1] == "computes":
        print(json.dumps(describe()))
    train(sys.argv[1])
