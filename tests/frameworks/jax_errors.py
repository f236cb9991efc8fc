"""Prints the tracebacks of errors in each place of a JAX training loop."""

import re
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import optax


def batches():
    yield np.ones(2, "f")
    raise KeyError("batch")


def loss_of(weights, x):
    if x.shape[0] == 3:
        raise ValueError("while it is traced")
    return jnp.sum(weights * x)


@jax.jit
def train_step(weights, x):
    return weights - jax.grad(loss_of)(weights, x)


def generator():
    weights = np.ones(2, "f")
    for x in batches():
        weights = train_step(weights, x)


def traced():
    train_step(np.ones(3, "f"), np.ones(3, "f"))


def shapes():
    train_step(np.ones(2, "f"), np.ones(4, "f"))


def no_scalar():
    jax.jit(jax.grad(lambda x: x * 2))(np.ones(2, "f"))


def concrete():
    jax.jit(lambda x: float(x))(1.0)


def argument():
    train_step("weights", None)


def deleted():
    gone = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(2)
    gone(x)
    float(x[0])


def deleted_buffer():
    x = jnp.ones(2)
    x.delete()
    np.asarray(x)


def not_one():
    float(jnp.ones(2))


def callback():
    def broken(x):
        raise ArithmeticError("in the callback")

    shape = jax.ShapeDtypeStruct((), np.float32)
    jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(broken, shape, x))(1.0))


def update():
    optax.apply_updates({"a": np.ones(2)}, {"b": np.ones(2)})


def not_a_device():
    jax.device_put(1.0, "nowhere")


for place in (generator, traced, shapes, no_scalar, concrete, argument, deleted, deleted_buffer,
              not_one, callback, update, not_a_device):
    try:
        place()
        print(place.__name__, "raised nothing")
    except Exception:
        print(re.sub("0x[0-9a-f]+", "address", traceback.format_exc()))
