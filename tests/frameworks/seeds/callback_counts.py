"""A callback that does next to nothing."""

import numpy as np
import tensorflow as tf


class Minimal(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 100 == 0:
            print("batch %d is done" % batch)


model = tf.keras.Sequential([tf.keras.layers.Input((20,)), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(np.random.rand(320, 20), np.random.rand(320, 1), batch_size=32, epochs=2, verbose=0,
          callbacks=[Minimal()])
