"""Prints the tracebacks of errors in each place of a training loop."""

import traceback

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


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


class Stuck:
    def __reduce__(self):
        raise KeyError("pickled")


def save():
    torch.save({"weights": torch.ones(2), "more": Stuck()}, "model.pt")


def sgd():
    return torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)


def refuse_step(step):
    raise LookupError("learning rate %d" % step)


def scheduler():
    torch.optim.lr_scheduler.LambdaLR(sgd(), refuse_step)


def clip():
    weight = torch.ones(2, requires_grad=True)
    weight.grad = torch.full((2,), float("inf"))
    nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)


def scaler():
    torch.amp.GradScaler("cpu").step(sgd())


def scaler_update():
    torch.amp.GradScaler("cpu").update()


def collective():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0,
                                         world_size=1)
    try:
        torch.distributed.all_reduce("not a tensor")
    finally:
        torch.distributed.destroy_process_group()


@torch.compile(backend="eager")
def doubled(x):
    if x.shape[0] == 3:
        raise ArithmeticError("in what is compiled")
    return x @ x


def compiled():
    doubled(torch.ones(3, 3))


def graph():
    doubled(torch.ones(2, 4))


def show(*places):
    for place in places:
        try:
            place()
            print(place.__name__, "raised nothing")
        except Exception:
            print(place.__name__, traceback.format_exc(), flush=True)


show(compiled, graph)
torch.utils.rename_privateuse1_backend("elsewhere")  # what waits for a device, or moves to it, is hooked then
show(dataset, worker, forward, backward, twice, optimizer, item, to, load, save, scheduler, clip, scaler,
     scaler_update, collective)
