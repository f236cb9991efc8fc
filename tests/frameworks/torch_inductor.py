"""Trains a function that Inductor compiles, with the C++ compiler of the machine.

Prints JSON: a digest of the weights, Dynamo's counters, the seconds of the first step, the files that
Inductor has written."""

import hashlib
import json
import os
import time

import torch
from torch import nn
from torch._dynamo.utils import counters

STEPS = 3


def train():
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 4), nn.Tanh())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    compiled = torch.compile(net)
    seconds = []
    for x in torch.utils.data.DataLoader(torch.linspace(-1, 1, 8 * 4 * STEPS).reshape(-1, 8), 4):
        begin = time.perf_counter()
        optimizer.zero_grad()
        compiled(x).pow(2).mean().backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    return net, seconds


def written():
    """Names are made of what is inside. Nothing else writes there."""
    return sorted(name for _, _, names in os.walk(os.environ["TORCHINDUCTOR_CACHE_DIR"])
                  for name in names if not name.endswith(".lock"))


torch.set_num_threads(1)
net, seconds = train()
digest = hashlib.sha256()
for parameter in net.parameters():
    digest.update(parameter.detach().numpy().tobytes())
print(json.dumps({"digest": digest.hexdigest(), "seconds": seconds, "written": written(),
                  "counted": {key: dict(found) for key, found in counters.items()}}))
