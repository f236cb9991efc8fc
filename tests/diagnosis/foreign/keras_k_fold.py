"""Five folds of a small table of houses: five models, one after another."""

import keras
import numpy as np
from keras import layers

FOLDS, EPOCHS = 5, 10


def build_model(columns):
    model = keras.Sequential([
        layers.Input((columns,)), layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"), layers.Dense(1)])
    model.compile(optimizer="rmsprop", loss="mse", metrics=["mae"])
    return model


keras.utils.set_random_seed(27)
random = np.random.default_rng(27)
houses = random.standard_normal((400, 13)).astype("float32")
prices = houses @ random.standard_normal(13).astype("float32")
size, scores = len(houses) // FOLDS, []
for fold in range(FOLDS):
    held_out = slice(fold * size, (fold + 1) * size)
    rest = np.r_[0:fold * size, (fold + 1) * size:len(houses)]
    model = build_model(houses.shape[1])
    model.fit(houses[rest], prices[rest], epochs=EPOCHS, batch_size=16, verbose=0)
    _, error = model.evaluate(houses[held_out], prices[held_out], verbose=0)
    scores.append(error)
    print("fold %d: %r" % (fold, error))
print("mean", repr(float(np.mean(scores))))
