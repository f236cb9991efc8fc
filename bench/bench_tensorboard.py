#!/usr/bin/env python3
"""What a scalar for TensorBoard costs, in CPU time of all threads and in bytes of file: ours, one
an event and 20 an event as in a window; tf.summary.scalar; PyTorch's SummaryWriter.

    bench/bench_tensorboard.py BUILD      (BENCH_ROUNDS: rounds, 15 if not given)

In each round all write the same number of scalars, in a new random order. Ours run in the
supervisor, the others in the thread that trains: their calls are timed too. Needs
STEPSCOPE_FRAMEWORKS_PYTHON.
"""

import glob
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import framework_python
from step_pairs import interval

ROUNDS = min(1000, int(os.environ.get("BENCH_ROUNDS", "15")))
SCALARS = 2000
TAG = "metrics/loss"


def size_of(folder):
    return sum(map(os.path.getsize, glob.glob(os.path.join(folder, "*tfevents*"))))


def ours(each):
    """(CPU ns, bytes, ns of the training thread) a scalar."""
    def write(folder):
        program = os.path.join(os.environ["BENCH_BUILD"], "bench_events")
        done = subprocess.run([program, folder, str(SCALARS), str(each)], check=True,
                              stdout=subprocess.PIPE, text=True)
        cpu_ns, size = map(float, done.stdout.split())
        return cpu_ns, size, 0
    return write


def timed(write, close):
    """Of a contender that lives in this process."""
    start, called = time.process_time_ns(), time.perf_counter_ns()
    for step in range(SCALARS):
        write(step)
    called = time.perf_counter_ns() - called
    close()
    return (time.process_time_ns() - start) / SCALARS, called / SCALARS


def tensorflow(folder):
    import tensorflow as tf
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        cpu_ns, call_ns = timed(lambda step: tf.summary.scalar(TAG, step * 0.5, step=step),
                                writer.close)
    return cpu_ns, size_of(folder) / SCALARS, call_ns


def torch(folder):
    from torch.utils.tensorboard import SummaryWriter
    writer = SummaryWriter(folder)
    cpu_ns, call_ns = timed(lambda step: writer.add_scalar(TAG, step * 0.5, step), writer.close)
    return cpu_ns, size_of(folder) / SCALARS, call_ns


CONTENDERS = {"ours": ours(1), "ours, 20 an event": ours(20), "torch SummaryWriter": torch,
              "tf.summary.scalar": tensorflow}


def measure():
    rows = {name: [] for name in CONTENDERS}
    for number in range(ROUNDS + 1):
        for name in random.sample(sorted(CONTENDERS), len(CONTENDERS)):
            with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
                row = CONTENDERS[name](folder)
            if number > 0:  # the first round imports and traces
                rows[name].append(row)
    print("  a scalar: CPU of all threads, bytes, time of the call in the training thread")
    for name, found in rows.items():
        cpu_ns, size, call_ns = (statistics.median(column) for column in zip(*found))
        print(f"  {name:20} {cpu_ns / 1e3:9.2f} us {size:7.1f} B {call_ns / 1e3:9.2f} us")
    for name, peer in (("torch", "torch SummaryWriter"), ("tf", "tf.summary.scalar")):
        for what, column in (("cpu", 0), ("bytes", 1)):
            ratios = [own[column] / other[column]
                      for own, other in zip(rows["ours, 20 an event"], rows[peer])]
            middle, low, high = interval(ratios)
            verdict = "ok" if high <= 1 else "miss" if low > 1 else "unresolved"
            print(f"RESULT tensorboard_{what}_to_{name} "
                  f"{middle:.4f} {low:.4f} {high:.4f} 1 {verdict}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        framework_python.run(__file__, BENCH_BUILD=os.path.abspath(sys.argv[1]),
                             TF_CPP_MIN_LOG_LEVEL="3")
