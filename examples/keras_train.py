"""A Keras training, without a word about Stepscope:

    stepscope run -- python examples/keras_train.py [EPOCHS]

The report has the wait for data apart from computing, though both happen inside one compiled
function, the callback by its name, and the evaluation after each epoch apart from the steps. The
callback predicts after each batch: `Peek.on_train_batch_end` is most of the step."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
ROWS, BATCH, INPUTS = 640, 32, 32


class Peek(keras.callbacks.Callback):
    """Looks at what the model says of some rows, far too often."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def on_train_batch_end(self, batch, logs=None):
        self.last = self.model.predict(self.rows, verbose=0).mean()


def main():
    random = np.random.default_rng(0)
    inputs = random.normal(size=(ROWS, INPUTS)).astype("float32")
    targets = np.sin(inputs.sum(axis=1, keepdims=True))
    model = keras.Sequential([
        keras.layers.Input((INPUTS,)), keras.layers.Dense(128, activation="relu"),
        keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(inputs, targets, batch_size=BATCH, epochs=EPOCHS, verbose=2,
              validation_split=0.1, callbacks=[Peek(inputs[:BATCH])])


if __name__ == "__main__":
    main()
