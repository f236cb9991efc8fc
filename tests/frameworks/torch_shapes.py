"""Shapes of training loops, on the real framework. Each function trains; some print JSON of what they
timed themselves.

    torch_shapes.py SHAPE"""

import itertools
import json
import os
import signal
import sys
import threading
import time

import torch
from stopwatch import Stopwatch, calls, timed
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from tqdm import tqdm

STEPS, BATCH = 12, 4


def model():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def numbers(batches=STEPS):
    return TensorDataset(torch.linspace(0, 1, batches * BATCH * 8).reshape(-1, 8),
                         torch.ones(batches * BATCH, 1))


def loss_of(net, batch):
    return nn.functional.mse_loss(net(batch[0]), batch[1])


def first_and_last():
    """zero_grad first, then last; a scheduler, item(), clipping and a bar."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    for epoch in range(2):
        for batch in tqdm(DataLoader(numbers(), BATCH)):
            if epoch == 0:
                optimizer.zero_grad()
            loss = loss_of(net, batch)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            loss.item()
            if epoch == 1:
                optimizer.zero_grad()


def accumulation():
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    for number, batch in enumerate(DataLoader(numbers(4 * STEPS), BATCH)):
        loss_of(net, batch).backward()
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def gan():
    maker, judge = model(), nn.Linear(1, 1)
    of_judge = torch.optim.Adam(judge.parameters())
    of_maker = torch.optim.Adam(maker.parameters())
    for x, y in DataLoader(numbers(), BATCH):
        of_judge.zero_grad()
        (judge(maker(x).detach()).mean() - judge(y).mean()).backward()
        of_judge.step()
        of_maker.zero_grad()
        (-judge(maker(x)).mean()).backward()
        of_maker.step()


class Slow(nn.Module):
    """Takes 1, 5 and 20 ms in turn."""

    calls = 0

    def __init__(self):
        super().__init__()
        self.net = model()

    def forward(self, x):
        time.sleep((0.001, 0.005, 0.02)[self.calls % 3])
        self.calls += 1
        return self.net(x)


def lbfgs():
    net = Slow()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
    watch = Stopwatch()
    for x, y in DataLoader(numbers(), BATCH):
        watch.next_step()

        def closure():
            optimizer.zero_grad()
            with watch.stage("forward"):
                found = net(x)
            loss = nn.functional.mse_loss(found, y)
            with watch.stage("backward"):
                loss.backward()
            return loss

        with watch.stage("optimizer"):
            optimizer.step(closure)
        step = watch.steps[-1]
        step["optimizer"] -= step["forward"] + step["backward"]
    print(json.dumps(watch.steps))


class Careful(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(0.001)
        super().step(closure)
        time.sleep(0.001)


def derived():
    """An optimizer whose base class has been in use: torch names a scope for both steps then."""
    torch.optim.SGD(model().parameters(), lr=0.1)
    net = model()
    optimizer = Careful(net.parameters(), lr=0.1)
    for batch in DataLoader(numbers(), BATCH):
        optimizer.zero_grad()
        loss_of(net, batch).backward()
        with timed("Careful.step"):
            optimizer.step()
    print(json.dumps(calls))


def failing():
    """Of 12 updates the sixth is not made: its closure raises, and the script goes on."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, batch in enumerate(DataLoader(numbers(), BATCH)):

        def closure():
            loss = loss_of(net, batch)
            loss.backward()
            if number == 5:
                raise ArithmeticError("no number")
            return loss

        try:
            optimizer.step(closure)
        except ArithmeticError:
            pass


def teacher():
    net, other = model(), model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, _ in DataLoader(numbers(), BATCH):
        with torch.no_grad():
            wanted = other(x)
        loss = loss_of(net, (x, wanted))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def one_batch():
    """All data is one batch, as a graph is. Each epoch has a step, and an evaluation of one forward."""
    net, batch = model(), (torch.ones(BATCH, 8), torch.ones(BATCH, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(STEPS):
        net.train()
        optimizer.zero_grad()
        loss_of(net, batch).backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            loss_of(net, batch).item()


def agent():
    """Acts by its own network, from the third step on, and is taught by another one."""
    net, target, seen = model(), model(), torch.ones(BATCH, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number in range(STEPS):
        if number > 1:
            with torch.no_grad():
                net(seen[:1]).item()
        values = net(seen)
        with torch.no_grad():
            wanted = target(seen)
        optimizer.zero_grad()
        nn.functional.mse_loss(values, wanted).backward()
        optimizer.step()


def evaluation():
    """Every 4 steps, in the body of the loop; and a save."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for number, batch in enumerate(DataLoader(numbers(), BATCH)):
        optimizer.zero_grad()
        loss_of(net, batch).backward()
        optimizer.step()
        if number % 4 == 3:
            net.eval()
            with torch.no_grad():
                for x, _ in DataLoader(numbers(3), BATCH):
                    net(x)
            net.train()
            torch.save(net.state_dict(), "model.pt")
    net.load_state_dict(torch.load("model.pt"))


def modes():
    """Trains in the mode for training and in the other one; evaluates in both, with gradients, which is
    known by the end of its data, and without, on a part of them."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for training in (True, False):
        net.train(training)
        for number, batch in enumerate(DataLoader(numbers(), BATCH)):
            optimizer.zero_grad()
            loss_of(net, batch).backward()
            optimizer.step()
            if number == 5:
                for x, _ in DataLoader(numbers(3), BATCH):
                    net(x)
                with torch.no_grad():
                    for x, _ in itertools.islice(DataLoader(numbers(6), BATCH), 3):
                        net(x)


def scaler():
    """Of 12 steps the scaler skips one."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scale = torch.amp.GradScaler("cpu")
    for number, batch in enumerate(DataLoader(numbers(), BATCH)):
        optimizer.zero_grad()
        loss = loss_of(net, batch) * (float("inf") if number == 5 else 1.0)
        scale.scale(loss).backward()
        scale.unscale_(optimizer)
        nn.utils.clip_grad_value_(net.parameters(), 1.0)
        scale.step(optimizer)
        scale.update()


def next_of_iter():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = DataLoader(numbers(), BATCH)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(net, next(iter(loader))).backward()
        optimizer.step()


class Stream(IterableDataset):
    def __iter__(self):
        return iter(numbers(STEPS // 2))


def workers(datasets=(), **options):
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for dataset in datasets or (numbers(), Stream()):
        for batch in DataLoader(dataset, BATCH, num_workers=2, **options):
            optimizer.zero_grad()
            loss_of(net, batch).backward()
            optimizer.step()


def spawned_workers():
    workers((numbers(),), multiprocessing_context="spawn")


class Deadly(torch.utils.data.Dataset):
    """The worker that fetches the seventh batch is killed."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, at):
        if at == 6 * BATCH:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.ones(8), torch.ones(1)


def killed_worker():
    """Prints how many steps there were; torch notices at any time."""
    steps = 0
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    try:
        for batch in DataLoader(Deadly(), BATCH, num_workers=1, prefetch_factor=1):
            optimizer.zero_grad()
            loss_of(net, batch).backward()
            optimizer.step()
            steps += 1
    except RuntimeError:
        print(steps)


def threads():
    """Two of them, each of which trains a model."""
    both = [threading.Thread(target=gradients) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def two_models():
    for width in (16, 128):
        net = nn.Sequential(nn.Linear(8, width), nn.Linear(width, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for batch in DataLoader(numbers(20), BATCH):
            optimizer.zero_grad()
            loss_of(net, batch).backward()
            optimizer.step()


def gradients():
    """Gradients without Tensor.backward."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in DataLoader(numbers(), BATCH):
        found = torch.autograd.grad(loss_of(net, batch), list(net.parameters()))
        for parameter, gradient in zip(net.parameters(), found):
            parameter.grad = gradient
        optimizer.step()


def elsewhere():
    """Batches go to a device that has no memory, the only other one that every machine has. Moves are
    looked at once one has been plugged in."""
    torch.utils.rename_privateuse1_backend("elsewhere")
    net = model().to("meta")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
    for x, y in DataLoader(numbers(), BATCH):
        x, y = x.to("meta"), y.to("meta").to(torch.float32)
        optimizer.zero_grad()
        loss_of(net, (x, y)).backward()
        optimizer.step()


def looks():
    """Each way to look into a tensor, twice, once a device has been plugged in."""
    torch.utils.rename_privateuse1_backend("elsewhere")
    one = torch.ones(1)
    for _ in range(2):
        float(one), int(one), bool(one), one.item(), one.tolist(), one.numpy(), one.cpu()
        range(torch.ones(1, dtype=torch.int64))


def compiled():
    net = torch.compile(model(), backend="eager")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in DataLoader(numbers(), BATCH):
        optimizer.zero_grad()
        loss_of(net, batch).backward()
        optimizer.step()


def call_all_collectives():
    ranks, one = torch.distributed, torch.ones(1)
    ranks.broadcast(one, 0)
    ranks.reduce(one, 0)
    ranks.all_gather([torch.ones(1)], one)
    ranks.all_gather_into_tensor(torch.ones(1), one)
    ranks.gather(one, [torch.ones(1)])
    ranks.scatter(one, [torch.ones(1)])
    ranks.all_to_all_single(torch.ones(1), one)
    ranks.barrier()
    ranks.all_gather_object([None], "anything")
    ranks.broadcast_object_list(["anything"])


def collectives():
    """A rank of a world of one sums its gradients up."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0,
                                         world_size=1)
    call_all_collectives()
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in DataLoader(numbers(), BATCH):
        optimizer.zero_grad()
        loss_of(net, batch).backward()
        for parameter in net.parameters():
            torch.distributed.all_reduce(parameter.grad)
        optimizer.step()
    torch.distributed.destroy_process_group()


def inference():
    """An odd number of calls: one of them is in the middle."""
    net = Slow().eval()
    with torch.inference_mode():
        for x, _ in DataLoader(numbers(13), BATCH):
            with timed("Slow.forward"):
                net(x)
    print(json.dumps(calls))


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    globals()[sys.argv[1]]()
