"""What Dynamo, fx, export, jit, copying and pickling make of models: printed as JSON, by case.

    torch_compilers.py [late]

With `late` a recording starts here, when Dynamo has compiled something already."""

import copy
import json
import pickle
import sys
import warnings

import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

CASES = {}
COUNTED = ("frames", "stats", "graph_break", "compiled_autograd")


def case(function):
    CASES[function.__name__] = function
    return function


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.layer(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = Inner(), nn.Linear(4, 1)

    def forward(self, x):
        return self.out(self.inner(x))


class OwnCall(Net):
    def __call__(self, x):
        return super().__call__(x) * 2


class Told(torch.Tensor):
    """Records each function that it is given to."""

    functions = []

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        cls.functions.append(torch.overrides.resolve_name(function))
        return super().__torch_function__(function, types, arguments, options)


def compiled(thing, **options):
    return torch.compile(thing, backend="eager", **options)


def data():
    return torch.linspace(-1, 1, 12).reshape(3, 4)


def error_of(work):
    try:
        work()
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)
    raise AssertionError("it raised nothing")


@case
def whole_graph():
    return compiled(Net(), fullgraph=True)(data())


@case
def graph_that_is_not_whole():
    net = Net()
    return error_of(lambda: compiled(lambda x: net(x).sum().backward(), fullgraph=True)(data()))


@case
def hook_of_submodule():
    net = Net()
    net.inner.register_forward_hook(lambda module, inputs, output: output + 1)
    return compiled(net)(data())


@case
def hook_of_root():
    net = Net()
    net.register_forward_hook(lambda module, inputs, output: output + 1)
    return compiled(net)(data())


@case
def own_compile():
    net = Net()
    net.compile(backend="eager")
    return net(data())


@case
def own_call():
    return compiled(OwnCall())(data())


@case
def lazy():
    nets = [nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1)) for _ in range(2)]
    found = [nets[0](data()), compiled(nets[1])(data())]
    return found + [type(layer).__name__ for net in nets for layer in net]


@case
def told_of_functions():
    net, x = Net(), data().as_subclass(Told)
    Told.functions.clear()
    found = [part.as_subclass(torch.Tensor) for part in (net(x), compiled(net)(x))]
    return found + Told.functions


@case
def function():
    net = Net()
    return compiled(lambda x: net(x).sum().item())(data())


@case
def moves():
    return compiled(lambda x: x.to(torch.float64).cpu().sum())(data())


@case
def training():
    net, x = Net(), data()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)

    def step():
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss

    return [compiled(step)() for _ in range(2)]


@case
def optimizer_and_scheduler():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=torch.tensor(0.1))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    net(data()).sum().backward()

    def step():
        optimizer.step()
        scheduler.step()

    for _ in range(2):
        compiled(step)()
    return net.out.weight


@case
def backward_inside():
    net, x = Net(), data()

    def step():
        net(x).sum().backward()
        return net.out.weight.grad

    return compiled(step)()


@case
def gradient_inside():
    weight = torch.ones(3, requires_grad=True)
    return compiled(lambda: torch.autograd.grad((weight * 2).sum(), weight)[0])()


@case
def compiled_gradients():
    """The backward pass is a graph, too."""
    net = Net()
    with torch._dynamo.compiled_autograd._enable(compiled):
        net(data()).sum().backward()
    return net.out.weight.grad


@case
def checkpointed():
    net = Net()
    return compiled(lambda x: checkpoint(net, x, use_reentrant=False))(data())


@case
def symbolic_trace():
    return torch.fx.symbolic_trace(Net()).code


@case
def fx():
    return make_fx(lambda x: torch.relu(x).sum())(data()).code


@case
def export():
    return str(torch.export.export(Net(), (data(),)).graph)


@case
def strict_export():
    return str(torch.export.export(Net(), (data(),), strict=True).graph)


@case
def export_with_hooks():
    net = Net()
    net.inner.register_forward_hook(lambda module, inputs, output: output + 1)
    return [str(torch.export.export(net, (data(),), strict=strict).graph)
            for strict in (False, True)]


@case
def script():
    return torch.jit.script(Net()).code


@case
def trace():
    return torch.jit.trace(Net(), data()).code


@case
def copies():
    net = Net()
    made = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    return [list(one.state_dict()) for one in made]


@case
def functional():
    net = Net()
    return torch.func.functional_call(net, dict(net.named_parameters()), (data(),))


@case
def per_sample():
    net = Net()
    one = torch.func.grad(lambda weights, x: torch.func.functional_call(net, weights, (x,)).sum())
    return torch.func.vmap(one, (None, 0))(dict(net.named_parameters()), data())["out.bias"]


def describe(result):
    if isinstance(result, torch.Tensor):
        return result.detach().flatten().tolist()
    return [describe(part) for part in result] if isinstance(result, list) else result


def run(work):
    """A case that raises ends the script: it would be the same with and without hooks."""
    torch.manual_seed(1)
    torch._dynamo.reset()
    counters.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = describe(work())
    counted = {key: dict(counters[key]) for key in COUNTED}
    return {"result": result, "counted": counted, "warnings": [str(one.message) for one in caught]}


if sys.argv[1:] == ["late"]:
    import stepscope

    whole_graph()
    assert stepscope.start(), stepscope.status()
print(json.dumps({name: run(work) for name, work in CASES.items()}))
