"""Transfer learning: a head is trained on a frozen base, then all of it once more, slowly."""

import keras
import numpy as np
from keras import layers


def base_model():
    """Stands for one that was trained by others."""
    inputs = keras.Input((40, 40, 3))
    x = layers.Rescaling(1.0 / 127.5, offset=-1)(inputs)
    for width in (24, 48, 48):
        x = layers.SeparableConv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D(2)(x)
    return keras.Model(inputs, x, name="base")


keras.utils.set_random_seed(26)
random = np.random.default_rng(26)
pictures = random.integers(0, 255, (800, 40, 40, 3)).astype("float32")
labels = random.integers(0, 2, 800).astype("float32")

base = base_model()
base.trainable = False
inputs = keras.Input((40, 40, 3))
x = layers.GlobalAveragePooling2D()(base(inputs, training=False))
model = keras.Model(inputs, layers.Dense(1)(layers.Dropout(0.2)(x)))
loss = keras.losses.BinaryCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(), loss=loss)
model.fit(pictures, labels, batch_size=32, epochs=3, verbose=2)

base.trainable = True
model.compile(optimizer=keras.optimizers.Adam(1e-5), loss=loss)
history = model.fit(pictures, labels, batch_size=32, epochs=5, verbose=2)
print(repr(history.history["loss"][-1]))
