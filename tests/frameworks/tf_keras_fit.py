"""Trains with Keras 2, by whichever name: tf_keras_fit.py tf_keras|tf.keras CASE...

Prints for each case what came out, to be compared bit by bit. An epoch has 10 batches of 16
rows."""

import hashlib
import itertools
import json
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if sys.argv[1] == "tf.keras":
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow as tf

    keras = tf.keras
else:
    import tf_keras as keras
import numpy as np


class Counts(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        with tempfile.TemporaryDirectory() as folder:
            self.model.save_weights(os.path.join(folder, "here.weights.h5"))


keras.utils.set_random_seed(1)
widths = itertools.count(16)  # models of one size, trained by one line, would be one training of parts
inputs = np.random.rand(160, 8).astype("float32")
targets = np.random.rand(160, 1).astype("float32")


def generate():
    for at in range(0, 160, 16):
        yield inputs[at:at + 16], targets[at:at + 16]


def make_model():
    return keras.Sequential([
        keras.layers.Input((8,)), keras.layers.Dense(next(widths), activation="relu"),
        keras.layers.Dropout(0.2), keras.layers.Dense(1)])


def train_two():
    """A model and its opponent, by turns, one of which was fitted before; then each by itself, after
    one more fit."""
    models = make_model(), make_model()
    for model in models:
        model.compile("adam", "mse")
    models[0].fit(inputs, targets, batch_size=16, verbose=0)
    for batch in generate():
        for model in models:
            model.train_on_batch(*batch)
    for model in models:
        past = model.fit(inputs, targets, batch_size=16, verbose=0)
        for batch in [*generate(), *generate()]:
            model.train_on_batch(*batch)
    return models[0], past


def train(case):
    model = make_model()
    optimizer = keras.optimizers.legacy.Adam() if case == "legacy" else "adam"
    model.compile(optimizer, "mse", run_eagerly=case == "eager",
                  steps_per_execution=4 if case == "four" else 1)
    if case == "generator":
        return model, model.fit(generate(), verbose=0)
    past = model.fit(inputs, targets, batch_size=16, epochs=2, verbose=0, callbacks=[Counts()],
                     validation_data=(inputs[:48], targets[:48]))
    model.predict(inputs[:32], batch_size=16, verbose=0)
    return model, past


for name in sys.argv[2:]:
    trained, history = train_two() if name == "two" else train(name)
    digest = hashlib.md5()
    for variable in trained.variables + trained.optimizer.variables():
        digest.update(variable.numpy().tobytes())
    print(name, digest.hexdigest(), json.dumps(history.history))
