"""Trains models whose layers spin for times that are known, in the ways that a word says. Prints JSON:
the spun nanoseconds of each step, by layer and pass; for "same" what must be so without us, too."""

import collections
import hashlib
import json
import sys
import tempfile
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

spun = collections.Counter()  # by (layer, pass), in the present step


def spin(ms, layer, which):
    begin = time.perf_counter_ns()
    while time.perf_counter_ns() - begin < ms * 1e6:
        pass
    spun["%s %s" % (layer, which)] += time.perf_counter_ns() - begin


class Spun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer):
        ctx.layer = layer
        spin(layer.forward_ms, layer.called, "forward")
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        spin(ctx.layer.backward_ms, ctx.layer.called, "backward")
        return gradient, None


class Spin(nn.Module):
    def __init__(self, called, forward_ms, backward_ms):
        super().__init__()
        self.called, self.forward_ms, self.backward_ms = called, forward_ms, backward_ms

    def forward(self, x):
        return Spun.apply(x, self)


class Block(nn.Module):
    """What it does itself is on both sides of what it calls."""

    def __init__(self, called, forward_ms, backward_ms):
        super().__init__()
        self.up = nn.Linear(8, 8)
        self.act = nn.ReLU(inplace=True)
        self.down = Spin(called + ".down", forward_ms, backward_ms)

    def forward(self, x):
        return x + self.down(self.act(self.up(x))) * 2


class Net(nn.Module):
    def __init__(self, scale, again=False):
        super().__init__()
        self.again = again
        self.embed = nn.Sequential(nn.Linear(8, 8), Spin("embed.1", scale, 2 * scale))
        self.layers = nn.ModuleList(
            [Block("layers.0", 2 * scale, scale), Block("layers.1", scale / 2, 4 * scale)])
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.again else layer(x)
        return {"logits": self.head(x)}


def train(model, steps):
    """The spun times of each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    done = []
    for number in range(steps):
        x = torch.randn(4, 8, generator=torch.Generator().manual_seed(number))
        spun.clear()
        optimizer.zero_grad()
        out = model(x)
        loss = nn.functional.mse_loss(out["logits"] if isinstance(out, dict) else out, x[:, :1])
        loss.backward()
        optimizer.step()
        done.append(dict(spun))
    return done


def digest(model):
    total = hashlib.sha256()
    for parameter in model.parameters():
        total.update(parameter.detach().numpy().tobytes())
    return total.hexdigest()


def weights():
    """Every way to train that marks could change."""
    digests = {}
    for name, make in {
            "plain": lambda: Net(0),
            "checkpoint": lambda: Net(0, again=True),
            "transformer": lambda: nn.Sequential(
                nn.Linear(8, 16), nn.Unflatten(1, (1, 16)),
                nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), nn.Flatten(),
                nn.Linear(16, 1)),
            "recurrent": lambda: Recurrent(),
            "views": lambda: Views(),
    }.items():
        torch.manual_seed(1)
        model = make()
        train(model, 60)
        digests[name] = digest(model)
    return digests


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.LSTM(8, 8, 2)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.inside(x.unsqueeze(0))[0].squeeze(0))


class Views(nn.Module):
    """Views whose base is changed in place, in the order that is worst for who looks at them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(4, 4)
        self.pass_on = nn.Identity()

    def forward(self, x):
        x = self.first(x)
        part, rest = x[:, :4], x[:, 4:]
        part = self.pass_on(part)
        x.mul_(1.5)
        part = self.second(self.pass_on(part))
        part.add_(rest)
        return part.sum(1, keepdim=True)


def compiled(autograd):
    """What Dynamo has counted."""
    if autograd:
        torch._dynamo.config.compiled_autograd = True
    model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)) if autograd
                          else Net(0).apply(plain_spin), backend="aot_eager")
    train(model, 40)
    counters = torch._dynamo.utils.counters
    return {"weights": digest(model), "stats": dict(counters["stats"]),
            "frames": dict(counters["frames"]), "autograd": dict(counters["compiled_autograd"])}


def plain_spin(module):
    """Dynamo does not look into the loop of one that spins."""
    if isinstance(module, Spin):
        module.forward = torch.sin


class Told(torch.overrides.TorchFunctionMode):
    """What a user's mode sees."""

    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.calls[getattr(function, "__name__", str(function))] += 1
        return function(*args, **(kwargs or {}))


def modes():
    model = Net(0)
    told = Told()
    with told:
        train(model, 60)
    profiled = []
    sys.setprofile(lambda frame, event, what: profiled.append(
        frame.f_code.co_filename) if event == "call" else None)
    train(model, 60)
    sys.setprofile(None)
    return {"told": dict(told.calls), "profiled": len(profiled),
            "ours": sum("stepscope" in file.rpartition("/")[0] for file in profiled
                        if "tests" not in file)}


class Batches(torch.utils.data.Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, number):
        x = torch.full((8,), float(number % 7))
        return {"x": x, "labels": x[:1]}


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net(1)

    def forward(self, x, labels=None):
        logits = self.net(x)["logits"]
        return {"loss": nn.functional.mse_loss(logits, labels), "logits": logits}


def trainer():
    from transformers import Trainer, TrainingArguments

    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(folder, num_train_epochs=1, per_device_train_batch_size=4,
                                    report_to=[], save_strategy="no", disable_tqdm=True,
                                    use_cpu=True)
        Trainer(WithLoss(), options, train_dataset=Batches()).train()


def lightning():
    import lightning.pytorch as pl

    class Lit(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.encoder, self.criterion = Net(1), nn.MSELoss()

        def training_step(self, batch, number):
            return self.criterion(self.encoder(batch["x"])["logits"], batch["labels"])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.001)

    pl.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
               enable_model_summary=False, accelerator="cpu").fit(
                   Lit(), torch.utils.data.DataLoader(Batches(), 4))


class Fails(nn.Module):
    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls == 11:
            raise ValueError("a layer that fails")
        return x


def open_stretch(how):
    """Trains as usual, and then so that a stretch that is open then has no update to end it."""
    model = Net(0.4)
    train(model, 14)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    if how == "inside":
        model.embed[0].bias.register_post_accumulate_grad_hook(lambda _: optimizer.step())
    elif how == "device":
        sys.modules["stepscope._core"].layers_stop("a device is in use")
    for _ in range(200 if how == "never" else 30):
        model(torch.randn(4, 8))["logits"].sum().backward()


class Inner(nn.Module):
    """Not one of PyTorch's own: what those do is not compiled in place."""

    def __init__(self):
        super().__init__()
        self.up, self.act = nn.Linear(8, 8), nn.ReLU()

    def forward(self, x):
        return self.act(self.up(x))


def plain(word):
    """The first part is compiled by one of two ways; or marks wait, as for the GIL."""
    if word == "waits":
        adapter = sys.modules["stepscope.adapters.torch"]
        sys.modules["stepscope._core"].layers_start(
            torch.Tensor, adapter._paths, adapter._may_sample, lambda: time.sleep(0.03) or True)
    inner = Inner()
    if word == "compiled":
        return nn.Sequential(torch.compile(inner, backend="aot_eager"), nn.Linear(8, 1))
    if word == "compiled_in_place":
        inner.compile(backend="aot_eager")
        return nn.Sequential(inner, nn.Linear(8, 1))
    parts = (nn.Sequential(collections.OrderedDict(
        up=nn.Linear(8, 32), act=nn.ReLU(), down=nn.Linear(32, 8))) for _ in range(4))
    return nn.Sequential(*parts, nn.Linear(8, 1))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    word, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    if word == "same":
        print(json.dumps([weights(), modes(), compiled(False), compiled(True)]))
    elif word in ("trainer", "lightning"):
        {"trainer": trainer, "lightning": lightning}[word]()
    elif word in ("inside", "device", "never"):
        open_stretch(word)
    elif word in ("plain", "waits", "compiled", "compiled_in_place"):
        train(plain(word), steps)
    elif word == "error":
        train(nn.Sequential(nn.Linear(8, 8), nn.Sequential(Fails(), nn.Linear(8, 1))), 20)
    else:
        scale = {"small": 0.4, "medium": 2, "large": 8, "checkpoint": 2, "slower": 0.4}[word]
        model = Net(scale, again=word == "checkpoint")
        if word == "slower":
            model.layers[0].down.forward_ms += 20
        print(json.dumps(train(model, steps)))


main()
