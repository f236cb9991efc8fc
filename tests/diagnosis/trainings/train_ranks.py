"""Two ranks of PyTorch under torchrun, of which one takes longer for each step:

    train_ranks.py CASES TRUTH

CASES is a list with one case, as for each_run.py; the slow rank writes what it did to TRUTH."""

import json
import sys

import torch
import torch.distributed as dist
from inside_faults import CUTS, Faults
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from train_torch import BATCH, INPUTS, layers

SLOW_RANK = 1


def train(faults, steps):
    is_slow = dist.get_rank() == SLOW_RANK
    model = DistributedDataParallel(layers())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(BATCH, INPUTS), torch.randint(0, 10, (BATCH,))
    for _ in range(steps):
        faults.next_step()
        if is_slow:
            with faults.at("straggler"):
                faults.sleep("straggler")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        (case,) = json.load(file)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    faults = Faults(case["faults"])
    train(faults, case["steps"])
    faults.watch.end()
    if dist.get_rank() == SLOW_RANK:
        with open(sys.argv[2], "w", encoding="ascii") as file:
            json.dump({"steps": faults.watch.steps, "cuts": CUTS, "waited": 0.0, "without": []},
                      file)
    dist.destroy_process_group()


main()
