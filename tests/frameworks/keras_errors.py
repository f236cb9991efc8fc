"""Training that fails, in the way that is asked for: keras_errors.py
callback|layer|data|interrupt|kill|predict|traced|compiled|eager|replica.

In the fifth batch, but for the layer and what is traced, which fail when they are called first. The
last four train without fit."""

import contextlib
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
        if batch == 4 and CASE == "predict":
            self.model.predict(np.zeros((16, 9)), verbose=0)
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


def train_by_hand():
    """In Python code that is traced, in an operation of a graph, or in one that runs at once."""
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope() if CASE == "replica" else contextlib.nullcontext():
        weights = tf.Variable(tf.ones([8, 1]))
        optimizer = keras.optimizers.SGD()
        optimizer.build([weights])

    def step(x):
        if CASE == "traced":
            raise ValueError("bad code")
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(x, weights))
            tf.debugging.assert_less(x, 4.0, "bad batch")
        optimizer.apply([tape.gradient(loss, weights)], [weights])

    def run(x):
        strategy.run(step, args=(x,))

    steps = {"eager": step, "replica": run}
    for x in tf.data.Dataset.range(10).map(lambda at: tf.fill([16, 8], tf.cast(at, tf.float32))):
        train = steps.setdefault(CASE, tf.function(step))
        train(x)


if CASE in ("traced", "compiled", "eager", "replica"):
    train_by_hand()
    sys.exit("it did not fail")

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
