#!/usr/bin/env python3
"""What other profilers cost the same training, as a picture beside our own figures.

    tools/contenders BUILD_ROOT
    bench/bench_contenders.py BUILD      (BENCH_ROUNDS: of blocks, 15 if not given)

In one process a round trains a block of steps with each contender, in a new random order, and two without any;
what counts is the CPU time and the wall time of a step over that of the plain block of the same round: median
and its 95 % interval. Start, stop and export are not in it. The second plain block is the A/A row. TraceML stays in
a process once it is there, so it has one of its own: its dormant part is in both of its blocks.
"""

import contextlib
import cProfile
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import framework_python

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
SAMPLES_PER_S = 100
TORCH_STEPS, TORCH_ROWS = 150, 192
KERAS_STEPS, KERAS_BATCH, KERAS_INPUTS = 150, 32, 64


@contextlib.contextmanager
def stepscope_on():
    from stepscope import _core

    _core.hooks_pause(False)
    yield
    _core.hooks_pause(True)


@contextlib.contextmanager
def c_profile():
    profile = cProfile.Profile()
    profile.enable()
    yield
    profile.disable()


@contextlib.contextmanager
def viz_tracer():
    import viztracer

    tracer = viztracer.VizTracer(verbose=0)
    tracer.start()
    yield
    tracer.stop()
    tracer.clear()


@contextlib.contextmanager
def py_spy():
    """Waits until it samples."""
    program = os.path.join(os.path.dirname(sys.executable), "py-spy")
    with tempfile.TemporaryDirectory() as place:
        command = [program, "record", "-r", str(SAMPLES_PER_S), "-f", "raw", "-p", str(os.getpid()),
                   "-o", os.path.join(place, "out")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as spy:
            spy.stdout.read(1)
            yield
            spy.send_signal(2)
            spy.communicate()


@contextlib.contextmanager
def torch_profiler():
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        yield


@contextlib.contextmanager
def tf_profiler():
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as place:
        tf.profiler.experimental.start(place)
        yield
        tf.profiler.experimental.stop(save=False)


def everywhere():
    """Contenders of any framework that are installed here."""
    found = {"stepscope": stepscope_on, "cProfile": c_profile}
    if importlib.util.find_spec("viztracer"):
        found["VizTracer"] = viz_tracer
    if os.path.exists(os.path.join(os.path.dirname(sys.executable), "py-spy")):
        found["py-spy"] = py_spy
    return found


def time_block(train, around, cpu_clock):
    """(CPU, wall) seconds; only those of the training."""
    with around():
        cpu, wall = cpu_clock(), time.perf_counter()
        train()
        return cpu_clock() - cpu, time.perf_counter() - wall


def race(name, trainings, contenders):
    """`trainings`: what trains a block for a contender; that of None for all others."""
    from step_pairs import interval

    plain = {"plain": contextlib.nullcontext, "A/A": contextlib.nullcontext}
    blocks = {**plain, **contenders}
    ratios = {who: [] for who in blocks if who != "plain"}
    for number in range(ROUNDS + 1):
        took = {}
        for who in random.sample(list(blocks), len(blocks)):
            train = trainings.get(who, trainings[None])
            took[who] = time_block(train, blocks[who], time.process_time)
        if number == 0:
            continue  # everybody's first block
        for who, of in ratios.items():
            of.append([a / b for a, b in zip(took[who], took["plain"])])
    for who, of in ratios.items():
        cpu, wall = (interval([pair[i] for pair in of]) for i in range(2))
        print("  %-8s %-24s CPU %.3f [%.3f, %.3f]  wall %.3f [%.3f, %.3f]" % (name, who, *cpu, *wall))
        label = "".join(c if c.isalnum() else "_" for c in who.lower())
        print("RESULT %s_beside_%s %.3f %.3f %.3f - -" % (name, label, *cpu), flush=True)


def torch_block(step_of=None):
    """Trains a block; `step_of` gives what each step is done inside."""
    import torch
    from bench_torch import batches, loss_of, make_model

    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)
    loader = iter(batches(TORCH_ROWS))

    def train():
        for _ in range(TORCH_STEPS):
            batch = next(loader)
            with step_of(model) if step_of else contextlib.nullcontext():
                optimizer.zero_grad()
                loss_of(model, batch).backward()
                optimizer.step()

    return train


def race_torch():
    import torch

    torch.set_num_threads(1)
    race("torch", {None: torch_block()}, {**everywhere(), "torch.profiler": torch_profiler})


def race_traceml():
    import torch
    import traceml_ai as traceml

    torch.set_num_threads(1)
    traceml.init()
    race("traceml", {None: torch_block(), "TraceML": torch_block(traceml.trace_step)},
         {"TraceML": contextlib.nullcontext})


def race_keras():
    import keras
    import numpy

    x = numpy.random.rand(KERAS_STEPS * KERAS_BATCH, KERAS_INPUTS).astype("float32")
    y = numpy.random.rand(len(x), 1).astype("float32")
    layers = [keras.layers.Dense(220, activation="relu") for _ in range(3)] + [keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("adam", "mse")
    folder = tempfile.mkdtemp()

    def fit(**tensorboard):
        callbacks = [keras.callbacks.TensorBoard(folder, **tensorboard)] if tensorboard else []
        model.fit(x, y, batch_size=KERAS_BATCH, verbose=0, shuffle=False, callbacks=callbacks)

    race("keras", {None: fit, "TensorBoard": lambda: fit(update_freq="epoch"),
                   "TensorBoard each batch": lambda: fit(update_freq=1)},
         {**everywhere(), "tf.profiler": tf_profiler, "TensorBoard": contextlib.nullcontext,
          "TensorBoard each batch": contextlib.nullcontext})
    shutil.rmtree(folder)


RACES = {"torch": race_torch, "keras": race_keras}


def measure(which):
    """Runs in the interpreter that has the frameworks."""
    if which == "traceml":
        race_traceml()
        return
    import stepscope
    from stepscope import _core

    with tempfile.TemporaryDirectory() as place:
        stepscope.start(place, "bench")
        _core.hooks_pause(True)
        RACES[which]()
        stepscope.stop()


def start_traceml(python):
    """It brings a process that takes what it measures; what that prints is of no use here."""
    program = os.path.join(os.path.dirname(python), "traceml")
    if not os.path.exists(program):
        print("  TraceML is not here: tools/contenders installs it")
        return
    with tempfile.TemporaryDirectory() as place:
        command = [program, "run", "--logs-dir", place, os.path.abspath(__file__),
                   "--args", "--measure", "traceml"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if "TraceML" in line and "CPU" in line or " A/A " in line or line.startswith("RESULT"):
            print(line)


def main():
    made = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "contenders", "bin", "python")
    python = os.environ.get("STEPSCOPE_CONTENDERS_PYTHON", made)
    for which in ("torch", "keras"):
        framework_python.run(__file__, which, python=python, BENCH_ROUNDS=str(ROUNDS))
    if os.path.exists(python):
        start_traceml(python)


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure(sys.argv[2])
    else:
        main()
