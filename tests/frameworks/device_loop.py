"""A loop whose work a device does, as fake_cuda.so plays it: torch itself computes on the host.

    device_loop.py FAKE_CUDA SHAPE ...

Prints what was trained and what the device has seen of it, a line for each shape."""

import ctypes
import hashlib
import json
import os
import sys
import threading
import time

import torch
import torch._dynamo  # the first step of an optimizer would do so, in a second

STEPS = 40
BEHIND_NS = 100_000_000
FOREVER_NS = 3600 * 10**9
FORWARD_NS, BACKWARD_NS, OPTIMIZER_NS = 1_500_000, 3_000_000, 700_000

fake = ctypes.PyDLL(sys.argv[1])
fake.fake_cuda_work.argtypes = fake.fake_cuda_wait.argtypes = (ctypes.c_int64,)
fake.fake_cuda_work.restype = None
fake.fake_cuda_calls.restype = fake.fake_cuda_left.restype = ctypes.c_int64
fake.fake_cuda_set_context.argtypes = (ctypes.c_int64,)
fake.fake_cuda_fail.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.c_int64)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 1)

    def forward(self, x):
        out = self.inner(x)
        fake.fake_cuda_work(FORWARD_NS)
        out.register_hook(lambda grad: fake.fake_cuda_work(BACKWARD_NS))
        return out


class Step(torch.optim.SGD):
    def step(self, closure=None):
        fake.fake_cuda_work(OPTIMIZER_NS)
        return super().step(closure)


stream = 0x77
truth = {}


def begin():
    """As when torch starts CUDA, which a build without it cannot."""
    torch._C._cuda_getDevice = lambda: 0
    torch._C._cuda_getCurrentRawStream = lambda device: stream
    adapter = sys.modules.get("stepscope.adapters.torch")
    if adapter:
        adapter._device_begins("cuda")


def train(each=lambda number: None, steps=STEPS, behind=0):
    """The device may be so far behind after each step."""
    torch.manual_seed(0)
    net = Net()
    optimizer = Step(net.parameters(), lr=0.1)
    for number in range(steps):
        each(number)
        optimizer.zero_grad()
        net(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        fake.fake_cuda_wait(behind)
    weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
    return hashlib.sha256(weights).hexdigest()


def plain():
    return train()


def runs_behind():
    """The device always has something to do. Says how much it is in the end."""
    core = sys.modules.get("stepscope._core")
    fake.fake_cuda_work(BEHIND_NS)
    weights = train(behind=BEHIND_NS)
    start = time.monotonic_ns()
    truth["left_ns"] = fake.fake_cuda_left()
    if core:
        core.mark("all was queued")
    truth["late_ns"] = time.monotonic_ns() - start
    fake.fake_cuda_wait(0)
    return weights


def many_steps():
    return train(steps=400, behind=FOREVER_NS)


def never_ready():
    fake.fake_cuda_work(FOREVER_NS)
    return train(steps=150, behind=2 * FOREVER_NS)


def captures():
    return train(lambda number: fake.fake_cuda_capture(number in range(10, 15)))


def captures_elsewhere():
    """On another stream than that of the script, which is the default one."""
    global stream
    stream = 0
    return captures()


def other_device():
    return train(lambda number: fake.fake_cuda_set_context(2 if number in range(10, 15) else 1))


def no_context_at_first():
    """Nor has the driver been started."""
    return train(lambda number: fake.fake_cuda_set_context(-1 if number < 5 else number >= 10))


def record_fails():
    fake.fake_cuda_fail(b"cuEventRecord", 700, 50)
    return train()


def query_fails():
    fake.fake_cuda_fail(b"cuEventQuery", 700, 50)
    return train()


def swap_fails():
    fake.fake_cuda_fail(b"cuThreadExchangeStreamCaptureMode", 1, 50)
    return train()


def create_fails():
    fake.fake_cuda_fail(b"cuEventCreate", 2, 3)
    return train()


def forks():
    """The child trains too; what the device does for it is not measured."""
    before = 0

    def fork(number):
        nonlocal before
        if number == 10:
            child = os.fork()
            if child == 0:
                before = fake.fake_cuda_calls()
                train()
                os._exit(0 if fake.fake_cuda_calls() == before else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    return train(fork)


def two_threads():
    result = train()
    other = threading.Thread(target=train)
    other.start()
    other.join()
    return result


def evaluates():
    net = Net()

    def evaluate(number):
        with torch.no_grad():
            net.inner(torch.ones(4, 8))

    return train(evaluate)


def raises():
    """Calls that end with an exception are measured as others are."""
    net = Net()
    net.inner.register_forward_hook(lambda *_: fake.fake_cuda_work(FORWARD_NS))

    def fail(number):
        try:
            net(torch.ones(4, 7))
        except RuntimeError:
            pass

    return train(fail)


def tell(shape):
    begin()
    truth["weights"] = globals()[shape]()
    truth["calls"] = fake.fake_cuda_calls()
    truth["broken"] = bool(fake.fake_cuda_is_broken())
    print(json.dumps({"shape": shape, "pid": os.getpid(), **truth}), flush=True)


def main(shapes):
    """In this process; of several, each in a child of its own that does nothing else."""
    for shape in shapes:
        child = os.fork() if len(shapes) > 1 else 0
        if child == 0:
            tell(shape)
            return 0
        if os.waitpid(child, 0)[1] != 0:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
