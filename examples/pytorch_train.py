"""A PyTorch training loop, without a word about Stepscope:

    stepscope run -- python examples/pytorch_train.py [STEPS]

Each optimizer step is a step of the report. The dataset does its work in Python, in two worker
processes; evaluation every 100 steps and the save at the end are cut out of the steps."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
BATCH, INPUTS = 32, 64


class Waves(Dataset):
    """Which of two frequencies a noisy wave has."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, at):
        noise = torch.randn(INPUTS, generator=torch.Generator().manual_seed(at))
        label = at % 2
        return torch.sin(torch.arange(INPUTS) / (2 + label)) + noise, label


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return hits / len(loader.dataset)


def main():
    model = nn.Sequential(nn.Linear(INPUTS, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.Adam(model.parameters())
    held_out = DataLoader(Waves(256), 64)
    for number, (x, y) in enumerate(DataLoader(Waves(STEPS * BATCH), BATCH, num_workers=2), 1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if number % 100 == 0 or number == STEPS:
            print("step %d: loss %.3f, right %.2f" % (number, loss.item(), evaluate(model, held_out)))
    torch.save(model.state_dict(), "waves.pt")


if __name__ == "__main__":
    main()
