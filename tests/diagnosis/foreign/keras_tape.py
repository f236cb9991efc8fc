"""A training loop from scratch: GradientTape, metrics by hand, validation after each epoch."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(23)
random = np.random.default_rng(23)
x = random.standard_normal((2560, 128)).astype("float32")
y = random.integers(0, 10, 2560)
train_data = tf.data.Dataset.from_tensor_slices((x[:2240], y[:2240])).shuffle(2240, seed=1).batch(32)
validation = tf.data.Dataset.from_tensor_slices((x[2240:], y[2240:])).batch(32)

model = keras.Sequential([
    layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(10)])
optimizer = keras.optimizers.Adam(1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_accuracy = keras.metrics.SparseCategoricalAccuracy()
train_top = keras.metrics.SparseTopKCategoricalAccuracy(k=3)
train_loss = keras.metrics.Mean()
val_accuracy = keras.metrics.SparseCategoricalAccuracy()


def keep_metrics(labels, logits, loss):
    train_accuracy.update_state(labels, logits)
    train_top.update_state(labels, logits)
    train_loss.update_state(loss)
    return float(train_accuracy.result()), float(train_top.result()), float(train_loss.result())


for epoch in range(3):
    for step, (batch, labels) in enumerate(train_data):
        with tf.GradientTape() as tape:
            logits = model(batch, training=True)
            loss = loss_fn(labels, logits)
        gradients = tape.gradient(loss, model.trainable_weights)
        optimizer.apply(gradients, model.trainable_weights)
        shown = keep_metrics(labels, logits, loss)
        if step % 35 == 0:
            print("epoch %d step %d: %r" % (epoch, step, shown))
    for metric in (train_accuracy, train_top, train_loss):
        metric.reset_state()
    for batch, labels in validation:
        val_accuracy.update_state(labels, model(batch, training=False))
    print("validation", repr(float(val_accuracy.result())))
    val_accuracy.reset_state()
