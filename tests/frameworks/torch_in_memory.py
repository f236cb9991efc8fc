"""Tensors in memory, a small model: torch_in_memory.py samples|workers|batches EPOCHS

`samples` is a TensorDataset without workers, `workers` the same with two of them, `batches` fetches
each batch in one piece. Prints the mean step in ns as JSON, by its own clock."""

import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

BATCH, SAMPLES = 64, 6400


class Whole(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitems__(self, indices):
        return self.x[indices], self.y[indices]


def as_it_is(batch):
    return batch


def loader_of(kind, x, y):
    if kind == "batches":
        return DataLoader(Whole(x, y), BATCH, shuffle=True, collate_fn=as_it_is)
    workers = 2 if kind == "workers" else 0
    return DataLoader(TensorDataset(x, y), BATCH, shuffle=True, num_workers=workers,
                      persistent_workers=workers > 0)


def main(kind, epochs):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    x, y = torch.randn(SAMPLES, 32), torch.randint(10, (SAMPLES,))
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader, steps, start = loader_of(kind, x, y), 0, 0
    for epoch in range(epochs):
        if epoch == 1:  # workers are there, caches are warm
            steps, start = 0, time.perf_counter_ns()
        for features, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(features), labels).backward()
            optimizer.step()
            steps += 1
    print(json.dumps({"step_ns": (time.perf_counter_ns() - start) / steps}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
