"""Compressed samples, unpacked by a Python function in a tf.data pipeline, for fit."""

import zlib

import keras
import numpy as np
import tensorflow as tf
from keras import layers

random = np.random.default_rng(25)
SAMPLES = [zlib.compress(random.integers(0, 40, 24000, dtype=np.uint8).tobytes())
           for _ in range(640)]
LABELS = random.integers(0, 3, 640).astype("int32")


def load_sample(index):
    row = np.frombuffer(zlib.decompress(SAMPLES[int(index)]), dtype=np.uint8)
    row = row.astype(np.float32).reshape(100, 240)
    row = (row - row.mean(axis=0)) / (row.std(axis=0) + 1e-6)
    return row.mean(axis=0), LABELS[int(index)]


def as_tensors(index):
    row, label = tf.py_function(load_sample, [index], [tf.float32, tf.int32])
    return tf.ensure_shape(row, (240,)), tf.ensure_shape(label, ())


keras.utils.set_random_seed(25)
data = tf.data.Dataset.range(640).shuffle(640, seed=1).map(as_tensors).batch(16)
model = keras.Sequential([
    layers.Input((240,)), layers.Dense(64, activation="relu"), layers.Dense(3)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(data, epochs=8, verbose=2)
print(repr(history.history["loss"][-1]))
