"""Small JAX training loops as people write them: jax_shapes.py SHAPE...

Those that a library has parameters of print a digest of them."""

import hashlib
import os
import sys
import threading
import time
from contextlib import nullcontext
from functools import partial

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 24
WEIGHTS = {"in": np.full((8, 16), 0.1, "f"), "out": np.full((16, 1), 0.1, "f")}
X = np.linspace(-1, 1, 4 * 8, dtype="f").reshape(4, 8)
Y = np.ones((4, 1), "f")


def loss_of(weights, x, y):
    return jnp.mean((jnp.tanh(x @ weights["in"]) @ weights["out"] - y) ** 2)


def descend(weights, gradients):
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)


def sgd(weights, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return descend(weights, gradients), loss


@jax.jit
def train_step(weights, x, y):
    return sgd(weights, x, y)


@jax.jit
def eval_step(weights, x, y):
    return loss_of(weights, x, y)


def print_digest(parameters):
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(parameters):
        digest.update(np.asarray(leaf).tobytes())
    print(digest.hexdigest())


def plain():
    """The loss is looked at every 10 steps; one of its forms waits."""
    weights = WEIGHTS
    for step in range(40):
        weights, loss = train_step(weights, X, Y)
        if step % 10 == 9:
            (float, np.asarray, jax.block_until_ready, jax.device_get)[step // 10](loss)


def timed_by_clock(steps, is_awaited):
    """Prints what a step takes by the clock, as a progress bar would, without compilation."""
    weights, x = jnp.eye(96), jnp.ones((96, 96))

    @jax.jit
    def train_wide(weights):
        return weights - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w @ w) ** 2))(weights)

    weights = train_wide(weights)
    start = time.perf_counter()
    for step in range(1, steps):
        weights = train_wide(weights)
        if is_awaited(step):
            jax.block_until_ready(weights)
    jax.block_until_ready(weights)
    print((time.perf_counter() - start) / (steps - 1) * 1e9)


def never_waits():
    timed_by_clock(4000, lambda step: False)


def waits_at_the_end():
    timed_by_clock(300, lambda step: False)


def waits_seldom():
    timed_by_clock(1000, lambda step: step % 100 == 99)


def optax_adam():
    import optax

    optimizer = optax.adam(0.01)

    @partial(jax.jit, donate_argnums=(0, 1))
    def update(weights, state, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state, loss

    weights = jax.device_put(WEIGHTS)
    state = optimizer.init(weights)
    for _ in range(STEPS):
        weights, state, loss = update(weights, state, jax.device_put(X), Y)
        loss.item()
    print_digest((weights, state))


def eager_optax():
    """Only the gradient is compiled."""
    import optax

    optimizer = optax.sgd(0.01)
    gradient = jax.jit(jax.value_and_grad(loss_of))
    weights = jax.device_put(WEIGHTS)
    state = optimizer.init(weights)
    for _ in range(STEPS):
        loss, gradients = gradient(weights, X, Y)
        updates, state = optimizer.update(gradients, state)
        weights = optax.apply_updates(weights, updates)
        float(loss)
    print_digest(weights)


def nnx():
    import optax
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.layer = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.layer(x)

    @nnx.jit
    def train_nnx(model, optimizer, x, y):
        loss, gradients = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
        optimizer.update(model, gradients)
        return loss

    model = Model(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)
    for _ in range(STEPS):
        float(train_nnx(model, optimizer, X, Y))
    print_digest(nnx.state((model, optimizer)))


def linen():
    import optax
    from flax import linen as nn
    from flax.training.train_state import TrainState

    model = nn.Dense(1)

    @jax.jit
    def train_linen(state, x, y):
        gradients = jax.grad(lambda p: jnp.mean((state.apply_fn(p, x) - y) ** 2))(state.params)
        return state.apply_gradients(grads=gradients)

    state = TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), X),
                              tx=optax.sgd(0.01))
    for _ in range(STEPS):
        state = train_linen(state, X, Y)
    jax.block_until_ready(state.params)
    print_digest(state.params)


def scan():
    """A whole epoch in one call."""
    @jax.jit
    def train_epoch(weights, xs, ys):
        return jax.lax.scan(lambda w, batch: sgd(w, *batch), weights, (xs, ys))

    weights = WEIGHTS
    xs, ys = np.stack([X] * 50), np.stack([Y] * 50)
    for _ in range(STEPS):
        weights, losses = train_epoch(weights, xs, ys)
        np.asarray(losses)


def separate():
    """Gradient and update are functions of their own, and there is an evaluation now and then."""
    gradient = jax.jit(jax.value_and_grad(loss_of))
    update = jax.jit(descend)
    weights = WEIGHTS
    for step in range(120):
        loss, gradients = gradient(weights, X, Y)
        weights = update(weights, gradients)
        if step % 40 == 39:
            for _ in range(5):
                loss = eval_step(weights, X, Y)
            float(loss)


def gradient_twice():
    """Gradients of two batches, added up and applied by a function of its own."""
    weights = WEIGHTS
    gradient, apply = jax.jit(jax.grad(loss_of)), jax.jit(descend)
    for _ in range(100):
        first, second = gradient(weights, X, Y), gradient(weights, -X, Y)
        weights = apply(weights, jax.tree.map(jnp.add, first, second))
        float(weights["out"][0, 0])


def loss_twice():
    """It is looked at before and after each update."""
    weights = WEIGHTS
    for _ in range(100):
        before = eval_step(weights, X, Y)
        weights, loss = train_step(weights, X, Y)
        float(eval_step(weights, X, Y) - before)


def evaluation():
    """The evaluation is called more often than the training."""
    weights = WEIGHTS
    for step in range(STEPS):
        weights, loss = train_step(weights, X, Y)
        float(loss)
        if step % 8 == 7:
            for _ in range(20):
                loss = eval_step(weights, X, Y)
            float(loss)


def ahead():
    """Compiled before the loop."""
    train = train_step.lower(WEIGHTS, X, Y).compile()
    test = eval_step.lower(WEIGHTS, X, Y).compile()
    weights = WEIGHTS
    for step in range(STEPS):
        weights, loss = train(weights, X, Y)
        float(loss)
        if step % 8 == 7:
            for _ in range(20):
                loss = test(weights, X, Y)
            float(loss)


def nested():
    @jax.jit
    def outer(weights, x, y):
        return train_step(weights, x, y)

    weights = WEIGHTS
    for _ in range(STEPS):
        weights, loss = outer(weights, X, Y)
        float(loss)


def pmapped():
    devices = jax.device_count()

    def replica(weights, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        return descend(weights, jax.lax.pmean(gradients, "i")), loss

    train = jax.pmap(replica, axis_name="i", in_axes=(0, 0, 0))
    weights = jax.tree.map(lambda w: np.stack([w] * devices), WEIGHTS)
    for _ in range(STEPS):
        weights, loss = train(weights, np.stack([X] * devices), np.stack([Y] * devices))
        np.asarray(loss)


def retraces():
    """Each batch has a size of its own, and a function is recompiled each time."""
    weights = WEIGHTS
    for step in range(12):
        x, y = np.ones((step + 1, 8), "f"), np.ones((step + 1, 1), "f")
        weights, loss = train_step(weights, x, y)
        float(jax.jit(lambda x: x + 1)(loss))


def accuracy(weights, x, y):
    errors = jnp.abs(jnp.tanh(x @ weights["in"]) @ weights["out"] - y)
    return jnp.mean(jnp.where(errors < 0.5, 1.0, 0.0))


def accuracies():
    """After each epoch an evaluation that is not compiled: its operations are, one by one, at first."""
    weights = WEIGHTS
    for _ in range(4):
        for _ in range(STEPS // 4):
            weights, _ = train_step(weights, X, Y)
        float(accuracy(weights, X, Y)), float(accuracy(weights, X[:3], Y[:3]))


def looks():
    """Each way to look into an array, twice."""
    for _ in range(2):
        one = jnp.ones((), "int32")
        float(one), int(one), bool(one), complex(one), range(one), one.item(), one.tolist()
        np.asarray(one), memoryview(one), one.block_until_ready()
        jax.block_until_ready(one), jax.device_get(one)


def eager():
    """Nothing is compiled: what a step is cannot be known."""
    weights = WEIGHTS
    for _ in range(STEPS):
        weights, loss = sgd(weights, X, Y)
        float(loss)


def marked():
    """The same, told."""
    import stepscope

    weights = WEIGHTS
    for _ in range(STEPS):
        stepscope.step()
        weights, loss = sgd(weights, X, Y)
        float(loss)


def two_models():
    @jax.jit
    def train_second(weights, x, y):
        return sgd(weights, x, y)

    for train in (train_step, train_second):
        weights = WEIGHTS
        for _ in range(STEPS):
            weights, loss = train(weights, X, Y)
            float(loss)


def few():
    weights = WEIGHTS
    for _ in range(3):
        weights, loss = train_step(weights, X, Y)
        float(loss)


def threads():
    def train():
        weights = WEIGHTS
        for _ in range(STEPS):
            weights, loss = train_step(weights, X, Y)
            float(loss)

    started = [threading.Thread(target=train) for _ in range(2)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def forked():
    """A child in the middle, which does not touch JAX."""
    weights = WEIGHTS
    for step in range(STEPS):
        weights, loss = train_step(weights, X, Y)
        float(loss)
        if step == 10:
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)


def interrupted():
    weights = WEIGHTS
    for step in range(STEPS):
        weights, loss = train_step(weights, X, Y)
        float(loss)
        if step == 15:
            raise KeyboardInterrupt


def inference():
    for _ in range(STEPS):
        np.asarray(eval_step(WEIGHTS, X, Y))


def late():
    """Recording starts when JAX and a function are there already."""
    import stepscope

    weights, loss = train_step(WEIGHTS, X, Y)
    stepscope.start()
    for _ in range(STEPS):
        weights, loss = train_step(weights, X, Y)
        float(loss)


def profiled():
    """The profiler, under names from before the recording, watches steps 6 to 10, and then 16 to 20."""
    from jax.profiler import start_trace, stop_trace, trace

    import stepscope

    weights, loss = train_step(WEIGHTS, X, Y)
    stepscope.start()
    for step in range(STEPS):
        if step == 6:
            start_trace("profile")
        elif step == 11:
            stop_trace()
        with trace("profile") if 16 <= step <= 20 else nullcontext():
            weights, loss = train_step(weights, X, Y)
            float(loss)


if __name__ == "__main__":
    for shape in sys.argv[1:]:
        globals()[shape]()
