"""Trains where the wait for data inside the graph is not seen: keras_blind.py missing|silent.

missing: TensorFlow has no such slots. silent: it has, and nothing is ever called through them.
Our own table of hooks is changed for that, before TensorFlow is imported."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from stepscope.adapters import tensorflow as adapter

if sys.argv[1] == "missing":
    adapter.HOOKS = tuple(row for row in adapter.HOOKS if row.technique != "library")
else:
    never_called = adapter._METRICS + "24UpdateXlaCompilationTimeEm"
    adapter._GET_NEXT = never_called
    adapter.HOOKS = tuple(row for row in adapter.HOOKS
                          if row.technique != "library" or row.target == never_called)

import keras
import numpy as np

model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.zeros((160, 8)), np.zeros((160, 1)), batch_size=16, epochs=2, verbose=0)
