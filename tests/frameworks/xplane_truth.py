"""Trains with TensorFlow or JAX under the framework's own profiler, and prints what its slow layer
timed itself. Usage: xplane_truth.py keras|jax DIRECTORY; prints seconds of each call as JSON."""

import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["JAX_PLATFORMS"] = "cpu"

STEPS = 8
timed = {"forward": [], "backward": []}


def spin(kind, seconds):
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        pass
    timed[kind].append(time.perf_counter() - begin)


def forget():
    for calls in timed.values():
        calls.clear()


def train_keras(folder):
    import keras
    import numpy as np
    import tensorflow as tf

    class Slow(keras.layers.Layer):
        def call(self, x):
            y = tf.numpy_function(lambda value: (spin("forward", 0.01), value)[1], [x], tf.float32)
            return x + 0.0 * tf.stop_gradient(tf.ensure_shape(y, x.shape))

    given = keras.Input((32,), batch_size=8)
    hidden = keras.layers.Dense(32, name="first")(given)
    model = keras.Model(given, keras.layers.Dense(4, name="last")(Slow(name="slow")(hidden)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = np.ones((8 * STEPS, 32), "f"), np.zeros(8 * STEPS, int)
    model.fit(x, y, batch_size=8, verbose=0)
    forget()
    tf.profiler.experimental.start(folder)
    model.fit(x, y, batch_size=8, verbose=0)
    tf.profiler.experimental.stop()


def train_jax(folder):
    import flax.linen as nn
    import jax
    import jax.numpy as jnp
    import numpy as np

    def slowly(kind, x):
        def run(value):
            spin(kind, 0.01)
            return np.asarray(value)
        return jax.pure_callback(run, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    @jax.custom_vjp
    def slow(x):
        return slowly("forward", x)

    slow.defvjp(lambda x: (slow(x), None), lambda _, g: (slowly("backward", g),))

    class Slow(nn.Module):
        @nn.compact
        def __call__(self, x):
            return slow(x)

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4, name="last")(Slow(name="slow")(nn.Dense(32, name="first")(x)))

    net, x = Net(), jnp.ones((8, 32))
    weights = net.init(jax.random.PRNGKey(0), x)

    @jax.jit
    def train_step(weights):
        loss, gradient = jax.value_and_grad(lambda w: (net.apply(w, x) ** 2).mean())(weights)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradient), loss

    weights, loss = train_step(weights)
    loss.block_until_ready()
    forget()
    with jax.profiler.trace(folder):
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                weights, loss = train_step(weights)
                loss.block_until_ready()


{"keras": train_keras, "jax": train_jax}[sys.argv[1]](sys.argv[2])
print(json.dumps(timed))
