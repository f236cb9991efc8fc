"""Trainings in several parts: trainer_parts.py keras|lightning|transformers|compiled_again

Each fits one model three times, then a wider one, again in each of three folds, then models of three sizes, with 6 steps
each time; the last one a model of Keras by one line, twice before and twice after it is compiled again."""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

STEPS, BATCH = 6, 4


def use(make, fit):
    model = make(3)
    for _ in range(3):
        fit(model)
    for _ in range(3):
        fit(make(4))
    for size in 8, 16, 32:
        fit(make(size))


def keras_model(size):
    import keras

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(size), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def keras_fit(model):
    import numpy as np

    model.fit(np.ones((STEPS * BATCH, 8), "f"), np.ones((STEPS * BATCH, 1), "f"), BATCH, verbose=0)


def keras():
    use(keras_model, keras_fit)


def compiled_again():
    model = keras_model(3)
    for number in range(4):
        if number == 2:
            model.layers[0].trainable = False
            model.compile("sgd", "mse")
        keras_fit(model)


def lightning():
    import lightning.pytorch as pl
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    class Fits(pl.LightningModule):
        def __init__(self, size):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(8, size), torch.nn.Linear(size, 1))

        def training_step(self, batch, number):
            return torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    loader = DataLoader(TensorDataset(torch.ones(STEPS * BATCH, 8), torch.ones(STEPS * BATCH, 1)), BATCH)
    use(Fits, lambda model: pl.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False).fit(model, loader))


def transformers():
    import torch
    from transformers import Trainer, TrainingArguments

    class Fits(torch.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(8, size), torch.nn.Linear(size, 1))

        def forward(self, x, labels):
            return {"loss": torch.nn.functional.mse_loss(self.layers(x), labels)}

    items = [{"x": torch.ones(8), "labels": torch.ones(1)}] * (STEPS * BATCH)
    told = TrainingArguments("out", num_train_epochs=1, per_device_train_batch_size=BATCH, report_to="none",
                             save_strategy="no", disable_tqdm=True, use_cpu=True)
    use(Fits, lambda model: Trainer(model, told, train_dataset=items).train())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
