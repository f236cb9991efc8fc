"""A compiled training step, and batches from a Python generator that makes them while one waits."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(31)
random = np.random.default_rng(31)
SIGNALS = random.standard_normal((600, 2048)).astype("float32")
KINDS = random.integers(0, 4, 600)
model = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(4)])
optimizer = keras.optimizers.SGD(0.05)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def spectrum(signal):
    pieces = [signal[start:start + 128] * np.hanning(128) for start in range(0, 1920, 64)]
    return np.log1p(np.abs(np.fft.rfft(np.stack(pieces), axis=1))).mean(axis=0)


def batches(count, size=32):
    for _ in range(count):
        chosen = random.integers(0, len(SIGNALS), size)
        yield np.stack([spectrum(SIGNALS[one]) for one in chosen]).astype("float32"), KINDS[chosen]


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def main():
    for step, (x, y) in enumerate(batches(300)):
        loss = train_step(tf.convert_to_tensor(x), tf.convert_to_tensor(y))
        if step % 50 == 0:
            print("step %d: %r" % (step, float(loss)))


if __name__ == "__main__":
    main()
