"""Ten steps in a session of TensorFlow's own profiler, and ten after it."""

import tempfile

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


with tempfile.TemporaryDirectory() as folder:
    tf.profiler.experimental.start(folder)
    for _ in range(10):
        train_step(inputs, labels)
    tf.profiler.experimental.stop()
for _ in range(10):
    train_step(inputs, labels)
