"""Loops that make their batches or wait in their own code:

    own_loops.py torch|tape generator|body|both|next SCALE
    own_loops.py torch inside|busy SCALE

SCALE multiplies the number of steps. Prints, as JSON, seconds of each step by this script's own clock: all of it, and in each part."""

import json
import os
import sys
import time

framework, mode, scale = sys.argv[1:]
# The supervisor looks at a thread ten times per second, and has to do so 20 times in the forward pass.
STEPS = (800 if mode in ("inside", "busy") else 250) * int(scale)
SLEEP_S = 0.005
clock = time.perf_counter
spent = {"generator": 0.0, "body": 0.0, "inside": 0.0}
steps = []


def batches(make):
    for _ in range(STEPS):
        start = clock()
        if mode not in ("body", "inside", "busy"):
            time.sleep(SLEEP_S)  # generator
        spent["generator"] += clock() - start
        yield make()


def wait():
    start = clock()
    if mode in ("body", "both"):
        time.sleep(SLEEP_S)  # body
    spent["body"] += clock() - start


def begin():
    """A step. What was spent until now is the one before."""
    global began
    now = clock()
    steps.append({"all": now - began, **spent})
    spent.update(dict.fromkeys(spent, 0.0))
    began = now


def with_torch():
    import torch
    torch.set_num_threads(1)

    class Net(torch.nn.Sequential):
        def forward(self, x):
            start = clock()
            if mode == "inside":
                time.sleep(SLEEP_S)  # inside
            while mode == "busy" and clock() < start + SLEEP_S:
                pass
            spent["inside"] += clock() - start
            return super().forward(x)

    model = Net(*[torch.nn.Linear(256, 256) for _ in range(8)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    make = lambda: torch.ones(128, 256)  # noqa: E731
    if mode == "next":
        iterator = batches(make)
        for _ in range(STEPS):
            x = next(iterator)
            begin()
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
        return
    for x in batches(make):
        begin()
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        wait()


def with_tape():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(64) for _ in range(2)])
    optimizer = tf.keras.optimizers.SGD()
    for x in batches(lambda: tf.ones((32, 64))):
        begin()
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        wait()


began = clock()
with_torch() if framework == "torch" else with_tape()
begin()
print(json.dumps(steps[1:]))
