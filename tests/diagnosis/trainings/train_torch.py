"""PyTorch: loops as scripts write them."""

import os
import time

import torch
from inside_faults import EVERY, PagedFile, SlowFile, note_fixed_part
from torch import nn
from torch.utils.data import DataLoader, Dataset

import stepscope

torch.set_num_threads(1)
BATCH, INPUTS, WIDTH = 128, 256, 512
LARGE_BATCH, LARGE_STEPS = 256, 40


def make_batch(count=BATCH):
    return torch.randn(count, INPUTS), torch.randint(0, 10, (count,))


class Rows(Dataset):
    """Batches that are ready: what it takes to get one is the fault's alone."""

    def __init__(self, count, faults, fault):
        self.count, self.faults, self.fault = count, faults, fault
        self.batches = [make_batch() for _ in range(8)]
        if fault == "pages":
            self.file = PagedFile(count * faults.sizes["pages"])

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        if self.fault == "pages":
            pages = self.faults.sizes["pages"]
            self.file.look(at * pages, pages)
        else:
            self.faults.sleep(self.fault, EVERY / 2 if self.fault == "eval" else 1)
        return self.batches[at % len(self.batches)]


class SlowOrder:
    """A sampler that takes its time when it is asked for an iterator."""

    def __init__(self, faults, fault="setup", times=1, count=4):
        self.faults, self.fault, self.times, self.count = faults, fault, times, count

    def __iter__(self):
        self.faults.sleep(self.fault, self.times)
        return iter(range(self.count))

    def __len__(self):
        return self.count


class Net(nn.Module):
    def __init__(self, faults, steps, body):
        super().__init__()
        self.faults, self.steps, self.body = faults, steps, body

    def forward(self, x):
        if torch.is_grad_enabled():
            self.faults.slow_forward(self.steps)
        return self.body(x)


def layers(width=WIDTH):
    return nn.Sequential(nn.Linear(INPUTS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 10))


def convolutions():
    return nn.Sequential(nn.Unflatten(1, (1, 16, 16)), nn.Conv2d(1, 16, 3), nn.ReLU(),
                         nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 144, 10))


def evaluate(model, faults):
    with faults.at("eval"):
        model.eval()
        with torch.no_grad():
            for x, y in DataLoader(Rows(2, faults, "eval"), batch_size=None):
                model(x).argmax(1)
        model.train()


def save(model, faults):
    with faults.at("checkpoint"):
        torch.save(model.state_dict(), SlowFile(faults))


def named(faults, stage):
    """What a script does that no hook knows, and it says so."""
    if stage in faults:
        with faults.at(stage), stepscope.stage(stage):
            time.sleep(faults.sizes[stage] / 1e3)


def tidy_up(part_s):
    """Code of which no line takes most of the time."""
    time.sleep(part_s)
    time.sleep(part_s)
    time.sleep(part_s)
    time.sleep(part_s)
    time.sleep(part_s)
    time.sleep(part_s)
    time.sleep(part_s)
    time.sleep(part_s)


def after_update(model, faults):
    named(faults, "sync")
    if "user" in faults:
        with faults.at("user"):
            time.sleep(faults.sizes["user"] / 1e3)
    if "spread" in faults:
        with faults.at("spread"):
            tidy_up(faults.sizes["spread"] / 8e3)
    faults.collect()
    if "eval" in faults and faults.is_due():
        evaluate(model, faults)
    if "checkpoint" in faults and faults.is_due():
        save(model, faults)


def train(faults, steps, body=layers, micro=1, make_optimizer=None, **loader):
    model = Net(faults, steps, body())
    optimizer = (make_optimizer or torch.optim.Adam)(model.parameters())
    if "crowd" in faults:
        torch.set_num_threads(faults.sizes["crowd"] * os.cpu_count())
    batches = DataLoader(Rows(steps * micro, faults, faults.waiting), batch_size=None, **loader)
    more = DataLoader(Rows(4, faults, ""), batch_size=None, sampler=SlowOrder(faults))
    for number, (x, y) in enumerate(micro_batches(faults, batches, micro)):
        if "setup" in faults:
            with faults.at("setup"):
                iter(more)
        named(faults, "transfer")
        if number % micro == 0:
            optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        if number % micro == micro - 1:
            optimizer.step()
            after_update(model, faults)


def micro_batches(faults, batches, micro):
    """Several of them make a step."""
    if micro == 1:
        yield from faults.each(batches)
        return
    for number, batch in enumerate(batches):
        if number % micro == 0:
            faults.next_step()
        yield batch


def learn(model, optimizer, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def momentum(model):
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def in_memory(faults, steps):
    """Without a loader."""
    model = Net(faults, steps, layers())
    optimizer = momentum(model)
    x, y = make_batch()
    for _ in range(steps):
        faults.next_step()
        learn(model, optimizer, x, y)
        after_update(model, faults)


def generated(faults, steps):
    """The loader is a generator of the script's own."""
    def rows():
        batch = make_batch()
        for _ in range(steps):
            if "input" in faults:
                time.sleep(faults.sizes["input"] / 1e3)
            yield batch

    model = Net(faults, steps, layers())
    optimizer = momentum(model)
    for x, y in faults.each(rows()):
        learn(model, optimizer, x, y)


def two_sizes(faults, steps):
    """Small batches, and then large ones for a new model."""
    def train_with(size, steps):
        model = Net(faults, steps, layers())
        optimizer = momentum(model)
        x, y = make_batch(size)
        with stepscope.loop("batches of %d" % size):
            for _ in range(steps):
                faults.next_step()
                stepscope.step(samples=size)
                learn(model, optimizer, x, y)

    small = faults.sizes.get("tiny", BATCH)
    note_fixed_part(faults, train_with, small, steps, LARGE_BATCH, LARGE_STEPS)


KINDS = {
    "loader": train,
    "in memory": in_memory,
    "generator": generated,
    "two sizes": two_sizes,
    "convolutions": lambda faults, steps: train(faults, steps, convolutions),
    "accumulated": lambda faults, steps: train(faults, steps, micro=2),
    # A worker takes more than a millisecond to hand a batch over, of which a small model waits for a part.
    "workers": lambda faults, steps: train(faults, steps, lambda: layers(2048), num_workers=1),
    "decayed": lambda faults, steps: train(
        faults, steps, make_optimizer=lambda p: torch.optim.AdamW(p, weight_decay=0.1)),
}
