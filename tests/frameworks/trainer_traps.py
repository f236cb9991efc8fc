"""A training with workers that stay, and then one that is interrupted in the forward pass of its eighth batch:

    trainer_traps.py lightning|transformers"""

import logging
import signal
import sys
import warnings

import torch
from torch.utils.data import DataLoader, Dataset

warnings.simplefilter("ignore")
BATCH, BATCHES, EPOCHS = 4, 24, 2


class Numbers(Dataset):
    def __len__(self):
        return BATCHES * BATCH

    def __getitem__(self, at):
        return {"x": torch.full((8,), at / len(self)), "labels": torch.ones(1)}


class Model(torch.nn.Module):
    def __init__(self, batches):
        super().__init__()
        self.net = torch.nn.Linear(8, 1)
        self.left = batches

    def forward(self, x, labels):
        self.left -= 1
        if self.left < 0:
            signal.raise_signal(signal.SIGINT)
        found = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(found, labels), "logits": found}


def lightning(batches, workers):
    import lightning.pytorch as pl

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Model(batches)

        def training_step(self, batch, index):
            return self.model(**batch)["loss"]

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    loader = DataLoader(Numbers(), BATCH, num_workers=workers, persistent_workers=workers > 0)
    pl.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False,
               enable_progress_bar=False, enable_model_summary=False).fit(Module(), loader)


def transformers(batches, workers):
    from transformers import Trainer, TrainingArguments

    args = TrainingArguments(
        "out", num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, use_cpu=True,
        dataloader_num_workers=workers, dataloader_persistent_workers=workers > 0,
        save_strategy="no", logging_strategy="no", report_to=[], disable_tqdm=True)
    Trainer(Model(batches), args, train_dataset=Numbers()).train()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    train = globals()[sys.argv[1]]
    train(EPOCHS * BATCHES, workers=2)
    train(7, workers=0)
