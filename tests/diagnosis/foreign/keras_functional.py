"""A functional model with a residual block, trained by fit with a validation split."""

import os
import tempfile

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(21)
random = np.random.default_rng(21)
images = random.random((1600, 24, 24, 3), dtype=np.float32)
labels = random.integers(0, 10, 1600)

inputs = keras.Input((24, 24, 3))
x = layers.Conv2D(24, 3, activation="relu")(inputs)
x = layers.MaxPooling2D(2)(x)
shortcut = x
x = layers.Conv2D(24, 3, activation="relu", padding="same")(x)
x = layers.Conv2D(24, 3, activation="relu", padding="same")(x)
x = layers.add([x, shortcut])
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(10, activation="softmax")(layers.Dropout(0.3)(x))
model = keras.Model(inputs, outputs, name="small_resnet")
model.compile(optimizer="rmsprop", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

with tempfile.TemporaryDirectory() as folder:
    history = model.fit(
        images, labels, batch_size=32, epochs=6, validation_split=0.1, verbose=2, callbacks=[
            keras.callbacks.ModelCheckpoint(os.path.join(folder, "best.keras"),
                                            save_best_only=True),
            keras.callbacks.ReduceLROnPlateau(patience=2)])
print("final", repr(history.history["loss"][-1]))
