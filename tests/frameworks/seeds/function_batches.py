"""A compiled step, timed from outside, on one batch again and again."""

import time

import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.layers.Input((10,)), tf.keras.layers.Dense(128, activation="relu"),
    tf.keras.layers.Dense(10, activation="softmax")])
optimizer = tf.keras.optimizers.Adam()
loss_of = tf.keras.losses.CategoricalCrossentropy()
inputs = tf.random.normal((32, 10))
labels = tf.one_hot(tf.random.uniform((32,), maxval=10, dtype=tf.int32), depth=10)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for number in range(100):
    start = time.time()
    train_step(inputs, labels)
    if number % 50 == 0:
        print("batch %d took %.4f s" % (number, time.time() - start))
