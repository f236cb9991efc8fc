#!/usr/bin/env python3
"""What sampling layers costs a training with PyTorch, all in all.

    STEPSCOPE_FRAMEWORKS_PYTHON=... bench/bench_layers.py BUILD      (BENCH_SECONDS: of each model)

Models of many small layers and of some large ones are trained below `stepscope run`, which chooses by itself how
often it samples. What a sampled step takes more of its thread's processor time than the steps around it, times how
many were sampled, is a part of all time. The promise is a thousandth.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from step_pairs import interval

TARGET = 1.001
AROUND = 3  # steps on either side
SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))


def make_model(word):
    import torch
    from torch import nn

    torch.manual_seed(1)
    if word == "tiny":
        return nn.Sequential(*(part for _ in range(8) for part in (nn.Linear(32, 32), nn.ReLU())),
                             nn.Linear(32, 1)), torch.randn(16, 32)
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    return nn.Sequential(nn.Linear(32, 128), nn.TransformerEncoder(layer, 6),
                         nn.Linear(128, 1)), torch.randn(16, 64, 32)


def train(word):
    """Prints the processor time of each step."""
    import torch

    torch.set_num_threads(1)
    model, x = make_model(word)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    took, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.thread_time_ns()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        took.append(time.thread_time_ns() - begin)
    print(json.dumps(took))


def sampled_steps(program, run):
    """Numbers of the steps that were: a stretch begins with the update of the step before."""
    dump = subprocess.run([program, "dump", "--json", run], check=True, capture_output=True, text=True)
    spans = [record for record in map(json.loads, dump.stdout.splitlines())
             if record["kind"] == "span"]
    updates = [span["start_ns"] for span in spans if span["name"] == "step"]
    begins = {span["start_ns"] for span in spans
              if "sampled" in span["flags"] and span["stage"] == "other"
              and span["end_ns"] > span["start_ns"]}
    place, numbers = 0, []
    for begin in sorted(begins):
        while place < len(updates) and updates[place] < begin:
            place += 1
        numbers.append(place + 1)
    return numbers


def measure(program, python, word):
    with tempfile.TemporaryDirectory() as folder:
        env = {name: text for name, text in os.environ.items() if not name.startswith("STEPSCOPE_")}
        env["STEPSCOPE_LAYERS"] = "auto"
        done = subprocess.run([program, "run", "--quiet", "--dir", folder, python, __file__, "--train", word],
                              check=True, capture_output=True, text=True, env=env)
        took = json.loads(done.stdout.splitlines()[-1])
        numbers = sampled_steps(program, os.path.join(folder, "latest"))
    more = [took[i] - statistics.median(took[max(i - AROUND, 0):i] + took[i + 1:i + 1 + AROUND])
            for i in numbers if 0 < i < len(took) - 1]
    step_ns = statistics.median(took)
    print("  layers_%s: %d of %d steps of %.2f ms were sampled" % (word, len(numbers), len(took), step_ns / 1e6))
    if len(more) < 6:
        print("  too few to say what they cost; more BENCH_SECONDS help")
        return
    ratio = [1 + ns * len(numbers) / sum(took) for ns in interval(more)]
    verdict = "ok" if ratio[2] <= TARGET else "miss" if ratio[1] > TARGET else "unresolved"
    print("    a sampled step takes %.3f ms more" % (interval(more)[0] / 1e6))
    print("RESULT layers_%s %.5f %.5f %.5f %.3f %s" % (word, *ratio, TARGET, verdict), flush=True)


def main():
    build = os.path.abspath(sys.argv[1])
    made = os.path.join(os.path.dirname(build), "frameworks", "bin", "python")
    python = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON", made)
    if not os.path.exists(python):
        print("%s is not there: tools/frameworks makes it" % python)
        return
    for word in ("tiny", "transformer"):
        measure(os.path.join(build, "stepscope"), os.path.abspath(python), word)


if sys.argv[1] == "--train":
    train(sys.argv[2])
else:
    main()
