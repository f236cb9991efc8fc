"""Two ranks of PyTorch under torchrun:

    train_ranks.py CASES TRUTH

CASES is a list with one case, as for one_case.py. With the fault straggler one of them takes longer
for each step, with comm they add up N MB after each. What a rank did is written to TRUTH."""

import gc
import json
import sys
import time

import torch
import torch.distributed as dist
from busy_machine import waited_ns
from inside_faults import CUTS, Faults
from one_case import write
from torch.nn.parallel import DistributedDataParallel
from train_torch import learn, layers, make_batch

SLOW_RANK = 1


def train(faults, steps):
    """With comm nothing else is added up: gradients are not."""
    model = layers() if "comm" in faults else DistributedDataParallel(layers())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = make_batch()
    numbers = torch.zeros(faults.sizes.get("comm", 0) * (1 << 20) // 4)
    for _ in range(steps):
        faults.next_step()
        if dist.get_rank() == SLOW_RANK:
            with faults.at("straggler"):
                faults.sleep("straggler")
        learn(model, optimizer, x, y)
        if "comm" in faults:
            with faults.at("comm"):
                dist.all_reduce(numbers)


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        (case,) = json.load(file)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    faults = Faults(case["faults"])
    waited, start = waited_ns(), time.perf_counter()
    train(faults, case["steps"])
    faults.watch.end()
    wall_s = time.perf_counter() - start
    told_by = SLOW_RANK if "straggler" in faults else 0
    if dist.get_rank() == told_by:
        write(sys.argv[2], {"steps": faults.watch.steps, "cuts": CUTS, "shares": {}, "without": [],
                            "waited": (waited_ns() - waited) / 1e9 / wall_s})
    dist.destroy_process_group()
    gc.collect()  # its threads end with it; the interpreter's end may abort one that still lets a tensor go


main()
