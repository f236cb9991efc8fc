#!/usr/bin/env python3
"""What recording costs a training step of PyTorch, Lightning and the Hugging Face Trainer.

    STEPSCOPE_FRAMEWORKS_PYTHON=... bench/bench_torch.py BUILD      (BENCH_PAIRS: of each kind and length)

In one process, by neighbouring pairs of steps (step_pairs.py). A step is a batch from a DataLoader, forward,
backward, and Adam, of a perceptron, with as many rows per batch as it takes. Beside it, what the hooks of a step take
by themselves.
"""

import logging
import os
import random
import sys
import tempfile
import time
import warnings

import framework_python
from step_pairs import PAIRS, interval, measure_lengths

HOOKS_NS = 3000  # of a step: 0.3 % of 1 ms
RATE = 0.0  # a model that has learnt has gradients near 0, which take many times as long
INPUTS, HIDDEN = 64, 256
BLOCK = 10


def make_model():
    import torch

    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(INPUTS, HIDDEN), torch.nn.ReLU(),
                               torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.ReLU(),
                               torch.nn.Linear(HIDDEN, 1))


def batches(rows):
    """Without end; the data is there, a loader gives it."""
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    batch = {"x": torch.randn(rows, INPUTS), "labels": torch.randn(rows, 1)}

    class Endless(IterableDataset):
        def __iter__(self):
            while True:
                yield batch

    return DataLoader(Endless(), batch_size=None)


def loss_of(model, batch):
    import torch

    return torch.nn.functional.mse_loss(model(batch["x"]), batch["labels"])


def train_plain(rows, tick):
    import torch

    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    loader = iter(batches(rows))
    while not tick():
        batch = next(loader)
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()


def train_lightning(rows, tick):
    import lightning.pytorch as pl
    import torch

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = make_model()

        def training_step(self, batch, index):
            loss = loss_of(self.model, batch)
            self.log("loss", loss, batch_size=rows)
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=RATE)

    class Ticks(pl.Callback):
        def on_train_batch_start(self, trainer, module, batch, index):
            trainer.should_stop = tick()

    pl.Trainer(accelerator="cpu", max_epochs=1, logger=False, callbacks=[Ticks()],
               enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
               ).fit(Module(), batches(rows))


def train_transformers(rows, tick):
    import torch
    import transformers

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = make_model()

        def forward(self, x, labels):
            found = self.model(x)
            return {"loss": torch.nn.functional.mse_loss(found, labels), "logits": found}

    class Ticks(transformers.TrainerCallback):
        def on_step_begin(self, args, state, control, **more):
            control.should_training_stop = tick()

    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            sample = {"x": torch.randn(INPUTS), "labels": torch.randn(1)}
            while True:
                yield sample

    args = transformers.TrainingArguments(
        "out", max_steps=1_000_000, per_device_train_batch_size=rows, use_cpu=True, report_to=[],
        disable_tqdm=True, save_strategy="no", logging_strategy="no", learning_rate=RATE)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        transformers.Trainer(Model(), args, train_dataset=Numbers(), callbacks=[Ticks()]).train()


def time_block(core, call, is_on):
    """ns per call."""
    core.hooks_pause(not is_on)
    call()
    start = time.perf_counter_ns()
    for _ in range(BLOCK):
        call()
    return (time.perf_counter_ns() - start) / BLOCK


def measure_hooks(core):
    """ns that the hooks of a step take: neighbouring blocks of calls with next to no work, one recorded
    and one not. Median of the differences and its interval, added up over the calls of a step."""
    import torch

    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    x = torch.ones(1, 1)
    loader = iter(batches(1))
    calls = {
        "data": lambda: next(loader),
        "zero_grad": optimizer.zero_grad,
        "forward and backward": lambda: model(x).sum().backward(),
        "step": optimizer.step,
    }
    total = [0.0, 0.0, 0.0]
    for name, call in calls.items():
        differences = []
        for number in range(PAIRS):
            order = random.sample((True, False), 2)
            took = {is_on: time_block(core, call, is_on) for is_on in order}
            differences.append(took[True] - took[False])
            if number % 50 == 0:
                time.sleep(0.005)  # for the recorder's helper
        found = interval(differences)
        print("  hooks of %-21s %5.0f ns [%.0f, %.0f]" % (name, *found))
        total = [a + b for a, b in zip(total, found)]
    core.hooks_pause(False)
    return total


def measure():
    """Runs in the interpreter that has the frameworks."""
    import torch

    import stepscope
    from stepscope import _core

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        stepscope.start(place, "bench")
        for name, train in (("torch", train_plain), ("lightning", train_lightning),
                            ("transformers", train_transformers)):
            measure_lengths(_core, name, train)
        hooks = measure_hooks(_core)
        print("RESULT torch_hooks_of_a_step_ns %.0f %.0f %.0f %d %s"
              % (*hooks, HOOKS_NS, "ok" if hooks[2] < HOOKS_NS else "unresolved"
                 if hooks[1] < HOOKS_NS else "miss"))
        stepscope.stop()


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        framework_python.run(__file__, BENCH_PAIRS=str(PAIRS))
