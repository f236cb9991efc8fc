"""Two ranks that train one model after the other, under torchrun. Rank 1 takes longer for each
backward.

Rank 0 prints JSON: of each kind of training a digest of the weights, and seconds by stage of each step,
as timed here."""

import gc
import hashlib
import json
import time

import torch
import torch.distributed as dist
from stopwatch import Stopwatch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

KINDS = ("ddp", "fsdp2", "async")  # async: gradients are summed up by hand
STEPS, BATCH, DELAY_S = 24, 4, 0.01


def compute(grad):
    """Has the CPU for so long, which may take longer."""
    end = time.thread_time() + DELAY_S
    while time.thread_time() < end:
        pass


def make_model(kind):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    if kind == "ddp":
        return DistributedDataParallel(model)
    if kind == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        for layer in (model[0], model[2], model):
            fully_shard(layer)
    return model


def sum_up(watch, model):
    """All at once, and then each is waited for."""
    with watch.stage("comm"):
        works = [dist.all_reduce(parameter.grad, async_op=True) for parameter in model.parameters()]
        for work in works:
            work.wait()


def train(kind, watch):
    model = make_model(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.linspace(0, 1, STEPS * BATCH * 16).reshape(-1, 8),
                         torch.ones(2 * STEPS * BATCH, 1))
    for x, y in DataLoader(data, BATCH, sampler=DistributedSampler(data, shuffle=False)):
        watch.next_step()
        with watch.stage("forward"):
            predicted = model(x)
        if dist.get_rank() == 1:
            predicted.register_hook(compute)
        loss = nn.functional.mse_loss(predicted, y)
        optimizer.zero_grad()
        with watch.stage("backward"):
            loss.backward()
        if kind == "async":
            sum_up(watch, model)
        optimizer.step()
    watch.end()
    return model


def digest_of(model):
    digest = hashlib.sha256()
    for parameter in model.parameters():
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        digest.update(whole.detach().numpy().tobytes())
    return digest.hexdigest()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    trained = {}
    for kind in KINDS:
        watch = Stopwatch()
        trained[kind] = {"digest": digest_of(train(kind, watch)), "steps": watch.steps}
    if dist.get_rank() == 0:
        print(json.dumps(trained))
    dist.destroy_process_group()
    gc.collect()  # its threads end with it; the interpreter's end may abort one that still lets a tensor go


main()
