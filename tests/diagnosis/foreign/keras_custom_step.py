"""A model with a train_step of its own, and a callback that keeps statistics of all weights."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers


class Regression(keras.Model):
    def __init__(self):
        super().__init__()
        self.stack = keras.Sequential([
            layers.Dense(256, activation="relu"), layers.Dense(256, activation="relu"),
            layers.Dense(1)])
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.error = keras.metrics.MeanAbsoluteError(name="mae")

    def call(self, x):
        return self.stack(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = tf.reduce_mean(tf.square(predicted - y))
        weights = self.trainable_variables
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        self.loss_tracker.update_state(loss)
        self.error.update_state(y, predicted)
        return {"loss": self.loss_tracker.result(), "mae": self.error.result()}

    @property
    def metrics(self):
        return [self.loss_tracker, self.error]


class WeightHistory(keras.callbacks.Callback):
    """For plots later on: how the weights of each layer are spread."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        row = {"loss": logs["loss"]}
        for layer in self.model.stack.layers:
            for weights in layer.get_weights():
                row[layer.name] = np.histogram(weights, bins=40)[0], np.percentile(weights, [5, 95])
        self.rows.append(row)


keras.utils.set_random_seed(22)
random = np.random.default_rng(22)
x = random.standard_normal((1920, 64)).astype("float32")
y = (x[:, :1] * 2 + x[:, 1:2]).astype("float32")
model, history = Regression(), WeightHistory()
model.compile(optimizer=keras.optimizers.Adam(1e-3))
model.fit(x, y, batch_size=32, epochs=3, verbose=2, callbacks=[history])
print(len(history.rows), repr(float(history.rows[-1]["loss"])))
