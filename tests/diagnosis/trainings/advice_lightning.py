"""Lightning: faults of the advice trials, and the advice followed (advice_torch.py says how)."""

import logging
import tempfile
import time
import warnings

import lightning.pytorch as pl
import torch
from advice_torch import BATCH, Items, compute_for, is_cured, loader_words, ready, sleep_for
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader
from train_torch import layers

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
QUIET = {"accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False,
         "num_sanity_val_steps": 0}
EPOCH = 20  # steps, where there are several


class Module(pl.LightningModule):
    def __init__(self, work=None, net=None):
        super().__init__()
        self.net, self.work = net or layers(), work

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        if self.work:
            self.work(index)
        return loss

    def validation_step(self, batch, index):
        self.net(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def fits(loader, module=None, validation=None, **words):
    words = {**QUIET, "max_epochs": 1, "logger": False, "enable_checkpointing": False, **words}

    def train():
        pl.Trainer(**words).fit(module or Module(), loader, validation)
    return train


def stored(steps):
    return DataLoader(ready(steps), batch_size=None)


def items(work):
    def make(cure, steps):
        here = (lambda: None) if is_cured(cure, "stored") else work
        return fits(DataLoader(Items(steps * BATCH, here), BATCH, **loader_words(cure)))
    return make


class Watcher(pl.Callback):
    def __init__(self, every):
        self.every = every

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if batch_idx % self.every == 0:
            sleep_for(0.004)


def callback(cure, steps):
    return fits(stored(steps), callbacks=[Watcher(50 if is_cured(cure, "every 50") else 1)])


class Gradients(pl.Callback):
    """Norms of all gradients, one by one."""

    def __init__(self, every):
        self.every = every

    def on_after_backward(self, trainer, module):
        if trainer.global_step % self.every == 0:
            for parameter in module.parameters():
                sorted(parameter.grad.flatten()[:20000].tolist())


def gradients(cure, steps):
    return fits(stored(steps), callbacks=[Gradients(50 if is_cured(cure, "every 50") else 1)])


def logger(cure, steps):
    """A logger that writes in each step."""
    folder = tempfile.mkdtemp()

    def log(index):
        module.log("loss", 0.1 * index)

    module = Module(log)
    every = int(cure["every"]) if is_cured(cure, "log") else 1

    def train():
        fits(stored(steps), module, log_every_n_steps=every,
             logger=CSVLogger(folder, flush_logs_every_n_steps=1))()
    return train


def own_code(cure, steps):
    every = 50 if is_cured(cure, "every 50") else 1

    def work(index):
        if index % every == 0:
            time.sleep(0.005)
    return fits(stored(steps), Module(work))


def validation(cure, steps):
    """After each short epoch."""
    words = {"check_val_every_n_epoch": int(cure["every"])} if is_cured(cure, "rarely") else {}
    held_out = DataLoader(ready(30), batch_size=None)
    return fits(stored(EPOCH), validation=held_out, max_epochs=steps // EPOCH, **words)


def saving(cure, steps):
    """After each short epoch, with the state of an optimizer."""
    every = int(cure["every"]) if is_cured(cure, "rarely") else 1
    net = nn.Sequential(layers(), nn.Linear(10, 10))
    net.register_buffer("ballast", torch.zeros(6_000_000))

    def train():
        keeper = ModelCheckpoint(tempfile.mkdtemp(), every_n_epochs=every,
                                 save_weights_only=bool(cure))
        fits(stored(EPOCH), Module(net=net), max_epochs=steps // EPOCH, callbacks=[keeper],
             enable_checkpointing=True)()
    return train


def short_epochs(cure, steps):
    """Workers that are restarted for each epoch."""
    loader = DataLoader(Items(10 * BATCH, lambda: None), BATCH, num_workers=1,
                        persistent_workers=is_cured(cure, "persistent"))
    return fits(loader, max_epochs=steps // 10)


KINDS = {
    "waiting items": items(lambda: sleep_for(0.0008)),
    "computed items": items(lambda: compute_for(12000)),
    "callback": callback, "gradients": gradients, "logger": logger, "own code": own_code,
    "validation": validation, "saving": saving, "short epochs": short_epochs,
}
