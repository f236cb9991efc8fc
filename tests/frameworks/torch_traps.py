"""What else a script may do, each function one script.

    torch_traps.py FUNCTION"""

import os
import signal
import subprocess
import sys
import time

STEPS, BATCH = 24, 4


def train(steps=STEPS, **options):
    """Two epochs; yields in each step."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    epochs = 2 if steps % 2 == 0 else 1
    batches = steps // epochs
    loader = DataLoader(TensorDataset(torch.linspace(0, 1, batches * BATCH * 8).reshape(-1, 8),
                                      torch.ones(batches * BATCH, 1)), BATCH, **options)
    number = 0
    for _ in range(epochs):
        for x, y in loader:
            yield number
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
            number += 1


def run(steps):
    for _ in steps:
        pass


def workers_that_stay():
    run(train(num_workers=2, persistent_workers=True))


def fork_in_the_middle():
    """One child does nothing, the next one trains by itself."""
    for number in train():
        if number in (5, 10):
            child = os.fork()
            if child == 0:
                if number == 10:
                    run(train(20))
                os._exit(0)
            os.waitpid(child, 0)


def interrupt():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    for number in train():
        if number == 7:
            signal.raise_signal(signal.SIGINT)


def killed():
    """In the forward pass of the eighth step, after 50 ms of that."""
    import torch

    seen = []

    def end(module, inputs, output):
        seen.append(module)
        if len(seen) == 8 * 3:  # a module with two in it
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)

    torch.nn.modules.module.register_module_forward_hook(end)
    run(train())


def only_in_a_child():
    subprocess.run([sys.executable, __file__, "three_steps"], check=True)


def three_steps():
    """With a Module.__call__ of another library."""
    import torch

    call = torch.nn.Module.__call__

    def mine(self, *args, **more):
        return call(self, *args, **more)

    torch.nn.Module.__call__ = mine
    run(train(3))
    assert torch.nn.Module.__call__ is mine


def own_updates(begin_step=lambda: None, steps=120):
    """Without an optimizer of torch."""
    import torch

    weight = torch.zeros(8, requires_grad=True)
    net = torch.nn.Linear(8, 1)
    for _ in range(steps):
        begin_step()
        loss = net(weight).sum()
        weight.grad = None
        loss.backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad


def marked_updates():
    import stepscope

    own_updates(stepscope.step)


def by_hand_then_in_places():
    """A loop without an optimizer; then one with modules in its dataset, a loop that counts labels and an
    evaluation that makes its own batches. Prints how long those took: each evaluation."""
    import json

    import torch
    from torch.utils.data import DataLoader, Dataset

    seconds = {"data": 0.0, "eval": []}
    own_updates(steps=160)

    class Jitter(torch.nn.Module):
        def forward(self, x):
            time.sleep(0.002)
            return x + 0.1

    class Pictures(Dataset):
        jitter = Jitter()

        def __len__(self):
            return 40

        def __getitem__(self, index):
            start = time.perf_counter()
            x = self.jitter(self.jitter(torch.ones(8)))
            seconds["data"] += time.perf_counter() - start
            return x, index % 2

    net = torch.nn.Linear(8, 2)

    @torch.no_grad()
    def estimate_loss():
        start = time.perf_counter()
        for _ in range(10):
            net(torch.ones(4, 8))
            time.sleep(0.003)
        seconds["eval"].append(time.perf_counter() - start)

    loader = DataLoader(Pictures(), 2)
    sum(len(labels) for _, labels in loader)
    seconds["data"] = 0.0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(2):
        for number, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
            if number % 10 == 9:
                estimate_loss()
        del epoch
    print(json.dumps(seconds))


def many_tiny_steps():
    import torch

    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, foreach=False)
    for _ in range(100_000):
        weight.sum().backward()
        optimizer.step()


def notebook():
    """Nothing but this starts a recording, when torch has been there for long. Prints how many steps."""
    run(train())
    import stepscope
    import torch

    torch._C._cuda_init = lambda: None  # as if this were a build for GPUs
    stepscope.start("notebook-runs")
    torch.ones(1).item()  # waits for nothing
    torch._C._cuda_init()
    for _ in train(20):
        torch.ones(1).item()
    stepscope.stop()
    run(train())
    report = stepscope.load()
    print(report["steps"]["count"], report["stages"]["forward"] is not None, stepscope.directory())


def profiled():
    """The profiler is known by a name from before the recording. It is on from the middle of step 5 to that
    of step 10; then, in a run of its own, already before it, up to the middle of step 3. Prints how many
    steps of each are excluded from statistics."""
    from torch.profiler import ProfilerActivity, profile

    import stepscope

    def watch(first, last):
        session = profile(activities=[ProfilerActivity.CPU])
        if first < 0:
            session.start()
        stepscope.start("profiled-runs")
        for number in train():
            if number == first:
                session.start()
            elif number == last:
                session.stop()
        stepscope.stop()
        return stepscope.load()["steps"]["left_out"]

    print(*(watch(*steps) for steps in ((-1, 3), (5, 10), (-1, 3))))


def compile_again():
    """For the shape of a batch, which is then seen as one that changes, and for a number."""
    import torch

    @torch.compile(backend="eager")
    def scaled(x, number):
        return x * number

    for number in train():
        scaled(torch.ones(number % 3 + 2, 8), 2.0 if number < 12 else 3.0)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
