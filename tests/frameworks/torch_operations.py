"""Trainings for test_torch_operations.py: torch_operations.py HOW. Prints the sum of the weights and what
the script's own profiler has seen, as JSON."""

import json
import os
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile, schedule

torch.set_num_threads(1)
torch.manual_seed(0)
CPU = {"activities": [ProfilerActivity.CPU]}
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
seen = []


def step(inside=None):
    x, y = torch.randn(64, 256), torch.randint(0, 10, (64,))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    if inside:
        inside()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def steps(count):
    for _ in range(count):
        step()


def has(profiler, name):
    return any(event.key == name for event in profiler.key_averages())


def own_profile():
    """The script profiles a line; a window of ours may be open."""
    with profile(**CPU) as own:
        torch.ones(3) + 1
    seen.append(has(own, "aten::add"))


def shares():
    """What the script's own profiler says of ten steps, and its trace of them."""
    with profile(**CPU) as own:
        steps(10)
    rows = own.key_averages()
    whole = sum(row.self_cpu_time_total for row in rows)
    seen.append({row.key: row.self_cpu_time_total / whole for row in rows})
    own.export_chrome_trace("own.json")


def phases():
    ready = []
    with profile(**CPU, schedule=schedule(wait=5, warmup=5, active=3, repeat=2),
                 on_trace_ready=lambda own: ready.append(has(own, "aten::addmm"))) as own:
        for _ in range(26):
            step()
            own.step()
    seen.extend(ready)
    for _ in range(6):
        step(own_profile)
    for keywords in ({}, {"use_kineto": False}):
        with torch.autograd.profiler.profile(**keywords) as old:
            steps(3)
        seen.append(len(old.function_events) > 0)
    with torch.autograd.profiler.emit_itt():
        steps(3)
    steps(40)


def interrupted():
    steps(4)
    child = os.fork()  # in a window
    if child == 0:
        steps(2)
        os._exit(0)
    seen.append(os.waitpid(child, 0)[1])
    steps(24)
    end = time.monotonic() + 1
    with torch.no_grad():
        while time.monotonic() < end:
            model(torch.zeros(4, 256))
    data = torch.utils.data.TensorDataset(torch.arange(64.0))
    for _ in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2):
        step()


how = sys.argv[1]
if how == "shares":
    steps(30)
    shares()
else:
    {"steps": lambda: steps(30), "phases": phases, "interrupted": interrupted}[how]()
print(json.dumps([sum(p.double().sum().item() for p in model.parameters()), seen]))
