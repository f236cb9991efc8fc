"""Lightning: a trainer with callbacks and validation."""

import logging
import time
import warnings

import lightning.pytorch as pl
import torch
from inside_faults import EVERY
from torch import nn
from torch.utils.data import DataLoader
from train_torch import Net, Rows, layers

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(pl.LightningModule):
    def __init__(self, faults, steps):
        super().__init__()
        self.faults, self.net = faults, Net(faults, steps, layers())

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

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


class Timed(DataLoader):
    """Times each batch that is asked for, the wait for the first one of an epoch too."""

    faults = None

    def __iter__(self):
        batches = super().__iter__()
        faults = self.faults

        class Batches:
            def __iter__(self):
                return self

            def __next__(self):
                if not faults.watch.steps:
                    return next(batches)
                with faults.at("input"):
                    return next(batches)

        return Batches()


def train(faults, steps):
    loader = Timed(Rows(steps, faults, "input"), batch_size=None)
    loader.faults = faults
    more = {}
    if "eval" in faults:
        more = {"val_dataloaders": DataLoader(Rows(2, faults, "eval"), batch_size=None)}
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", callbacks=[Watcher(faults)], logger=False,
                         val_check_interval=EVERY if more else None, num_sanity_val_steps=0,
                         enable_progress_bar=False, enable_checkpointing=False,
                         enable_model_summary=False)
    trainer.fit(Module(faults, steps), loader, **more)


KINDS = {"fit": train}
