"""Drives a real kernel as a notebook does, cell by cell: notebook.py CASE

Prints JSON of what came out. The kernel is that of this interpreter, with the environment of this process."""

import json
import mmap
import os
import sys
import time

from jupyter_client import KernelManager

PATIENCE_S = 120
PAUSE_S = 0.3  # the user thinks
AGES = 100_000_000  # steps of a cell that the user ends
COUNT = 8  # bytes of the file in which the cells count their steps

TORCH = """
import mmap
import torch
from torch.utils.data import DataLoader, TensorDataset

net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.ones(4, 8), torch.ones(4, 1)
with open("count", "r+b") as file:
    count = mmap.mmap(file.fileno(), %d)
done = 0

def step(x, y):
    global done
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
    done += 1
    count[:] = done.to_bytes(len(count), "little")

def train(steps):
    for _ in range(steps):
        step(x, y)
""" % COUNT
EPOCH = """
for batch in DataLoader(TensorDataset(torch.ones(96, 8), torch.ones(96, 1)), 4):
    step(*batch)
"""
FAILS = """
train(7)
net(torch.ones(4, 9))
"""
ENDLESS = """
done = 0
for number in range(%d):
    step(x, y)
    if number == 20:
        print("trains", flush=True)
""" % AGES


class Notebook:
    def __init__(self):
        with open("count", "w+b") as file:
            file.truncate(COUNT)
            self.count = mmap.mmap(file.fileno(), COUNT)
        # Sockets in this folder: no ports that other programs may have.
        self.manager = KernelManager(transport="ipc", ip=os.path.abspath("kernel"))
        self.manager.shutdown_wait_time = PATIENCE_S
        self.manager.start_kernel()
        self.connect()

    def connect(self):
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE_S)

    def restart(self):
        """As from the menu: the kernel is asked to end."""
        self.client.stop_channels()
        self.manager.restart_kernel()
        self.connect()

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel()

    def cell(self, code, at_output=lambda: None, fails=False):
        """What the cell printed or showed, and last what kind of error it ended with."""
        printed = []

        def take(message):
            content = message["content"]
            if message["msg_type"] == "stream":
                printed.append(content["text"])
                if len(printed) == 1:  # a kernel may send one line in pieces
                    at_output()
            elif message["msg_type"] in ("execute_result", "display_data"):
                printed.append(content["data"]["text/plain"])
            elif message["msg_type"] == "error":
                printed.append(content["ename"])

        reply = self.client.execute_interactive(code, output_hook=take, timeout=PATIENCE_S)
        assert (reply["content"]["status"] == "error") == fails, (code, printed)
        return "".join(printed)

    def value(self, expression):
        return json.loads(self.cell("import json; print(json.dumps(%s))" % expression))

    def steps_of_cell(self):
        return int.from_bytes(self.count[:], "little")

    def kill_in_cell(self, code, steps):
        """By SIGKILL, after this many of its steps; gives how many it came to."""
        self.client.execute(code)
        while self.client.get_iopub_msg(timeout=PATIENCE_S)["msg_type"] != "stream":
            pass
        while self.steps_of_cell() < steps:
            time.sleep(0.001)
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        return self.steps_of_cell()


def think():
    """Gives for how long, in ns."""
    start = time.perf_counter_ns()
    time.sleep(PAUSE_S)
    return time.perf_counter_ns() - start


def first_run(notebook):
    """Recording starts when torch has trained already, and ends before it trains again."""
    found = {"thought_ns": 0}
    for code in (TORCH, "train(30)", "import stepscope", "run = stepscope.start('runs', 'first')"):
        notebook.cell(code)
    for code in (EPOCH, "train(40)", "train(40)"):
        notebook.cell(code)
        found["thought_ns"] += think()
    found["error"] = notebook.cell(FAILS, fails=True)
    found["interrupt"] = notebook.cell(ENDLESS, notebook.manager.interrupt_kernel, fails=True)
    found["before_interrupt"] = notebook.steps_of_cell()
    notebook.cell("train(9)")
    found["live"] = notebook.cell("stepscope.summary()")
    notebook.cell("stepscope.stop()")
    notebook.cell("train(30)")
    found["summary"] = notebook.cell("stepscope.summary()")
    found["steps"] = notebook.value("[loop['steps']['count'] for loop in stepscope.load()['loops']]")
    found["run"] = notebook.value("run")
    return found


def cells():
    """Three runs: one that is stopped, one whose kernel is restarted, one whose kernel is killed."""
    notebook = Notebook()
    found = {"first": first_run(notebook)}
    notebook.cell("run = stepscope.start('runs', 'second')")
    notebook.cell("train(25)")
    found["second"] = {"run": notebook.value("run")}
    notebook.restart()
    for code in (TORCH, "import stepscope; run = stepscope.start('runs', 'third')", "train(25)"):
        notebook.cell(code)
    found["third"] = {"run": notebook.value("run"),
                      "before_kill": notebook.kill_in_cell(ENDLESS, 200)}
    return found


def joined():
    """Nothing in the cells knows that they are recorded."""
    notebook = Notebook()
    for code in (TORCH, EPOCH, "train(40)"):
        notebook.cell(code)
    notebook.end()
    return {}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
