"""What compiled functions of JAX are and do, as JSON: the same with and without hooks."""

import copy
import gc
import inspect
import json
import pickle
import weakref
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

X = np.arange(4, dtype="f")


def square(x):
    """Doc of square."""
    return x * x


@partial(jax.jit, static_argnums=1, static_argnames="scale")
def power(x, times, scale=1):
    for _ in range(times):
        x = x * scale
    return x


module_level = jax.jit(square)


class Model:
    @partial(jax.jit, static_argnums=0)
    def forward(self, x):
        return x + 1

    @jax.jit
    def of_class(x):
        return x - 1


def listed(value):
    return np.asarray(value).tolist()


def lives(make):
    """Whether something is still there once nothing refers to it."""
    made = make()
    made(X)
    seen = weakref.ref(made)
    del made
    gc.collect()
    return seen() is not None


def donated():
    use = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(4)
    result = listed(use(x))
    return result, x.is_deleted()


def cleared():
    f = jax.jit(square)
    f(X), f(X[:2])
    before = f._cache_size()
    f.clear_cache()
    return before, f._cache_size(), listed(f(X)), f._cache_size()


def not_pickled():
    try:
        pickle.dumps(module_level)
    except (AttributeError, pickle.PicklingError) as error:  # JAX has local functions in it
        return str(error).split(" at 0x")[0]
    raise AssertionError("it was pickled")


def compiled():
    lowered = jax.jit(square).lower(X)
    return lowered.as_text(), listed(lowered.compile()(X))


def buffers():
    x = jnp.arange(3)
    array = np.asarray(x)
    return array.tolist(), array.flags.writeable, memoryview(x).format, bytes(x).hex()


def many():
    """Functions that are made and forgotten."""
    return [float(jax.jit(lambda x, k=k: x + k)(1.0)) for k in range(8)]


def custom():
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * 2,))
    return float(jax.grad(jax.jit(f))(1.0))


CASES = {
    "value": lambda: listed(jax.jit(square)(X)),
    "keyword": lambda: listed(module_level(x=X)),
    "kind": lambda: (str(type(module_level)), module_level.__name__, module_level.__module__,
                     module_level.__doc__, module_level.__wrapped__ is square,
                     sorted(module_level.__dict__), str(inspect.signature(module_level))),
    "functions": lambda: [(type(f).__name__, f.__name__, f.__doc__[:40]) for f in (
        jax.jit, jax.grad, jax.vjp)],
    "hash": lambda: (module_level == module_level, len({module_level, module_level})),
    "lower": compiled,
    "trace": lambda: str(module_level.trace(X).jaxpr),
    "shape": lambda: str(module_level.eval_shape(X)),
    "jaxpr": lambda: str(jax.make_jaxpr(module_level)(X)),
    "clear_cache": cleared,
    "grad": lambda: listed(jax.grad(lambda x: jax.jit(square)(x).sum())(X)),
    "jit of grad": lambda: listed(jax.jit(jax.grad(lambda x: square(x).sum()))(X)),
    "hessian": lambda: listed(jax.hessian(jax.jit(lambda x: (x ** 3).sum()))(X)),
    "custom": custom,
    "vmap": lambda: listed(jax.vmap(jax.jit(jnp.sum))(np.ones((3, 2), "f"))),
    "checkpoint": lambda: float(jax.grad(jax.jit(jax.checkpoint(lambda x: jnp.sin(x) ** 2)))(1.0)),
    "static": lambda: [listed(power(X, 2, scale=3)), listed(power(X, 1))],
    "partial": lambda: listed(jax.jit(partial(square))(X)),
    "method": lambda: [listed(Model().forward(X)), listed(Model.of_class(X))],
    "nested": lambda: listed(jax.jit(lambda x: jax.jit(square)(x) + module_level(x))(X)),
    "donated": donated,
    "pickle": not_pickled,
    "copy": lambda: (copy.copy(module_level) is module_level,
                     copy.deepcopy(module_level) is module_level),
    "collected": lambda: lives(lambda: jax.jit(lambda x: x + 2)),
    "buffers": buffers,
    "many": many,
    "disabled": lambda: listed(without_jit()),
}


def without_jit():
    with jax.disable_jit():
        return module_level(X)


# A case that raises ends the script: it would be the same with and without hooks.
print(json.dumps({name: case() for name, case in CASES.items()}))
