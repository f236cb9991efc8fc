"""Trainings with a progress bar, for a terminal: bars.py tqdm|keras|lightning"""

import os
import sys
import time

STEPS, STEP_S = 60, 0.02


def with_tqdm():
    import stepscope
    from tqdm import tqdm

    for _ in tqdm(range(STEPS), desc="train", mininterval=0.01):
        stepscope.step()
        time.sleep(STEP_S)


def with_keras():
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    import numpy

    class Slow(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep(STEP_S)

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(numpy.ones((STEPS, 4)), numpy.ones((STEPS, 1)), batch_size=1, callbacks=[Slow()])


def with_lightning():
    import lightning
    import torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(4, 1)

        def training_step(self, batch, index):
            time.sleep(STEP_S)
            return self.net(batch[0]).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    data = torch.utils.data.TensorDataset(torch.ones(STEPS, 4))
    lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, accelerator="cpu",
                      enable_model_summary=False).fit(Module(), torch.utils.data.DataLoader(data))


{"tqdm": with_tqdm, "keras": with_keras, "lightning": with_lightning}[sys.argv[1]]()
