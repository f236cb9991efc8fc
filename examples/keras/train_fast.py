"""Trains a small Keras model after the two changes of docs/tutorial.md."""

import time

import keras
import numpy as np

BATCHES, BATCH = 300, 64


class Images(keras.utils.PyDataset):
    """Each batch is read from slow storage, which a pause of 15 ms stands for."""

    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        time.sleep(0.015)
        random = np.random.default_rng(index)
        return random.random((BATCH, 784), np.float32), random.integers(0, 10, BATCH)


class Examples(keras.callbacks.Callback):
    """Looks at some predictions after each 50th batch."""

    def on_train_batch_end(self, batch, logs=None):
        if batch % 50 == 0:
            self.model(np.zeros((8, 784), np.float32))


model = keras.Sequential([keras.layers.Dense(256, "relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(Images(workers=8), epochs=2, callbacks=[Examples()], verbose=2)
