"""Batches from a PyDataset that changes the pictures at random, one after another."""

import keras
import numpy as np
from keras import layers
from scipy import ndimage


class Pictures(keras.utils.PyDataset):
    def __init__(self, count, batch_size):
        super().__init__()
        self.random = np.random.default_rng(24)
        self.pictures = self.random.random((count, 32, 32, 3), dtype=np.float32)
        self.labels = self.random.integers(0, 5, count)
        self.batch_size = batch_size

    def __len__(self):
        return len(self.labels) // self.batch_size

    def augment(self, picture):
        picture = ndimage.rotate(picture, self.random.uniform(-20, 20), reshape=False, order=1)
        if self.random.random() < 0.5:
            picture = picture[:, ::-1]
        return ndimage.zoom(picture, (1.2, 1.2, 1), order=1)[3:35, 3:35]

    def __getitem__(self, index):
        place = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return (np.stack([self.augment(picture) for picture in self.pictures[place]]),
                self.labels[place])


keras.utils.set_random_seed(24)
model = keras.Sequential([
    layers.Input((32, 32, 3)), layers.Conv2D(8, 3, strides=2, activation="relu"),
    layers.Conv2D(16, 3, strides=2, activation="relu"), layers.Flatten(), layers.Dense(5)])
model.compile(optimizer="adam", metrics=["accuracy"],
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(Pictures(1280, 32), epochs=4, verbose=2)
print(repr(history.history["loss"][-1]))
