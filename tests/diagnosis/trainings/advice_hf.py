"""Hugging Face: faults of the advice trials, and the advice followed (advice_torch.py says how)."""

import tempfile
import time
import warnings

import torch
from advice_torch import BATCH, compute_for, is_cured, sleep_for
from torch import nn
from torch.utils.data import Dataset
from train_torch import INPUTS, layers
from transformers import Trainer, TrainerCallback, TrainingArguments

warnings.simplefilter("ignore")
OFTEN = 10  # steps


class Rows(Dataset):
    def __init__(self, count, work=lambda: None):
        self.count, self.work = count, work
        self.x, self.labels = torch.randn(INPUTS), torch.tensor(1)

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        self.work()
        return {"x": self.x, "labels": self.labels}


class Model(nn.Module):
    def __init__(self, ballast=0):
        super().__init__()
        self.net = layers()
        self.register_buffer("ballast", torch.zeros(ballast))

    def forward(self, x, labels=None):
        found = self.net(x)
        return {"loss": nn.functional.cross_entropy(found, labels), "logits": found}


def trains(steps, rows=None, callbacks=(), held_out=None, ballast=0, **words):
    model = Model(ballast)
    words = {"per_device_train_batch_size": BATCH, "max_steps": steps, "use_cpu": True,
             "report_to": [], "disable_tqdm": True, "save_strategy": "no",
             "logging_strategy": "no", **words}

    def train():
        args = TrainingArguments(tempfile.mkdtemp(), **words)
        Trainer(model, args, train_dataset=rows or Rows(steps * BATCH),
                eval_dataset=held_out, callbacks=list(callbacks)).train()
    return train


def items(work):
    def make(cure, steps):
        words, here = {}, (lambda: None) if is_cured(cure, "stored") else work
        if is_cured(cure, "workers"):
            words = {"dataloader_num_workers": int(cure["workers"]),
                     "dataloader_persistent_workers": True, "dataloader_prefetch_factor": 4}
        return trains(steps, Rows(steps * BATCH, here), **words)
    return make


class Watcher(TrainerCallback):
    def __init__(self, every):
        self.every = every

    def on_step_end(self, args, state, control, **more):
        if state.global_step % self.every == 0:
            time.sleep(0.005)


def callback(cure, steps):
    return trains(steps, callbacks=[Watcher(50 if is_cured(cure, "every 50") else 1)])


class Writer(TrainerCallback):
    """Sends what is logged somewhere."""

    def on_log(self, args, state, control, logs, **more):
        time.sleep(0.005)


def logger(cure, steps):
    every = int(cure["every"]) if is_cured(cure, "log") else 1
    return trains(steps, callbacks=[Writer()], logging_strategy="steps", logging_steps=every)


def evaluation(cure, steps):
    words = {"eval_steps": OFTEN}
    if is_cured(cure, "rarely"):
        words = {"eval_steps": int(cure["every"])}
    return trains(steps, held_out=Rows(20 * BATCH), eval_strategy="steps", **words)


def saving(cure, steps):
    words = {"save_steps": OFTEN}
    if is_cured(cure, "rarely"):
        words = {"save_steps": int(cure["every"]), "save_only_model": True}
    return trains(steps, ballast=4_000_000, save_strategy="steps", save_total_limit=1, **words)


KINDS = {
    "waiting items": items(lambda: sleep_for(0.0008)),
    "computed items": items(lambda: compute_for(12000)),
    "callback": callback, "logger": logger, "evaluation": evaluation, "saving": saving,
}
