"""Data parallel training on two processes of this machine. The first one also keeps a log."""

import json
import os
import socket
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def write_log(path, step, loss, model):
    """Loss, and how the weights are spread."""
    row = {"step": step, "loss": loss}
    for name, weights in model.named_parameters():
        row[name] = torch.histc(weights.detach(), 64).tolist()
        row[name + ".sorted"] = weights.detach().flatten().sort().values[::5000].tolist()
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def train(rank, world, port, folder):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(12)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(3200, 128), torch.randint(0, 10, (3200,)))
    sampler = DistributedSampler(data, num_replicas=world, rank=rank)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(
        nn.Linear(128, 384), nn.ReLU(), nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, 10)))
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    step = 0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            step += 1
            if rank == 0:
                write_log(os.path.join(folder, "log.jsonl"), step, loss.item(), model)
    if rank == 0:
        print("loss", repr(loss.item()))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(2, port, folder), nprocs=2)
