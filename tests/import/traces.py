"""Makes small traces as torch.profiler writes them, with times that are known."""

import gzip
import json
import os

STEP_US = 1000
BASE_NS = 1_700_000_000_000_000_000


class Kineto:
    """Events are added by name; times are microseconds from the begin."""

    def __init__(self, start_us=5000, **top):
        self.start_us = start_us
        self.top = top
        self.events = []
        self.correlation = 100

    def add(self, category, name, start, duration, thread=10, pid=10, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread,
                            "ts": self.start_us + start, "dur": duration, "args": arguments})

    def launch(self, name, launched, start, duration, category="kernel", thread=10, stream=7,
               call="cudaLaunchKernel", device=0, **arguments):
        """A call of the host, and what it launches."""
        self.correlation += 1
        self.add("cuda_runtime", call, launched, 5, thread=thread, correlation=self.correlation)
        self.add(category, name, start, duration, pid=device, thread=stream, device=device,
                 stream=stream, correlation=self.correlation, **arguments)

    def document(self):
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Some GPU"}],
                "traceEvents": self.events, "baseTimeNanoseconds": BASE_NS, **self.top}

    def write(self, path, indent=None):
        text = json.dumps(self.document(), indent=indent)
        opened = gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w", encoding="utf-8")
        with opened as file:
            file.write(text)
        return path


def training(steps=30, **top):
    """Steps of 1000 us: data 0-300, a copy launched at 310, forward 320-500, backward on another
    thread 510-800, the optimizer 810-900. The device copies 320-360, computes 400-700, reduces
    650-750, and is idle otherwise."""
    trace = Kineto(**top)
    for step in range(steps):
        at = step * STEP_US
        trace.add("user_annotation", f"ProfilerStep#{step + 3}", at, 990)
        trace.add("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 1,
                  299)
        trace.add("cpu_op", "aten::stack", at + 20, 100)
        trace.add("cpu_op", "aten::to", at + 305, 15)
        trace.launch("Memcpy HtoD (Pageable -> Device)", at + 310, at + 320, 40, "gpu_memcpy",
                     call="cudaMemcpyAsync", bytes=40_000)
        trace.add("cpu_op", "aten::conv2d", at + 322, 78)
        trace.launch("conv_kernel<float, 3>", at + 380, at + 400, 150)
        trace.add("python_function", "nn.Module: Net_0", at + 321, 180)
        trace.add("python_function", "nn.Module: Conv2d_0", at + 322, 80)
        trace.add("cpu_op", "aten::cross_entropy_loss", at + 410, 90)
        trace.add("cpu_op", "autograd::engine::evaluate_function: ConvBackward0", at + 510, 290,
                  thread=11)
        trace.launch("conv_backward_kernel", at + 520, at + 550, 150, thread=11)
        trace.launch("ncclDevKernel_AllReduce", at + 530, at + 650, 100, thread=11, stream=9,
                     **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                        "Group size": 2})
        trace.add("cpu_op", "Optimizer.step#SGD.step", at + 810, 90)
        trace.events.append({"ph": "s", "cat": "ac2g", "id": 1, "name": "ac2g", "pid": 10,
                             "tid": 10, "ts": at})
    return trace


def ranks(times_us):
    """A trace for each rank: the time of its own work in each step, after which it waits for the
    slowest one in an exchange of 20 us."""
    made = [Kineto(distributedInfo={"rank": rank, "world_size": len(times_us)})
            for rank in range(len(times_us))]
    at = 0
    for step, own in enumerate(zip(*times_us)):
        whole = max(own) + 30
        for trace, work in zip(made, own):
            trace.add("user_annotation", f"ProfilerStep#{step}", at, whole)
            trace.add("cpu_op", "aten::conv2d", at + 1, work)
            trace.add("cpu_op", "nccl:all_reduce", at + 2 + work, whole - work - 4)
        at += whole
    return made


def folder():
    """Where the traces of real machines are, or None: too large for a repository."""
    path = os.environ.get("STEPSCOPE_TRACES")
    return path if path and os.path.isdir(path) else None
