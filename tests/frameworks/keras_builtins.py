"""Trains with the callbacks that Keras itself has, and its progress bar: keras_builtins.py

Prints the files that they wrote and the history. An epoch has 10 batches of 16 rows."""

import glob
import json
import os
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from keras import callbacks

keras.utils.set_random_seed(1)
# The bar is printed for each batch, whatever time has passed.
given = list(keras.utils.Progbar.__init__.__defaults__)
given[given.index(0.05)] = 0
keras.utils.Progbar.__init__.__defaults__ = tuple(given)

inputs = np.random.rand(160, 8).astype("float32")
targets = np.random.rand(160, 1).astype("float32")
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    history = model.fit(
        inputs, targets, batch_size=16, epochs=3, verbose=1,
        validation_data=(inputs[:48], targets[:48]), validation_batch_size=16,
        callbacks=[
            callbacks.TensorBoard("board", histogram_freq=1, update_freq="batch"),
            callbacks.ModelCheckpoint("{epoch}.keras"),
            callbacks.ModelCheckpoint("often.weights.h5", save_weights_only=True, save_freq=4),
            callbacks.BackupAndRestore("backup"),
            callbacks.CSVLogger("log.csv"),
            callbacks.EarlyStopping(patience=99),
            callbacks.ReduceLROnPlateau(patience=99),
            callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9),
            callbacks.TerminateOnNaN(),
        ]).history
    model.load_weights("often.weights.h5")
    kept = sorted(glob.glob("*") + glob.glob("board/*"))
    with open("log.csv", encoding="utf-8") as log:
        print(log.read())
    os.chdir("/")
print(json.dumps(kept))
by_hand = [float(model.train_on_batch(inputs[:16], targets[:16])[0]) for _ in range(3)]
print(json.dumps({"history": history, "by_hand": by_hand}))
sys.stdout.flush()
