"""Lightning: a trainer with callbacks and validation."""

import logging
import time
import warnings

import lightning.pytorch as pl
import torch
from inside_faults import EVERY
from torch import nn
from torch.utils.data import DataLoader
from train_torch import Net, Rows, SlowOrder, layers

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(pl.LightningModule):
    def __init__(self, faults, steps):
        super().__init__()
        self.faults, self.net = faults, Net(faults, steps, layers())

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        if "user" in self.faults:
            with self.faults.at("user"):
                time.sleep(self.faults.sizes["user"] / 1e3)
        return loss

    def validation_step(self, batch, index):
        self.net(batch[0])

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Watcher(pl.Callback):
    """Looks at each batch for longer than it should."""

    def __init__(self, faults):
        self.faults = faults

    def on_train_batch_start(self, trainer, module, batch, index):
        self.faults.next_step()

    def on_validation_start(self, trainer, module):
        self.start_s = time.perf_counter()

    def on_validation_end(self, trainer, module):
        step = self.faults.watch.steps[-1]
        step["eval"] = step.get("eval", 0) + time.perf_counter() - self.start_s

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if "callback" in self.faults:
            with self.faults.at("callback"):
                self.faults.sleep("callback")


class Timed:
    """A loader with a clock: for each iterator that is made, and each batch that is asked for."""

    def __init__(self, faults, loader):
        self.faults, self.loader, self.batches = faults, loader, None

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        if not self.faults.watch.steps:
            self.faults.watch.next_step()  # of the loop, but none of its steps
        with self.faults.at("restart" if self.faults.count else "begin"):
            self.batches = iter(self.loader)
        return self

    def __next__(self):
        with self.faults.at("input"):
            return next(self.batches)


def fit(faults, steps, epochs=1, **data):
    loader = Timed(faults, DataLoader(Rows(steps // epochs, faults, "input"), batch_size=None,
                                      **data))
    more = {}
    if "eval" in faults:
        more = {"val_dataloaders": DataLoader(Rows(2, faults, "eval"), batch_size=None)}
    trainer = pl.Trainer(max_epochs=epochs, accelerator="cpu", callbacks=[Watcher(faults)],
                         logger=False, val_check_interval=EVERY if more else None,
                         num_sanity_val_steps=0, enable_progress_bar=False,
                         enable_checkpointing=False, enable_model_summary=False)
    trainer.fit(Module(faults, steps), loader, **more)


def epochs(faults, steps):
    """Many short ones, each with an iterator of its own."""
    fit(faults, steps, steps // EVERY, sampler=SlowOrder(faults, "restart", EVERY, EVERY))


KINDS = {"fit": fit, "epochs": epochs}
