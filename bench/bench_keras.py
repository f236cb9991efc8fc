#!/usr/bin/env python3
"""What recording costs a Keras training on TensorFlow: steps of 1, 3 and 10 ms in fit, and an
eager loop.

    STEPSCOPE_FRAMEWORKS_PYTHON=... bench/bench_keras.py BUILD      (BENCH_PAIRS: of each)

In one process, by neighbouring pairs of steps (step_pairs.py). A step of fit is a batch of
tf.data, the compiled train function of two dense layers as wide as it takes, and what Keras does
around it; it begins at a callback of the benchmark's, which is one hook more. TensorFlow is left
one thread to compute with. Then the hooks of such a step by themselves, in blocks, recording and
only handing on.
"""

import os
import sys
import tempfile
import time

import framework_python

PAIRS = int(os.environ.get("BENCH_PAIRS", "1000"))
LENGTHS_MS = (1, 3, 10)
TARGET = 1.005
RATE = 0.0  # a model that learns has other steps at the end than at the start
BATCH, INPUTS = 32, 32
BLOCK, BLOCKS = 200, 100  # calls of what takes next to nothing
TRIED, WARM = 40, 40  # steps of a width, to see how long they take, after some that take longer


def make_model(width):
    import keras

    model = keras.Sequential([
        keras.layers.Input((INPUTS,)), keras.layers.Dense(width, activation="tanh"),
        keras.layers.Dense(width, activation="tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(RATE), "mse")
    return model


def make_data():
    import tensorflow as tf

    rows = tf.random.normal((BATCH * 8, INPUTS)), tf.random.normal((BATCH * 8, 1))
    return tf.data.Dataset.from_tensor_slices(rows).batch(BATCH).repeat()


def fit(model, tick, is_done):
    """Calls tick() at the start of each step, until is_done()."""
    import keras

    class Ticks(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            tick()
            self.model.stop_training = is_done()

    model.fit(make_data(), steps_per_epoch=1_000_000_000, verbose=0, callbacks=[Ticks()])


def length_ns(model):
    """Of a step, as most of them are."""
    times = []
    fit(model, lambda: times.append(time.process_time_ns()), lambda: len(times) > WARM + TRIED)
    lengths = sorted(b - a for a, b in zip(times[WARM:], times[WARM + 1:]))
    return lengths[len(lengths) // 2]


def find_model(wanted_ms):
    width = 16
    while True:
        model = make_model(width)
        if length_ns(model) >= wanted_ms * 1e6 or width > 8192:
            return model
        width = int(width * 1.2)


def eager_loop(pairs):
    import keras
    import tensorflow as tf

    model, optimizer = make_model(16), keras.optimizers.SGD(RATE)
    loss_of = keras.losses.MeanSquaredError()
    for x, y in make_data():
        pairs.tick()
        if pairs.is_done:
            return
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def hooked_calls():
    """What fit calls in a step where there are hooks, without what takes long in there. The wait
    for data is told from C, in a tenth of this."""
    import keras
    from keras.src.utils import python_utils

    class Idle(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            pass

    model, idle = make_model(16), Idle()
    keras.callbacks.CallbackList([idle], model=model)
    model.train_function = lambda iterator: None
    model.make_train_function()
    return (lambda: model.train_function(None), lambda: idle.on_train_batch_end(0),
            lambda: python_utils.pythonify_logs({"loss": 1.0}),
            lambda: python_utils.pythonify_logs(None))


def block_ns(call):
    start = time.process_time_ns()
    for _ in range(BLOCK):
        call()
    return (time.process_time_ns() - start) / BLOCK


def cost_ns(core):
    """What the hooks of a step take: one figure for each round of blocks."""
    calls, costs = hooked_calls(), []
    for _ in range(BLOCKS):
        more = 0
        for call in calls:
            core.hooks_pause(False)
            recorded = block_ns(call)
            core.hooks_pause(True)
            more += recorded - block_ns(call)
        costs.append(more)
    core.hooks_pause(False)
    return costs


def measure():
    """Runs in the interpreter that has TensorFlow."""
    import stepscope

    with tempfile.TemporaryDirectory() as place:
        assert stepscope.start(place, "bench"), stepscope.status()
        import tensorflow as tf

        from step_pairs import StepPairs, enough, interval
        from stepscope import _core

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        for wanted_ms in LENGTHS_MS:
            pairs = StepPairs(_core, enough(PAIRS, wanted_ms), cpu=time.process_time_ns)
            fit(find_model(wanted_ms), pairs.tick, lambda: pairs.is_done)
            pairs.print("keras_%dms" % wanted_ms, TARGET)
        pairs = StepPairs(_core, PAIRS, cpu=time.process_time_ns)
        eager_loop(pairs)
        pairs.print("tensorflow_eager", TARGET)
        more = interval(cost_ns(_core))
        framework_python.print_hooks("keras", more)
        stepscope.stop()


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        framework_python.run(__file__, BENCH_PAIRS=str(PAIRS), TF_CPP_MIN_LOG_LEVEL="3")
