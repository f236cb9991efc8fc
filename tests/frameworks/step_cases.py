"""Loops of which rules on steps were made: step_cases.py CASE"""

import atexit
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

STEPS, LAST_S = 60, 1.0


def tf_by_hand():
    """No optimizer: the gradient is subtracted."""
    import tensorflow as tf

    weights = tf.Variable(tf.ones((8, 1)))
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.ones((4, 8)) @ weights))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))


def tf_four_trainings():
    """Eager; the same compiled; train_step redefined for another model; a GAN."""
    import keras
    import tensorflow as tf

    x, y = tf.ones((4, 8)), tf.ones((4, 1))

    def make():
        return keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)]), keras.optimizers.SGD(0.01)

    def train_step(model, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                      model.trainable_variables))

    model, optimizer = make()
    for _ in range(STEPS):
        train_step(model, optimizer)
    compiled = tf.function(lambda: train_step(model, optimizer))
    for _ in range(STEPS):
        compiled()

    other, its_optimizer = make()

    @tf.function
    def train_step(model=other, optimizer=its_optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(x) - y))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                      model.trainable_variables))

    for _ in range(STEPS - 4):
        train_step()

    generator, discriminator = make(), make()

    @tf.function
    def train_generator():
        gan_step(*generator)

    @tf.function
    def train_discriminator():
        gan_step(*discriminator)

    def gan_step(model, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                      model.trainable_variables))

    for _ in range(STEPS):
        train_discriminator()
        train_generator()


def torch_transforms():
    """Transformations that are modules, as those of torchvision, in a Dataset without workers."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Jitter(torch.nn.Module):
        def forward(self, image):
            return torch.sort(image.flatten()).values.reshape(image.shape)

    class Images(Dataset):
        transform = torch.nn.Sequential(Jitter(), torch.nn.AvgPool2d(8))

        def __len__(self):
            return 4 * STEPS

        def __getitem__(self, at):
            return self.transform(torch.rand(1, 256, 256)).flatten()

    net = torch.nn.Linear(32 * 32, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for images in DataLoader(Images(), 4):
        optimizer.zero_grad()
        net(images).mean().backward()
        optimizer.step()


def torch_long_exit():
    """The interpreter has something to do when the loop is over."""
    import torch

    def work():
        end = time.monotonic() + LAST_S
        while time.monotonic() < end:
            pass

    atexit.register(work)
    net = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        net(torch.ones(4, 8)).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
