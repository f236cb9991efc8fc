"""Prints the tracebacks of errors in each place of a training loop."""

import traceback

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.utils.rename_privateuse1_backend("elsewhere")  # what waits for a device, or moves to it, is hooked then

class Broken(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, at):
        raise KeyError("sample %d" % at)


class Model(nn.Module):
    def forward(self, x):
        raise ValueError("forward")


class Optimizer(torch.optim.SGD):
    def step(self, closure=None):
        raise ArithmeticError("optimizer")


def dataset():
    for _ in DataLoader(Broken(), 2):
        pass


def worker():
    for _ in DataLoader(Broken(), 2, num_workers=1):
        pass


def forward():
    nn.Sequential(nn.Linear(2, 2), Model())(torch.ones(2))


def refuse(gradient):
    raise RuntimeError("hook")


def backward():
    weight = torch.ones(2, requires_grad=True)
    weight.register_hook(refuse)
    (weight * 2).sum().backward()


def twice():
    loss = torch.ones(2, requires_grad=True).pow(2).sum()
    loss.backward()
    loss.backward()


def optimizer():
    Optimizer([torch.ones(2, requires_grad=True)], lr=0.1).step()


def item():
    torch.ones(2).item()


def to():
    torch.ones(2).to("nowhere")


def load():
    torch.load("is_not_there.pt")


for place in (dataset, worker, forward, backward, twice, optimizer, item, to, load):
    try:
        place()
    except Exception:
        print(place.__name__, traceback.format_exc(), flush=True)
