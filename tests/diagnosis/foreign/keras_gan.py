"""A GAN as one Keras model: train_step updates the discriminator, then the generator."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

NOISE = 32


class GAN(keras.Model):
    def __init__(self, discriminator, generator):
        super().__init__()
        self.discriminator, self.generator = discriminator, generator
        self.seeds = keras.random.SeedGenerator(28)
        self.d_loss, self.g_loss = keras.metrics.Mean(name="d"), keras.metrics.Mean(name="g")

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    @property
    def metrics(self):
        return [self.d_loss, self.g_loss]

    def train_step(self, real):
        size = tf.shape(real)[0]
        made = self.generator(keras.random.normal((size, NOISE), seed=self.seeds))
        labels = tf.concat([tf.ones((size, 1)), tf.zeros((size, 1))], axis=0)
        with tf.GradientTape() as tape:
            loss = self.loss_fn(labels, self.discriminator(tf.concat([made, real], axis=0)))
        weights = self.discriminator.trainable_weights
        self.d_optimizer.apply(tape.gradient(loss, weights), weights)
        self.d_loss.update_state(loss)

        noise = keras.random.normal((size, NOISE), seed=self.seeds)
        with tf.GradientTape() as tape:
            loss = self.loss_fn(tf.zeros((size, 1)), self.discriminator(self.generator(noise)))
        weights = self.generator.trainable_weights
        self.g_optimizer.apply(tape.gradient(loss, weights), weights)
        self.g_loss.update_state(loss)
        return {"d": self.d_loss.result(), "g": self.g_loss.result()}


class Watch(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        noise = keras.random.normal((4, NOISE), seed=epoch)
        print("brightness", repr(float(tf.reduce_mean(self.model.generator(noise)))))


keras.utils.set_random_seed(28)
discriminator = keras.Sequential([
    keras.Input((28, 28, 1)), layers.Conv2D(24, 3, strides=2, padding="same"),
    layers.LeakyReLU(negative_slope=0.2), layers.Conv2D(48, 3, strides=2, padding="same"),
    layers.LeakyReLU(negative_slope=0.2), layers.GlobalMaxPooling2D(), layers.Dense(1)])
generator = keras.Sequential([
    keras.Input((NOISE,)), layers.Dense(7 * 7 * 32), layers.LeakyReLU(negative_slope=0.2),
    layers.Reshape((7, 7, 32)), layers.Conv2DTranspose(48, 4, strides=2, padding="same"),
    layers.LeakyReLU(negative_slope=0.2), layers.Conv2DTranspose(48, 4, strides=2, padding="same"),
    layers.LeakyReLU(negative_slope=0.2), layers.Conv2D(1, 7, padding="same", activation="sigmoid")])
digits = np.random.default_rng(28).random((1280, 28, 28, 1), dtype=np.float32)
gan = GAN(discriminator, generator)
gan.compile(keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-4),
            keras.losses.BinaryCrossentropy(from_logits=True))
gan.fit(tf.data.Dataset.from_tensor_slices(digits).batch(32), epochs=3, verbose=2,
        callbacks=[Watch()])
