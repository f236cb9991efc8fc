"""Training that fails, in the way that is asked for: keras_errors.py callback|layer."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np


class Bad(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 4 and sys.argv[1] == "callback":
            raise ValueError("bad callback")


class Broken(keras.layers.Layer):
    def call(self, x):
        if sys.argv[1] == "layer":
            raise ValueError("bad layer")
        return x


model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
if sys.argv[1] == "layer":
    model = keras.Sequential([Broken(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.zeros((160, 8)), np.zeros((160, 1)), batch_size=16, verbose=0, callbacks=[Bad()])
