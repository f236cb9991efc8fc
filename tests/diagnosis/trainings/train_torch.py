"""PyTorch: loops as scripts write them."""

import time

import torch
from inside_faults import EVERY, SlowFile
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
BATCH, INPUTS, WIDTH = 128, 256, 512


class Rows(Dataset):
    """Batches that are ready: what it takes to get one is the fault's alone."""

    def __init__(self, count, faults, fault):
        self.count, self.faults, self.fault = count, faults, fault
        self.batches = [(torch.randn(BATCH, INPUTS), torch.randint(0, 10, (BATCH,)))
                        for _ in range(8)]

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        self.faults.sleep(self.fault, EVERY / 2 if self.fault == "eval" else 1)
        return self.batches[at % len(self.batches)]


class SlowOrder:
    """A sampler that takes its time when it is asked for an iterator."""

    def __init__(self, faults):
        self.faults = faults

    def __iter__(self):
        self.faults.sleep("setup")
        return iter(range(4))

    def __len__(self):
        return 4


class Net(nn.Module):
    def __init__(self, faults, steps, body):
        super().__init__()
        self.faults, self.steps, self.body = faults, steps, body

    def forward(self, x):
        if torch.is_grad_enabled():
            self.faults.slow_forward(self.steps)
        return self.body(x)


def layers():
    return nn.Sequential(nn.Linear(INPUTS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                         nn.Linear(WIDTH, 10))


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


def after_update(model, faults):
    if "user" in faults:
        with faults.at("user"):
            time.sleep(faults.sizes["user"] / 1e3)
    faults.collect()
    if "eval" in faults and faults.is_due():
        evaluate(model, faults)
    if "checkpoint" in faults and faults.is_due():
        save(model, faults)


def train(faults, steps, body=layers, micro=1, make_optimizer=None, **loader):
    model = Net(faults, steps, body())
    optimizer = (make_optimizer or torch.optim.Adam)(model.parameters())
    batches = DataLoader(Rows(steps * micro, faults, "input"), batch_size=None, **loader)
    more = DataLoader(Rows(4, faults, ""), batch_size=None, sampler=SlowOrder(faults))
    for number, (x, y) in enumerate(micro_batches(faults, batches, micro)):
        if "setup" in faults:
            with faults.at("setup"):
                iter(more)
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


def in_memory(faults, steps):
    """Without a loader."""
    model = Net(faults, steps, layers())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(BATCH, INPUTS), torch.randint(0, 10, (BATCH,))
    for _ in range(steps):
        faults.next_step()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after_update(model, faults)


KINDS = {
    "loader": train,
    "in memory": in_memory,
    "convolutions": lambda faults, steps: train(faults, steps, convolutions),
    "accumulated": lambda faults, steps: train(faults, steps, micro=2),
    "workers": lambda faults, steps: train(faults, steps, num_workers=1),
    "decayed": lambda faults, steps: train(
        faults, steps, make_optimizer=lambda p: torch.optim.AdamW(p, weight_decay=0.1)),
}
