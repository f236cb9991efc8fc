"""What a DataLoader gives, in loops with a model each.

    torch_inputs.py sizes               batches of 16, then of 128, of a tiny model
    torch_inputs.py kinds               batches of each kind below
    torch_inputs.py workers N MAKE_MS REST_MS STEPS

Prints JSON: a digest of all weights; of `kinds` how many calls of tensors a mode was told of; of
`workers` the mean step in ns, by its own clock."""

import collections
import hashlib
import json
import sys
import time

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, Dataset, default_collate

digest = hashlib.sha256()


class Numbers(Dataset):
    def __init__(self, count, delay_s=0.0):
        self.count, self.delay_s = count, delay_s

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        time.sleep(self.delay_s)
        return torch.full((8,), at / self.count), torch.tensor([float(at % 2)])


class Named(torch.Tensor):
    """Any access to it runs code of the script."""


class Counting(TorchFunctionMode):
    calls = 0

    def __torch_function__(self, function, types, arguments=(), options=None):
        Counting.calls += 1
        return function(*arguments, **(options or {}))


def in_a_dict(items):
    x, y = default_collate(items)
    return {"y": y, "more": {"x": x}}


class Encoding(collections.UserDict):
    """As a tokenizer of Hugging Face gives it."""


def in_an_encoding(items):
    return Encoding(in_a_dict(items))


def in_a_class(items):
    return [part.as_subclass(Named) for part in default_collate(items)]


def turned(items):
    """The first dimension of the features is not the batch."""
    x, y = default_collate(items)
    return [x.t(), y]


KINDS = {"pair": default_collate, "dict": in_a_dict, "encoding": in_an_encoding,
         "class": in_a_class, "turned": turned, "mode": default_collate}


def parts_of(kind, batch):
    if kind in ("dict", "encoding"):
        return batch["more"]["x"], batch["y"]
    x, y = (part.as_subclass(torch.Tensor) for part in batch) if kind == "class" else batch
    return (x.t() if kind == "turned" else x), y


def train(kind, loader, epochs=1, rest_s=0.0):
    """Times of the starts of all steps."""
    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    starts = []
    for _ in range(epochs):
        for batch in loader:
            x, y = parts_of(kind, batch)
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
            time.sleep(rest_s)
            starts.append(time.perf_counter_ns())
    for parameter in net.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return starts


def sizes():
    for size in (16, 128):
        train("pair", DataLoader(Numbers(2000), size), epochs=2)
    return {}


def kinds():
    for kind, collate in KINDS.items():
        loader = DataLoader(Numbers(20 * 4 + 2), 4, collate_fn=collate)
        if kind == "mode":
            with Counting():
                train(kind, loader)
        else:
            train(kind, loader)
    return {"calls": Counting.calls}


def workers(count, make_ms, rest_ms, steps):
    data = Numbers(int(steps), float(make_ms) / 1e3)
    loader = DataLoader(data, 1, num_workers=int(count), shuffle=False)
    starts = train("pair", loader, rest_s=float(rest_ms) / 1e3)
    steady = starts[20:]  # after what was made ahead
    return {"step_ns": (steady[-1] - steady[0]) / (len(steady) - 1)}


torch.manual_seed(0)
torch.set_num_threads(1)
printed = {"sizes": sizes, "kinds": kinds, "workers": workers}[sys.argv[1]](*sys.argv[2:])
print(json.dumps({"digest": digest.hexdigest(), **printed}))
