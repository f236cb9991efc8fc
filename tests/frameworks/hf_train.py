"""Hugging Face: a Trainer, then a loop with Accelerate, which time what they do themselves, a Trainer that
fails, and one with a loss that is not the model's.

The last line printed is JSON: a digest of the weights, seconds of each call by the name that the report
should have for it, seconds in callbacks of each step of the first Trainer, and the traceback of the one that fails."""

import contextlib
import hashlib
import json
import time
import traceback
import warnings

import torch
from accelerate import Accelerator
from stopwatch import Stopwatch, calls, timed
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

warnings.simplefilter("ignore")
watch = Stopwatch()


class Numbers(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        return {"x": torch.full((8,), at / self.count), "labels": torch.ones(1)}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, labels=None):
        with timed("Model.forward", 1):
            found = self.net(x)
            if labels is None:
                return {"logits": found}
            return {"loss": nn.functional.mse_loss(found, labels), "logits": found}


class Base(TrainerCallback):
    def on_step_end(self, args, state, control, **more):
        time.sleep(0.001)


class Waits(Base):
    """The method of the class that it derives from is part of its own."""

    def on_step_begin(self, args, state, control, **more):
        watch.next_step()
        with watch.stage("callback"), timed("Waits.on_step_begin", 1):
            pass

    def on_step_end(self, args, state, control, **more):
        with watch.stage("callback"), timed("Waits.on_step_end", 1, 5, 20):
            super().on_step_end(args, state, control, **more)

    def on_substep_end(self, args, state, control, **more):
        with watch.stage("callback"), timed("Waits.on_substep_end", 1):
            pass

    def on_log(self, args, state, control, logs, **more):
        in_a_step = watch.stage("callback") if "loss" in logs else contextlib.nullcontext()
        with in_a_step, timed("Waits.on_log", 1, 5, 20):
            pass

    def on_epoch_end(self, args, state, control, **more):
        with timed("Waits.on_epoch_end", 20):
            pass


class Mine(Trainer):
    def compute_loss(self, *args, **more):
        with timed("Mine.compute_loss", 5):
            return super().compute_loss(*args, **more)

    def training_step(self, *args, **more):
        with timed("Mine.training_step"):
            return super().training_step(*args, **more)

    def evaluate(self, *args, **more):
        with timed("Mine.evaluate", 20):
            return super().evaluate(*args, **more)

    def predict(self, *args, **more):
        with timed("Mine.predict", 20):
            return super().predict(*args, **more)

    def log(self, *args, **more):
        with timed("Mine.log", 1):
            return super().log(*args, **more)

    def _save_checkpoint(self, *args, **more):
        with timed("Mine._save_checkpoint", 20):
            return super()._save_checkpoint(*args, **more)


class Slow(torch.optim.AdamW):
    def step(self, closure=None):
        with timed("Slow.step", 20):  # torch itself takes 100 us around it
            return super().step(closure)


def with_trainer():
    """2 epochs of 11 batches, of which 2 make a step, and the last one alone."""
    model = Model()
    optimizer = Slow(model.parameters())
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9 ** step)
    args = TrainingArguments(
        "out", num_train_epochs=2, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        eval_strategy="steps", eval_steps=4, logging_steps=1, save_steps=6, use_cpu=True,
        report_to=[], disable_tqdm=True, seed=1)
    trainer = Mine(model, args, train_dataset=Numbers(44), eval_dataset=Numbers(12),
                   callbacks=[Waits()], optimizers=(optimizer, scheduler))
    trainer.train()
    trainer.predict(Numbers(12))
    trainer.save_model("saved")
    return model


def with_accelerate():
    """2 epochs of 7 batches, of which 2 make a step, and the last one alone."""
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9 ** step)
    model, optimizer, scheduler, loader = accelerator.prepare(
        model, optimizer, scheduler, DataLoader(Numbers(28), 4))
    for _ in range(2):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch)["loss"])
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
    accelerator.save_state("state")
    return model


class Fails(TrainerCallback):
    def on_step_end(self, args, state, control, **more):
        if state.global_step == 2:
            raise LookupError("in a callback")


def that_fails():
    args = TrainingArguments("out", max_steps=4, use_cpu=True, report_to=[], disable_tqdm=True)
    try:
        Trainer(Model(), args, train_dataset=Numbers(44), callbacks=[Fails()]).train()
    except LookupError:
        return traceback.format_exc()
    raise AssertionError("it raised nothing")


def loss_of(found, labels, num_items_in_batch=None):
    time.sleep(0.005)
    return nn.functional.l1_loss(found["logits"], labels)


def with_own_loss():
    args = TrainingArguments("out", max_steps=3, use_cpu=True, report_to=[], disable_tqdm=True)
    Trainer(Model(), args, train_dataset=Numbers(44), compute_loss_func=loss_of).train()


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    digest = hashlib.sha256()
    for model in (with_trainer(), with_accelerate()):
        for parameter in model.parameters():
            digest.update(parameter.detach().numpy().tobytes())
    error = that_fails()
    with_own_loss()
    print()
    print(json.dumps({"digest": digest.hexdigest(), "calls": calls, "steps": watch.steps,
                      "error": error}))


main()
