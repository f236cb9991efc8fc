#!/usr/bin/env python3
"""What a packed run takes on the disk, and what reading and packing it costs, for the built-in trainer and, if
STEPSCOPE_FRAMEWORKS_PYTHON is given, a plain PyTorch loop.

    bench/bench_pack.py BUILD      (BENCH_ROUNDS: rounds of a race, 1000 stands for the 20 that it makes)

Reading is a race of `stepscope report --json` on the run packed and unpacked, in turns; what counts is the ratio of their CPU
times in each round. Bytes of a span are those of the training processes with all else that is in them.
"""

import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

from step_pairs import interval

ROUNDS = max(5, int(os.environ.get("BENCH_ROUNDS", "1000")) // 50)
STEPS = 12000
TORCH = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
data = TensorDataset(torch.randn(%d * 32, 64), torch.randint(0, 10, (%d * 32,)))
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer, loss = torch.optim.Adam(net.parameters()), torch.nn.CrossEntropyLoss()
for x, y in DataLoader(data, batch_size=32):
    optimizer.zero_grad()
    loss(net(x), y).backward()
    optimizer.step()
""" % (STEPS, STEPS)


def cpu_s(*command):
    """CPU time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size(run, pattern):
    return sum(os.stat(path).st_size for path in glob.glob(os.path.join(run, pattern)))


def result(name, values, target):
    middle, low, high = interval(values)
    verdict = "ok" if high <= target else "miss" if low > target else "unresolved"
    print(f"RESULT {name} {middle:.4g} {low:.4g} {high:.4g} {target} {verdict}")


def measure(stepscope, name, run):
    packed, plain = run + "-packed", run
    info = json.loads(subprocess.run([stepscope, "info", "--json", plain], capture_output=True,
                                     check=True).stdout)
    costs, ratios = [], []
    for _ in range(ROUNDS):
        shutil.rmtree(packed, ignore_errors=True)
        shutil.copytree(plain, packed)
        costs.append(cpu_s(stepscope, "pack", packed) / (size(plain, "*.ssp") >> 20))
        reading = [cpu_s(stepscope, "report", "--json", path) for path in (plain, packed)]
        ratios.append(reading[1] / reading[0])
    spans = info["records"]["span"]
    print(f"  {name}: {spans} spans, {size(plain, '*.ssp') >> 10} KB, packed {size(packed, '*.ssp') >> 10} KB; "
          f"packing takes {1000 * interval(costs)[0]:.2f} ms of CPU a MB")
    result(f"pack_{name}_bytes_a_span", [size(packed, "p-*.ssp") / spans] * ROUNDS, 4)
    result(f"pack_{name}_bytes_a_step", [size(packed, "*.ssp") / STEPS] * ROUNDS, 64)
    result(f"pack_{name}_report", ratios, 1.5)


def main():
    stepscope = os.path.join(sys.argv[1], "stepscope")
    contenders = {"demo": [stepscope, "demo", "--plain", "--hidden", "8", "--steps", str(STEPS)]}
    python = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON")
    if python:
        contenders["torch"] = [python, "-c", TORCH]
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        for name, command in contenders.items():
            runs = os.path.join(folder, name)
            subprocess.run([stepscope, "run", "--quiet", "--no-pack", "--dir", runs, "--", *command],
                           stdout=subprocess.DEVNULL, check=True)
            measure(stepscope, name, os.path.realpath(os.path.join(runs, "latest")))


if __name__ == "__main__":
    main()
