"""Plain training loops with a delay in one place each, which time themselves.

    torch_loop.py PLACE[,PLACE...] DELAY_MS[,DELAY_MS...] [STEPS [EPOCHS]]

Each pair of a place and a delay is a loop with a model of its own. Prints JSON: a digest of the weights,
and of each loop its place and delay, seconds by stage of each step, seconds outside steps."""

import hashlib
import json
import sys
import time

import torch
from stopwatch import Stopwatch
from torch.utils.data import DataLoader, Dataset

PLACES = sys.argv[1].split(",")
DELAYS_S = [float(text) / 1e3 for text in sys.argv[2].split(",")]
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 12
EPOCHS = int(sys.argv[4]) if len(sys.argv) > 4 else 2
BATCH = 8
slow_place, delay_s = "", 0.0


def delay(place):
    if place == slow_place:
        time.sleep(delay_s)


class Numbers(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, at):
        if at % BATCH == 0:
            delay("dataset")
            delay("worker")
        return torch.full((64,), at / len(self)), torch.tensor([float(at % 2)])


def collate(items):
    delay("collate")
    return torch.utils.data.default_collate(items)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = torch.nn.Linear(64, 128)
        self.out = torch.nn.Linear(128, 1)

    def forward(self, x):
        delay("forward")
        return self.out(torch.relu(self.inside(x)))


class Slow(torch.optim.Adam):
    def step(self, closure=None):
        delay("optimizer")
        return super().step(closure)


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for x, _ in loader:
            model(x)
            delay("eval")
    model.train()


class SlowSave:
    """Pickled slowly."""

    def __reduce__(self):
        delay("checkpoint")
        return (SlowSave, ())


def by_hand(loader):
    """Batches of a generator, which nothing can be hooked in."""
    for batch in loader:
        if slow_place == "generator":
            time.sleep(delay_s)
        yield batch


def code_between():
    if slow_place == "other":
        time.sleep(delay_s)


def train_batch(watch, model, optimizer, batch):
    x, y = batch
    with watch.stage("forward"):
        predicted = model(x)
    loss = torch.nn.functional.mse_loss(predicted, y)
    with watch.stage("optimizer"):
        optimizer.zero_grad()
    with watch.stage("backward"):
        loss.backward()
    with watch.stage("optimizer"):
        optimizer.step()
    code_between()


def train(watch):
    model = Model()
    model.out.weight.register_hook(lambda grad: delay("backward"))
    optimizer = Slow(model.parameters())
    loader = DataLoader(Numbers(), BATCH, collate_fn=collate,
                        num_workers=int(slow_place == "worker"))
    for epoch in range(EPOCHS):
        if slow_place == "generator":
            for batch in by_hand(tuple(loader)):
                watch.next_step()
                train_batch(watch, model, optimizer, batch)
        else:
            batches = iter(loader)
            while True:
                watch.next_step()
                with watch.stage("data"):
                    batch = next(batches, None)
                if batch is None:
                    watch.drop_step()
                    break
                train_batch(watch, model, optimizer, batch)
        is_last = epoch + 1 == EPOCHS  # what follows is no part of the loop
        if slow_place == "eval" and not is_last:
            with watch.sum("eval"):
                evaluate(model, DataLoader(Numbers(), BATCH))
        if slow_place == "checkpoint" and not is_last:
            with watch.sum("checkpoint"):
                torch.save([model.state_dict(), SlowSave()], "model.pt")
    return model


torch.manual_seed(1)
torch.set_num_threads(1)
digest = hashlib.sha256()
loops = []
for slow_place in PLACES:
    for delay_s in DELAYS_S:
        watch = Stopwatch()
        for parameter in train(watch).parameters():
            digest.update(parameter.detach().numpy().tobytes())
        loops.append({"place": slow_place, "delay": delay_s, "steps": watch.steps,
                      "sums": watch.sums})
print(json.dumps({"digest": digest.hexdigest(), "loops": loops}))
