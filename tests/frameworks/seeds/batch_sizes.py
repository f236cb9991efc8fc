"""Is it faster with batches of 16 or of 128? One model each, one after the other, in eager
loops.

With a number as argument each batch is waited for by this many seconds."""

import sys
import time

import tensorflow as tf

DELAY_S = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0


def train(batch, epochs=2):
    model = tf.keras.Sequential([
        tf.keras.layers.Input((28, 28, 1)), tf.keras.layers.Conv2D(4, 3, activation="relu"),
        tf.keras.layers.MaxPooling2D(2), tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, activation="softmax")])
    optimizer, loss_of = tf.keras.optimizers.Adam(), tf.keras.losses.CategoricalCrossentropy()
    labels = tf.one_hot(tf.random.uniform((1000,), 0, 10, dtype=tf.int32), depth=10)
    data = tf.data.Dataset.from_tensor_slices((tf.random.normal((1000, 28, 28, 1)), labels))
    start = time.time()
    for _ in range(epochs):
        for x, y in data.batch(batch):
            if DELAY_S:
                time.sleep(DELAY_S)
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return time.time() - start


print("batches of 16: %.2f s" % train(16))
print("batches of 128: %.2f s" % train(128))
