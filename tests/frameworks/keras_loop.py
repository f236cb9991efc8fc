"""Trains without fit: keras_loop.py eager|function|iterator. 6 epochs of 10 batches, and after each of them
3 batches of evaluation. Prints what came out, to be compared bit by bit."""

import hashlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

CASE = sys.argv[1]

keras.utils.set_random_seed(1)
inputs = np.random.rand(160, 8).astype("float32")
targets = np.random.rand(160, 1).astype("float32")
data = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(16)
model = keras.Sequential([
    keras.layers.Input((8,)), keras.layers.Dense(32), keras.layers.Dropout(0.1), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
loss_of = keras.losses.MeanSquaredError()


def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def evaluate(x, y):
    return loss_of(y, model(x))


@tf.function
def epoch(batches):
    loss = 0.0
    for _ in tf.range(10):
        loss = step(*next(batches))
    return loss


if CASE == "function":
    step = tf.function(step)
for _ in range(6):
    if CASE == "iterator":
        print(float(epoch(iter(data))))
    else:
        for number, batch in enumerate(data):
            loss = step(*batch)
            if number % 5 == 0:
                print(float(loss))
    for batch in data.take(3):
        evaluate(*batch)
digest = hashlib.md5()
for variable in model.variables + optimizer.variables:
    digest.update(variable.numpy().tobytes())
print(digest.hexdigest())
