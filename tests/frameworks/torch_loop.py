"""A plain training loop with a delay in one place, which times itself.

    torch_loop.py PLACE DELAY_MS [STEPS [EPOCHS]]

Prints JSON: a digest of the weights, the sum of seconds by stage as timed here."""

import hashlib
import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

PLACE, DELAY_S = sys.argv[1], float(sys.argv[2]) / 1e3
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 30
EPOCHS = int(sys.argv[4]) if len(sys.argv) > 4 else 2
BATCH = 8
spent = {}


def delay(place):
    if place == PLACE:
        time.sleep(DELAY_S)


class timed:
    """Adds the time of a `with` to a stage."""

    def __init__(self, stage):
        self.stage = stage

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, *exception):
        spent[self.stage] = spent.get(self.stage, 0) + time.perf_counter() - self.start


class Numbers(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, at):
        if at % BATCH == 0:
            delay("dataset")
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


def train():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Model()
    model.out.weight.register_hook(lambda grad: delay("backward"))
    optimizer = Slow(model.parameters())
    loader = DataLoader(Numbers(), BATCH, collate_fn=collate)
    for _ in range(EPOCHS):
        batches = iter(loader)
        while True:
            with timed("data"):
                batch = next(batches, None)
            if batch is None:
                break
            x, y = batch
            with timed("forward"):
                predicted = model(x)
            loss = torch.nn.functional.mse_loss(predicted, y)
            with timed("optimizer"):
                optimizer.zero_grad()
            with timed("backward"):
                loss.backward()
            with timed("optimizer"):
                optimizer.step()
            with timed("other"):
                delay("other")
        if PLACE == "eval":
            with timed("eval"):
                evaluate(model, DataLoader(Numbers(), BATCH))
        if PLACE == "checkpoint":
            with timed("checkpoint"):
                torch.save(model.state_dict(), "model.pt")
    return model


model = train()
digest = hashlib.sha256()
for parameter in model.parameters():
    digest.update(parameter.detach().numpy().tobytes())
print(json.dumps({"digest": digest.hexdigest(), "spent": spent}))
