"""Loops that make their batches or wait in their own code:

    own_loops.py torch|tape generator|body|both|next

Prints which part of the time each of both took by this script's own clock, as JSON."""

import json
import os
import sys
import time

framework, mode = sys.argv[1:]
STEPS, WARM = 250, 40
SLEEP_S = 0.005
clock = time.perf_counter
spent = {"generator": 0.0, "body": 0.0}


def batches(make):
    for _ in range(STEPS):
        start = clock()
        if mode != "body":
            time.sleep(SLEEP_S)  # generator
        spent["generator"] += clock() - start
        yield make()


def wait():
    start = clock()
    if mode in ("body", "both"):
        time.sleep(SLEEP_S)  # body
    spent["body"] += clock() - start


def begin(number):
    """What was spent before the steps that count is not."""
    global began
    if number == WARM:
        began = clock()
        spent.update(generator=0.0, body=0.0)


def with_torch():
    import torch
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    make = lambda: torch.ones(128, 256)  # noqa: E731
    if mode == "next":
        iterator = batches(make)
        number = 0
        while number < STEPS:
            x = next(iterator)
            begin(number)
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            number += 1
        return
    for number, x in enumerate(batches(make)):
        begin(number)
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        wait()


def with_tape():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(64) for _ in range(2)])
    optimizer = tf.keras.optimizers.SGD()
    for number, x in enumerate(batches(lambda: tf.ones((32, 64)))):
        begin(number)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        wait()


began = clock()
with_torch() if framework == "torch" else with_tape()
whole = clock() - began
print(json.dumps({part: seconds / whole for part, seconds in spent.items()}))
