"""Training that fails, in the way that is asked for: keras_errors.py
callback|layer|data|interrupt|kill.

In the fifth batch, but for the layer, which fails when it is called first."""

import os
import signal
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

CASE = sys.argv[1]


class Bad(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 4 and CASE == "callback":
            raise ValueError("bad callback")
        if batch == 4 and CASE == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if batch == 4 and CASE == "kill":
            os.kill(os.getpid(), signal.SIGKILL)


class Broken(keras.layers.Layer):
    def call(self, x):
        raise ValueError("bad layer")


def generate():
    for number in range(10):
        if number == 4:
            raise ValueError("bad data")
        yield np.zeros((16, 8)), np.zeros((16, 1))


layers = [Broken()] if CASE == "layer" else [keras.layers.Input((8,))]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.compile("sgd", "mse")
if CASE == "data":
    try:
        model.fit(generate(), verbose=0)
    except Exception:  # the interpreter's end waits, now and then for ever, for the input's thread
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
else:
    model.fit(np.zeros((160, 8)), np.zeros((160, 1)), batch_size=16, verbose=0, callbacks=[Bad()])
