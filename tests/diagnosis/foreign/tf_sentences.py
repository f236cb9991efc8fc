"""Sentences of any length, a batch at a time, each padded to its own longest one."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(32)
random = np.random.default_rng(32)
WORDS = 500
model = keras.Sequential([
    layers.Embedding(WORDS, 32), layers.Conv1D(32, 3, activation="relu"),
    layers.GlobalMaxPooling1D(), layers.Dense(1)])
optimizer = keras.optimizers.Adam(1e-3)
loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(sentences, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(sentences, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def next_batch(size=16):
    lengths = random.integers(12, 60, size)
    rows = [random.integers(1, WORDS, length) for length in lengths]
    padded = keras.utils.pad_sequences(rows, padding="post")
    labels = (padded.sum(axis=1, keepdims=True) % 2).astype("float32")
    return tf.constant(padded), tf.constant(labels)


for step in range(150):
    loss = train_step(*next_batch())
    if step % 30 == 0:
        print("step %d: %r" % (step, float(loss)))
