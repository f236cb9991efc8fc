"""A compiled step that is given the number of the step, as a Python number: it is traced again
each time."""

import tempfile

import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.layers.Input((10,)), tf.keras.layers.Dense(128, activation="relu"),
    tf.keras.layers.Dense(10, activation="softmax")])
optimizer = tf.keras.optimizers.Adam()
loss_of = tf.keras.losses.CategoricalCrossentropy()
inputs = tf.random.normal((32, 10))
labels = tf.one_hot(tf.random.uniform((32,), maxval=10, dtype=tf.int32), depth=10)
with tempfile.TemporaryDirectory() as folder:
    writer = tf.summary.create_file_writer(folder)

    @tf.function
    def train_step(x, y, number):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        with writer.as_default():
            tf.summary.scalar("loss", loss, step=number)

    for number in range(12):
        train_step(inputs, labels, number)
