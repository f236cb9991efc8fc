"""Writes traces as large as one wants, of steps like those of a real training: 42 operations, six
launches and their kernels a step in Kineto, 40 operations and six kernels in XPlane."""

import json
import sys

import traces
import xplane

STEP_US = 2000


def kineto_step(step):
    trace = traces.Kineto()
    trace.correlation = step * 10 + 1
    at = step * STEP_US
    trace.add("user_annotation", f"ProfilerStep#{step}", at, STEP_US - 10)
    shapes = {"External id": step, "Input Dims": [[32, 3, 224, 224], [64, 3, 7, 7], [], [], []],
              "Input type": ["float", "float", "", "", ""], "Sequence number": step}
    for i in range(6):
        trace.add("cpu_op", "aten::conv2d", at + 10 + i * 100, 90, **shapes)
        for nested in ("aten::convolution", "aten::_convolution", "aten::cudnn_convolution",
                       "aten::empty", "aten::add_", "aten::reshape"):
            trace.add("cpu_op", nested, at + 11 + i * 100, 80, **shapes)
        trace.launch(f"void kernel_{i}<float, 512, 6, 7, 3, 3, 5, 1>(int, int, int)",
                     at + 50 + i * 100, at + 200 + i * 100, 90, grid=[2, 8, 64],
                     block=[256, 1, 1], **{"registers per thread": 126, "shared memory": 13824})
    return [json.dumps(event) for event in trace.events]


def write_kineto(path, size):
    """Steps are written until the file has that many bytes. How many events it has."""
    events = step = written = 0
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        while written < size:
            lines = kineto_step(step)
            text = (",\n" if step else "") + ",\n".join(lines)
            file.write(text)
            written += len(text)
            events += len(lines)
            step += 1
        file.write("]}")
    return events


def write_xplane(path, size):
    host, device = xplane.Plane("/host:CPU"), xplane.Plane("/device:GPU:0")
    host.line("python", 1)
    host.line("tf_Compute/2", 2)
    device.line("Stream #7(Compute)", 7)
    events = step = written = 0
    while written < size:
        at = step * STEP_US
        host.add("python", "train", at, STEP_US - 10, step_num=step)
        host.add("tf_Compute/2", "ExecutorState::Process", at + 5, 1500, id=step, iter_num=0)
        for i in range(40):
            host.add("tf_Compute/2", f"StatefulPartitionedCall/net/block_{i}/MatMul:MatMul",
                     at + 10 + i * 30, 25)
        for i in range(6):
            key = step * 6 + i + 1
            host.add("tf_Compute/2", "cuLaunchKernel", at + 15 + i * 100, 5, correlation_id=key)
            device.add("Stream #7(Compute)", f"kernel_{i}", at + 100 + i * 100, 90,
                       correlation_id=key, kernel_details="regs:38 shm:0 grid:160,1,1",
                       annotation=xplane.Shared(f"net/block_{i}/MatMul:MatMul"))
        events += 54
        written += 42 * 18 + 6 * (26 + 70)
        step += 1
    xplane.XPlane(host, device).write(path)
    return events


if __name__ == "__main__":
    {"json": write_kineto, "pb": write_xplane}[sys.argv[2]](sys.argv[1], int(sys.argv[3]))
