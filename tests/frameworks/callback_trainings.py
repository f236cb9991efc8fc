"""Trainings whose callbacks take their time, and such that compile a function again and again:
callback_trainings.py CASE

Prints what its own clock says of the callbacks, in nanoseconds."""

import json
import logging
import os
import sys
import tempfile
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

EPOCHS, STEPS, EVAL_STEPS, BATCH = 6, 30, 10, 16
took = {}


def sleep(name, seconds):
    start = time.perf_counter_ns()
    time.sleep(seconds)
    took[name] = took.get(name, 0) + time.perf_counter_ns() - start


def keras_fit(folder):
    import keras
    import numpy as np

    class SlowTest(keras.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            sleep("SlowTest", 0.03)

    class SlowEpoch(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            sleep("SlowEpoch", 0.3)

    class SlowLog(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch % 10 == 9:
                sleep("SlowLog", 0.04)

    class SlowToSave(keras.layers.Dense):
        def get_config(self):
            time.sleep(0.1)
            return super().get_config()

    class Net(keras.Sequential):
        def save(self, *arguments, **options):
            start = time.perf_counter_ns()
            super().save(*arguments, **options)
            took["save"] = took.get("save", 0) + time.perf_counter_ns() - start

    x, y = np.ones((STEPS * BATCH, 8), "float32"), np.ones((STEPS * BATCH, 1), "float32")
    model = Net([keras.layers.Dense(8), SlowToSave(1)])
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, verbose=0,
              validation_data=(x[:EVAL_STEPS * BATCH], y[:EVAL_STEPS * BATCH]),
              callbacks=[SlowTest(), SlowEpoch(), SlowLog(),
                         keras.callbacks.ModelCheckpoint(folder + "/model.keras")])


def lightning_fit(folder):
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    import torch
    import lightning.pytorch as lightning

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch, number):
            return self.layer(batch).square().mean()

        validation_step = training_step

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

        def on_save_checkpoint(self, checkpoint):
            time.sleep(0.1)

    class SlowTest(lightning.Callback):
        def on_validation_batch_end(self, *arguments):
            sleep("SlowTest", 0.03)

    class SlowEpoch(lightning.Callback):
        def on_train_epoch_end(self, *arguments):
            sleep("SlowEpoch", 0.3)

    class SlowLog(lightning.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, number):
            if number % 10 == 9:
                sleep("SlowLog", 0.04)

    class Keep(lightning.Callback):
        def on_train_epoch_end(self, trainer, module):
            start = time.perf_counter_ns()
            trainer.save_checkpoint(folder + "/model.ckpt")
            took["save"] = took.get("save", 0) + time.perf_counter_ns() - start

    torch.set_num_threads(1)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, logger=False, enable_checkpointing=False, accelerator="cpu",
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
        callbacks=[SlowTest(), SlowEpoch(), SlowLog(), Keep()])
    rows = torch.ones(STEPS * BATCH, 8)
    loader = torch.utils.data.DataLoader
    trainer.fit(Net(), loader(rows, batch_size=BATCH),
                loader(rows[:EVAL_STEPS * BATCH], batch_size=BATCH))


def tensorflow_retraces(folder):
    import tensorflow as tf

    weights = tf.Variable(tf.ones([8, 1]))

    @tf.function
    def helper(x, number):
        return tf.reduce_sum(x * number)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(x, weights))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))

    for number, x in enumerate(tf.data.Dataset.from_tensors(tf.ones([BATCH, 8])).repeat(240)):
        train_step(x)
        helper(x, number // 4)


def torch_recompiles(folder):
    import torch

    torch.set_num_threads(1)
    torch._dynamo.config.cache_size_limit = 64
    layer = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(layer.parameters(), 0.01)

    @torch.compile(dynamic=False, backend="eager")
    def helper(x):
        return x.sin().sum()

    for number in range(80):
        optimizer.zero_grad()
        helper(layer(torch.ones(BATCH + number // 4, 8))).backward()
        optimizer.step()


CASES = {"keras": keras_fit, "lightning": lightning_fit, "tensorflow": tensorflow_retraces,
         "torch": torch_recompiles}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        CASES[sys.argv[1]](place)
    print(json.dumps(took))
