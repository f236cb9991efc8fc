"""PyTorch: faults of the advice trials, and the advice followed to the letter.

Each kind is a function (cure, steps) that returns what trains. Cure is None for the fault; else its
`is` says which advice is followed, with the numbers of that."""

import gc
import os
import tempfile
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from train_torch import INPUTS, layers, learn, make_batch, momentum

torch.set_num_threads(1)
BATCH = 16


def is_cured(cure, name=None):
    return cure is not None and (name is None or cure["is"] == name)


def loader_words(cure):
    """What advice about workers says, as arguments of a DataLoader."""
    if not is_cured(cure, "workers"):
        return {}
    return {"num_workers": int(cure["workers"]), "persistent_workers": True, "prefetch_factor": 4}


def trains(loader, after=lambda number: None, model=None):
    model = model or layers()
    optimizer = momentum(model)

    def train():
        for number, (x, y) in enumerate(loader):
            learn(model, optimizer, x, y)
            after(number)
    return train


def ready(steps, count=64):
    """Batches that are there already."""
    batch = make_batch(count)
    return [batch] * steps


def sleep_for(seconds):
    time.sleep(seconds)


def compute_for(numbers):
    """Work for a core, which keeps the interpreter to itself for most of it."""
    return float(np.sort(np.sin(np.arange(numbers, dtype="float64"))).sum())


class Items(Dataset):
    def __init__(self, count, work):
        self.count, self.work = count, work
        self.row = torch.randn(INPUTS)

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        self.work()
        return self.row, at % 10


def waiting_items(cure, steps):
    """Each sample waits for a network."""
    items = Items(steps * BATCH, lambda: sleep_for(0.0008))
    return trains(DataLoader(items, BATCH, **loader_words(cure)))


def computed_items(cure, steps):
    work = (lambda: None) if is_cured(cure, "stored") else lambda: compute_for(12000)
    items = Items(steps * BATCH, work)
    return trains(DataLoader(items, BATCH, **loader_words(cure)))


class Pieces(TensorDataset):
    """A batch in one piece."""

    def __getitems__(self, indices):
        return tuple(tensor[indices] for tensor in self.tensors)


def as_it_is(batch):
    return batch


def tensors_in_memory(cure, steps):
    tensors = make_batch(steps * 64)
    if is_cured(cure, "piece"):
        return trains(DataLoader(Pieces(*tensors), 64, shuffle=True, collate_fn=as_it_is))
    return trains(DataLoader(TensorDataset(*tensors), 64, shuffle=True, **loader_words(cure)))


class Columns(Dataset):
    """Many small fields, which take long to put together."""

    def __init__(self, count, fields=40):
        self.values = torch.randn(count, fields)
        self.fields = fields

    def __len__(self):
        return len(self.values)

    def __getitem__(self, at):
        return [self.values[at, number] for number in range(self.fields)]


class WholeColumns(Columns):
    def __getitems__(self, indices):
        return self.values[indices]


def many_fields(cure, steps):
    model = nn.Sequential(nn.Linear(40, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = momentum(model)
    if is_cured(cure, "piece"):
        loader = DataLoader(WholeColumns(steps * 32), 32, collate_fn=as_it_is)
    else:
        loader = DataLoader(Columns(steps * 32), 32, **loader_words(cure))
    y = torch.zeros(32, dtype=torch.long)

    def train():
        for fields in loader:
            x = fields if isinstance(fields, torch.Tensor) else torch.stack(fields, 1)
            learn(model, optimizer, x, y)
    return train


class Made(IterableDataset):
    """What a generator did, in a Dataset."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        mine = (info.id, info.num_workers) if info else (0, 1)
        return self.rows(*mine)


def generator(work):
    def make(cure, steps):
        batch = make_batch(64)

        def rows(first=0, every=1):
            for _ in range(first, steps, every):
                if not is_cured(cure, "stored"):
                    work()
                yield batch

        class Rows:
            def __iter__(self):
                return rows()

        if is_cured(cure, "workers"):
            return trains(DataLoader(Made(rows), batch_size=None, num_workers=int(cure["workers"])))
        return trains(Rows())
    return make


def too_few_workers(cure, steps):
    items = Items(steps * BATCH, lambda: sleep_for(0.0008))
    workers = int(cure["workers"]) if is_cured(cure, "more") else 1
    return trains(DataLoader(items, BATCH, num_workers=workers, persistent_workers=True))


class Objects(Dataset):
    """Lists of Python numbers instead of tensors."""

    def __init__(self, count, as_tensors):
        self.count, self.as_tensors = count, as_tensors
        self.row = torch.randn(60000)

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        return self.row.half() if self.as_tensors else self.row.tolist()


def large_objects(cure, steps):
    workers = int(cure["workers"]) if is_cured(cure, "more") else 1
    loader = DataLoader(Objects(steps, is_cured(cure, "tensors")), batch_size=None,
                        num_workers=workers, persistent_workers=True)
    model = layers()
    optimizer = momentum(model)
    x, y = make_batch(64)

    def train():
        for numbers in loader:
            x[0, 0] = float(numbers[0])
            learn(model, optimizer, x, y)
    return train


def log_each(cure, steps):
    """Writes to a slow place in each step."""
    def log(number):
        sleep_for(0.004)

    every = 50 if is_cured(cure, "every 50") else 1
    return trains(ready(steps), lambda number: log(number) if number % every == 0 else None)


def score_items(cure, steps):
    """A metric of the script, in pure Python, item by item."""
    values = torch.randn(64, 200)

    def one_by_one():
        total = 0.0
        for row in values:
            for value in row.tolist():
                total += value * value if value > 0 else -value
        return total

    def at_once():
        return torch.where(values > 0, values * values, -values).sum().item()

    score = at_once if is_cured(cure, "at once") else one_by_one
    return trains(ready(steps), lambda number: score())


def checkpoint(cure, steps):
    """Every 20 steps, or every 100."""
    every = 100 if is_cured(cure, "rarely") else 20
    more = {"ballast": torch.zeros(6_000_000)}
    model, place = layers(), os.path.join(tempfile.mkdtemp(), "saved.pt")

    def save(number):
        if number % every == every - 1:
            torch.save({"model": model.state_dict(), **more}, place)
    return trains(ready(steps), save, model)


def evaluation(cure, steps):
    """Every 20 steps, on 20 batches; or on 4."""
    every = 20
    model = layers()
    held_out = DataLoader(ready(20 if not is_cured(cure, "fewer") else 4), batch_size=None)

    def evaluate(number):
        if number % every == every - 1:
            model.eval()
            with torch.inference_mode() if cure else torch.no_grad():
                for x, y in held_out:
                    nn.functional.cross_entropy(model(x), y)
            model.train()
    return trains(ready(steps), evaluate, model)


def collected(cure, steps):
    """Collects in each step."""
    kept = [[number] for number in range(60000)]
    collect = (lambda number: None) if is_cured(cure) else (lambda number: gc.collect())
    train = trains(ready(steps), collect)

    def run():
        assert kept
        if cure:
            gc.freeze()
            gc.disable()
        train()
        if cure:
            gc.enable()
            gc.unfreeze()
        gc.collect()
    return run


def short_epochs(cure, steps):
    """Workers that are restarted for each of many short epochs."""
    items = Items(10 * BATCH, lambda: None)
    loader = DataLoader(items, BATCH, num_workers=1,
                        persistent_workers=is_cured(cure, "persistent"))
    train = trains(loader)

    def epochs():
        for _ in range(steps // 10):
            train()
    return epochs


class LongOrder:
    """A sampler that draws again for each iterator."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(torch.randperm(400_000)[:self.count].sort().indices.tolist())

    def __len__(self):
        return self.count


def iterator_each_step(cure, steps):
    """next(iter(loader)) in the loop."""
    items = Items(steps * BATCH, lambda: None)
    loader = DataLoader(items, BATCH, sampler=LongOrder(steps * BATCH))
    model = layers()
    optimizer = momentum(model)

    def train():
        rows = iter(loader)
        for _ in range(steps):
            x, y = next(rows) if is_cured(cure) else next(iter(loader))
            learn(model, optimizer, x, y)
    return train


def fresh_memory(cure, steps):
    """Large tensors that are allocated and freed in each step."""
    large = torch.zeros(3_000_000)

    def work(number):
        del number
        return ((large + 1) * 2 - 1).relu().sum()

    return trains(ready(steps), work)


def crowded(cure, steps):
    """As many threads as cores for small matrices, on a machine that others use as well."""
    threads = int(os.environ["OMP_NUM_THREADS"]) if cure and "OMP_NUM_THREADS" in cure["set"] \
        else os.cpu_count()
    train = trains(ready(steps, 128))

    def run():
        torch.set_num_threads(threads)
        train()
    return run


def small_batches(cure, steps):
    """As many samples in batches of 4; those of 64 are tried in the same run."""
    size = 64 if is_cured(cure, "larger") else 4
    tried = () if is_cured(cure) else ((64, steps // 4),)
    model = nn.Sequential(nn.Linear(INPUTS, 128), *[nn.Linear(128, 128) for _ in range(6)],
                          nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters())

    def train():
        import stepscope
        for count, many in ((size, steps * 4 // size), *tried):
            x, y = make_batch(count)
            with stepscope.loop("batches of %d" % count):
                for _ in range(many):
                    stepscope.step(samples=count)
                    learn(model, optimizer, x, y)
    return train


def recompiled(cure, steps):
    """torch.compile in each of a few steps."""
    model = layers()
    once = torch.compile(model, backend="eager")
    optimizer = momentum(model)
    x, y = make_batch(64)

    def train():
        for number in range(steps):
            if number % 10 == 9 and not is_cured(cure):
                torch._dynamo.reset()
                net = torch.compile(model, backend="eager")
            else:
                net = once
            learn(net, optimizer, x, y)
    return train


KINDS = {
    "waiting items": waiting_items, "computed items": computed_items,
    "tensors in memory": tensors_in_memory, "many fields": many_fields,
    "waiting generator": generator(lambda: sleep_for(0.008)),
    "computed generator": generator(lambda: compute_for(120000)),
    "too few workers": too_few_workers, "large objects": large_objects,
    "log each": log_each, "score items": score_items, "checkpoint": checkpoint,
    "evaluation": evaluation, "collected": collected,
    "short epochs": short_epochs, "iterator each step": iterator_each_step,
    "fresh memory": fresh_memory, "crowded": crowded, "small batches": small_batches,
    "recompiled": recompiled,
}
