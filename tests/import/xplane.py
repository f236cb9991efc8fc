"""Makes small traces as the profilers of TensorFlow and JAX write them, with times that are known."""

import struct

BEGIN_NS = 1_700_000_000_000_000_000
STEP_US = 1000


def varint(number):
    number &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


class Shared(str):
    """A text that stands in the names of its plane, for many events."""


class Plane:
    """Times are microseconds from the begin of the trace."""

    def __init__(self, name):
        self.name = name
        self.lines = {}
        self.names = {}
        self.stat_names = {}
        self.stats = b""
        self.programs = b""

    def line(self, name, line_id, start_ns=5000):
        return self.lines.setdefault(name, (line_id, start_ns, []))

    def name_of(self, text):
        return self.names.setdefault(text, len(self.names) + 1)

    def stat_name(self, text):
        return self.stat_names.setdefault(text, len(self.stat_names) + 1)

    def stat(self, key, value):
        head = number(1, self.stat_name(key))
        if isinstance(value, Shared):
            return head + number(7, self.stat_name(value))
        if isinstance(value, float):
            return head + double(2, value)
        return head + (number(4, value) if isinstance(value, int) else data(5, value))

    def add(self, line, name, start, duration, **stats):
        """An event of a line, which there is."""
        start_ns = self.lines[line][1]
        event = number(1, self.name_of(name)) + number(2, round(start * 10**6) - start_ns * 1000)
        event += number(3, round(duration * 10**6))
        for key, value in stats.items():
            event += data(4, self.stat(key, value))
        self.lines[line][2].append((start, -duration, event))

    def message(self):
        out = [number(1, 0), data(2, self.name)]
        for name, (line_id, start_ns, events) in self.lines.items():
            line = [number(1, line_id), data(2, name), number(3, start_ns)]
            line += [data(4, event) for _, _, event in sorted(events, key=lambda event: event[:2])]
            out.append(data(3, b"".join([*line, data(11, name)])))
        for names, field in ((self.names, 4), (self.stat_names, 5)):
            for text, key in names.items():
                named = number(1, key) + data(2, text)
                if field == 4 and text.startswith("jit_"):
                    named += self.programs
                out.append(data(field, number(1, key) + data(2, named)))
        return b"".join([*out, self.stats])


class XPlane:
    def __init__(self, *planes, host="machine"):
        self.planes = planes
        self.host = host

    def message(self):
        environment = Plane("Task Environment")
        environment.stats = data(6, environment.stat("profile_start_time", BEGIN_NS))
        planes = [*self.planes, environment]
        return b"".join(data(1, plane.message()) for plane in planes) + data(4, self.host)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.message())
        return path


def tensorflow_gpu(steps=30, devices=(0,), marks=True):
    """Steps of 1000 us on each device: copies 0-40, computes 80-380 in two kernels, reduces
    330-430; idle otherwise. The host launches 20 us ahead; its executor works 60-400."""
    host = Plane("/host:CPU")
    host.line("python", 1)
    planes = []
    correlation = 0
    for device in devices:
        plane = Plane(f"/device:GPU:{device}")
        thread = f"tf_gpu_private_{device}"
        host.line(thread, 2 + device)
        for name, key in (("Stream #13(Compute)", 13), ("Stream #14(MemcpyH2D)", 14),
                          ("TensorFlow Ops", -1), ("Steps", -2)):
            plane.line(name, key)
        work = (
            ("Stream #14(MemcpyH2D)", "MemcpyH2D", 0, 40, "MakeTensorFromProto"),
            ("Stream #13(Compute)", "conv_kernel<float, 3>", 80, 200,
             "replica_0/net/block_1/conv/Conv2D:Conv2D#shape=(float[1])#"),
            ("Stream #13(Compute)", "gemm_kernel", 280, 100,
             "gradient_tape/replica_0/net/block_1/dense/MatMul:MatMul"),
            ("Stream #13(Compute)", "ncclAllReduceRingLLKernel", 330, 100,
             "replica_0/adam/CollectiveReduce:CollectiveReduce"),
        )
        for step in range(steps):
            at = step * STEP_US
            for line, name, start, duration, annotation in work:
                correlation += 1
                extra = {"memcpy_details": "size:40000 dest:0 async:1"} if "Memcpy" in name else {}
                plane.add(line, name, at + start + 20, duration, correlation_id=correlation,
                          annotation=Shared(annotation), **extra)
                plane.add("TensorFlow Ops", annotation, at + start + 20, duration)
                host.add(thread, name, at + start, 5, correlation_id=correlation,
                         **extra)
            plane.add("Steps", str(step), at + 20, 430)
            host.add(thread, "ExecutorState::Process", at, 400, id=step)
            host.add(thread, "net/block_1/conv/Conv2D:Conv2D", at + 75, 15)
        if not marks:
            del plane.lines["Steps"]
        planes.append(plane)
    return XPlane(host, *planes)


def keras(steps=30, marks="calls"):
    """Calls of a compiled function each 1000 us, 800 us long: waits for data 100-250, an executor
    computes 300-700, of which layer net/dense has 100, net/slow 200 (150 without what is in it)."""
    host = Plane("/host:CPU")
    for key, name in enumerate(("python", "tf_Compute/7", "tf_data_iterator_get_next/8")):
        host.line(name, key + 1)
    for step in range(steps):
        at = step * STEP_US
        if marks == "numbers":
            host.add("python", "Profiled batch", at, 990, step_num=step + 3)
        host.add("python", "multi_step_on_iterator", at, 800,
                 **({} if marks == "runs" else {"tf_function_call": Shared("notTraced-nonXla")}))
        host.add("python", "FunctionRun", at + 10, 50, _r=1)
        host.add("tf_data_iterator_get_next/8", "IteratorGetNextOp::DoCompute", at + 100, 150)
        host.add("tf_data_iterator_get_next/8", "GatherV2:GatherV2", at + 300, 650)
        host.add("tf_Compute/7", "ExecutorState::Process", at + 300, 400)
        host.add("tf_Compute/7", "StatefulPartitionedCall/net/dense/MatMul:_MklMatMul", at + 310,
                 40)
        host.add("tf_Compute/7", "StatefulPartitionedCall/net/slow/PyFunc:PyFunc", at + 400, 200)
        host.add("tf_Compute/7", "net/slow/inner/Mul:Mul", at + 420, 50)
        host.add("tf_Compute/7",
                 "StatefulPartitionedCall/gradient_tape/net/dense/MatMul/MatMul:_MklMatMul",
                 at + 610, 60)
    return XPlane(host)


def instruction(name, op_name):
    return data(2, data(1, name) + data(2, "fusion") + data(7, data(2, op_name)))


def jax(steps=30, marks=True):
    """Calls of train_step each 1000 us that compute 100-900: Net/slow has 300 forward and 400
    backward, Net/first 100."""
    source = {
        "fusion.1": "jit(train_step)/jvp(Net)/first/dot_general",
        "callback.2": "jit(train_step)/jvp(Net)/slow/pure_callback",
        "callback.3": "jit(train_step)/transpose(jvp(Net))/slow/pure_callback",
        "add.4": "jit(train_step)/add",
    }
    programs = Plane("/host:metadata")
    module = data(1, "jit_train_step") + data(3, data(1, "main") + b"".join(
        instruction(*item) for item in source.items()))
    programs.name_of("jit_train_step(46)")
    programs.programs = data(5, number(1, programs.stat_name("Hlo Proto")) +
                             data(6, data(1, module)))
    host = Plane("/host:CPU")
    host.line("python", -5)
    host.line("tf_XLAEigen/9", 9)
    for step in range(steps):
        at = step * STEP_US
        if marks:
            host.add("python", "train", at, 950, _r=1, step_num=step)
        host.add("python", "PjitFunction(train_step)", at + 1, 920)
        host.add("python", "PjitFunction(train_step)", at + 2, 910)
        host.add("python", "PjitFunction(other)", at + 930, 10)
        for name, start, duration in (("fusion.1", 100, 90), ("callback.2", 200, 300),
                                      ("callback.3", 500, 390), ("add.4", 890, 10)):
            host.add("tf_XLAEigen/9", name, at + start, duration, hlo_op=Shared(name),
                     hlo_module=Shared("jit_train_step"), program_id=46, run_id=-step)
    return XPlane(programs, host)
