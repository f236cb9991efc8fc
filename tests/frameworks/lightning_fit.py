"""Lightning: four fits that time what they do themselves, and one that fails.

    lightning_fit.py PACKAGE

PACKAGE is lightning.pytorch or pytorch_lightning. The last line printed is JSON: a digest of the weights,
seconds of each call by the name that the report should have for it, seconds in callbacks of each step of
the first two fits, how often Lightning's own profiler saw what in the fourth one, if this is recorded
what the report said in the middle of that, and the traceback of the last one."""

import contextlib
import hashlib
import importlib
import json
import logging
import sys
import time
import traceback
import warnings

import torch
from stopwatch import Stopwatch, calls, timed
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.simplefilter("ignore")
pl = importlib.import_module(sys.argv[1])
Logger = importlib.import_module(sys.argv[1] + ".loggers.logger").Logger
SingleDevice = importlib.import_module(sys.argv[1] + ".strategies").SingleDeviceStrategy
logging.getLogger(sys.argv[1]).setLevel(logging.ERROR)


PLANNED = 24  # batches and steps of the fourth fit
watch = Stopwatch()


class Numbers(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        return torch.full((8,), at / self.count), torch.ones(1)


def collate(items):
    time.sleep(0.001)
    return torch.utils.data.default_collate(items)


def loader(samples):
    return DataLoader(Numbers(samples), batch_size=4, collate_fn=collate)


def in_a_step(it_is):
    return watch.stage("callback") if it_is else contextlib.nullcontext()


class Slow(torch.optim.SGD):
    def step(self, closure=None):
        with timed("Slow.step", 5):
            return super().step(closure)


class Plain(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def loss(self, batch):
        return nn.functional.mse_loss(self.net(batch[0]), batch[1])

    def training_step(self, batch, index):
        with timed("training_step", 5):
            loss = self.loss(batch)
            self.log("loss", loss)
            return loss

    def validation_step(self, batch, index):
        with timed("validation_step", 5):
            self.log("seen", self.loss(batch))


class Model(Plain):
    """Two of its batches make a step."""

    batches = 0

    def on_train_batch_end(self, outputs, batch, index):
        with watch.stage("callback"), timed("Model.on_train_batch_end", 1):
            pass

    def on_train_epoch_end(self):
        with timed("Model.on_train_epoch_end", 20):
            pass

    def on_after_batch_transfer(self, batch, index):
        if self.trainer.training:
            self.batches += 1
            if self.batches % 2:
                watch.next_step()
        with in_a_step(self.trainer.training), timed("Model.on_after_batch_transfer", 1):
            return batch

    def configure_optimizers(self):
        optimizer = Slow(self.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


class Base(pl.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        time.sleep(0.001)


class Waits(Base):
    """The method of the class that it derives from is part of its own."""

    def on_train_batch_start(self, trainer, module, batch, index):
        with watch.stage("callback"), timed("Waits.on_train_batch_start", 1):
            pass

    def on_train_batch_end(self, *args):
        with watch.stage("callback"), timed("Waits.on_train_batch_end", 1, 5, 20):
            super().on_train_batch_end(*args)

    def on_train_epoch_end(self, trainer, module):
        with timed("Waits.on_train_epoch_end", 20):
            pass

    def on_validation_batch_end(self, trainer, module, outputs, batch, index):
        with timed("Waits.on_validation_batch_end", 1):
            pass

    def on_save_checkpoint(self, trainer, module, checkpoint):
        with timed("Waits.on_save_checkpoint", 20):
            pass


class Notes(Logger):
    name = version = "notes"

    def log_metrics(self, metrics, step=None):
        with in_a_step("loss" in metrics), timed("Notes.log_metrics", 1, 5, 20):
            pass

    def log_hyperparams(self, params, *args):
        pass


class Rivals(pl.LightningModule):
    """Two optimizers that take turns, by hand."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.nets = nn.ModuleList(nn.Linear(8, 1) for _ in range(2))

    def training_step(self, batch, index):
        with timed("training_step"):
            for net, optimizer in zip(self.nets, self.optimizers()):
                loss = nn.functional.mse_loss(net(batch[0]), batch[1])
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()

    def configure_optimizers(self):
        return [torch.optim.SGD(net.parameters(), lr=0.1) for net in self.nets]


class Careful(Plain):
    """Does itself what others leave to the trainer."""

    def configure_optimizers(self):
        with timed("Careful.configure_optimizers", 1):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def transfer_batch_to_device(self, batch, device, index):
        with timed("Careful.transfer_batch_to_device", 1, 5, 20):
            return super().transfer_batch_to_device(batch, device, index)

    def on_after_batch_transfer(self, batch, index):
        raise AssertionError("that of the data module is called")

    def optimizer_step(self, *args, **more):
        with timed("Careful.optimizer_step", 1):
            super().optimizer_step(*args, **more)

    def configure_gradient_clipping(self, *args, **more):
        with timed("Careful.configure_gradient_clipping", 1):
            super().configure_gradient_clipping(*args, **more)

    def backward(self, loss):
        with timed("Careful.backward", 1):
            loss.backward()

    def on_save_checkpoint(self, checkpoint):
        with timed("Careful.on_save_checkpoint", 5):
            pass

    def test_step(self, batch, index):
        with timed("test_step", 1):
            self.loss(batch)

    def predict_step(self, batch, index):
        with timed("predict_step", 1):
            return self.net(batch[0])


class Data(pl.LightningDataModule):
    def prepare_data(self):
        with timed("Data.prepare_data", 1):
            pass

    def setup(self, stage):
        with timed("Data.setup", 1):
            pass

    def train_dataloader(self):
        with timed("Data.train_dataloader", 1):
            return loader(4 * PLANNED)

    def val_dataloader(self):
        with timed("Data.val_dataloader", 1):
            return loader(12)

    def test_dataloader(self):
        return loader(12)

    def predict_dataloader(self):
        return loader(12)

    def on_after_batch_transfer(self, batch, index):
        with timed("Data.on_after_batch_transfer", 20, 5, 1):
            return batch


class Patient(SingleDevice):
    def backward(self, *args, **more):
        with timed("Patient.backward", 1):
            return super().backward(*args, **more)

    def save_checkpoint(self, *args, **more):
        with timed("Patient.save_checkpoint", 5):
            super().save_checkpoint(*args, **more)


class Looks(pl.Callback):
    """Asks in the middle how long it will still take."""

    told = None

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if index == PLANNED // 2 and "stepscope" in sys.modules:
            loops = sys.modules["stepscope"].load()["loops"]
            loop = max(loops, key=lambda loop: loop["start_ns"])
            Looks.told = {"steps": loop["steps"]["count"], "wall_ns": loop["books"]["wall_ns"],
                          "left_ns": loop["plan"]["left_ns"]}


class Stream:
    """Has no length."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def trainer(epochs, **more):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False,
             "enable_checkpointing": False}
    return pl.Trainer(max_epochs=epochs, accelerator="cpu", default_root_dir=".",
                      **{**quiet, **more})


def add_weights(digest, model):
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())


class Fails(pl.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if index == 1:
            raise LookupError("in a callback")


def fit_that_fails():
    try:
        trainer(1, callbacks=[Fails()]).fit(Rivals(), loader(24))
    except LookupError:
        return traceback.format_exc()
    raise AssertionError("it raised nothing")


def fit_with_care(model):
    """With validation, test and prediction apart from it; gives what Lightning's profiler saw."""
    own = trainer(1, profiler="simple", enable_checkpointing=True, callbacks=[Looks()],
                  num_sanity_val_steps=0, strategy=Patient(torch.device("cpu")))
    data = Data()
    own.fit(model, datamodule=data)
    for evaluate in (own.validate, own.test, own.predict):
        evaluate(model, datamodule=data)
    return {name: len(times) for name, times in own.profiler.recorded_durations.items()}


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    digest = hashlib.sha256()
    model = Model()
    trainer(3, callbacks=[Waits()], logger=Notes(), enable_checkpointing=True, log_every_n_steps=1,
            accumulate_grad_batches=2, gradient_clip_val=1.0).fit(
        model, loader(48), loader(12))
    add_weights(digest, model)
    # Without a length the trainer gets one batch ahead.
    batches = [[torch.full((4, 8), number / 8), torch.ones(4, 1)] for number in range(8)]
    model = Model()
    trainer(2, accumulate_grad_batches=2).fit(model, Stream(batches))
    add_weights(digest, model)
    model = Rivals()
    trainer(2).fit(model, loader(24))
    add_weights(digest, model)
    model = Careful()
    profiled = fit_with_care(model)
    add_weights(digest, model)
    print()
    print(json.dumps({"digest": digest.hexdigest(), "calls": calls, "steps": watch.steps,
                      "profiled": profiled, "told": Looks.told, "error": fit_that_fails()}))


main()
