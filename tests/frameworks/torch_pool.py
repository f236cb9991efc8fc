"""Trains with a pool of OpenMP threads until that much CPU time is used; prints what its threads used, each by
the kernel's clock, but the loop's own."""

import json
import os
import sys
import threading
import time

import torch


def used_ns():
    def of(tid):
        with open("/proc/self/task/%s/schedstat" % tid, encoding="ascii") as file:
            return int(file.read().split()[0])
    return {tid: of(tid) for tid in os.listdir("/proc/self/task")}


torch.set_num_threads(int(sys.argv[1]))
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), 0.01)
x = torch.randn(512, 256)
until = time.process_time() + float(sys.argv[2])
steps = 0
while time.process_time() < until:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    steps += 1
used = used_ns()
del used[str(threading.get_native_id())]
with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
    maps = file.read()
print(json.dumps({"steps": steps, "most_ns": sum(used.values()), "is_gnu": "/libgomp" in maps}))
