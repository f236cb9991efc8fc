#!/usr/bin/env python3
"""What recording costs a Keras training on TensorFlow: steps of 1, 3 and 10 ms in fit, and an
eager loop.

    STEPSCOPE_FRAMEWORKS_PYTHON=... bench/bench_keras.py BUILD      (BENCH_PAIRS: of each)

In one process, by neighbouring pairs of steps (step_pairs.py). A step of fit is a batch of
tf.data with as many rows as it takes, the compiled train function of two dense layers, and what Keras does
around it; it begins at a callback of the benchmark's, which is one hook more. TensorFlow is left
one thread to compute with. Then the hooks of such a step by themselves, in blocks, recording and
only handing on.
"""

import sys
import tempfile
import time

import framework_python
from step_pairs import PAIRS, interval, measure_lengths, measure_steps

RATE = 0.0  # a model that learns has other steps at the end than at the start
INPUTS, HIDDEN = 32, 256
BLOCK, BLOCKS = 200, 100  # calls of what takes next to nothing


def make_model():
    import keras

    model = keras.Sequential([
        keras.layers.Input((INPUTS,)), keras.layers.Dense(HIDDEN, activation="tanh"),
        keras.layers.Dense(HIDDEN, activation="tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(RATE), "mse")
    return model


def make_data(rows):
    import tensorflow as tf

    batch = tf.random.normal((rows, INPUTS)), tf.random.normal((rows, 1))
    return tf.data.Dataset.from_tensors(batch).repeat()


def fit(rows, tick):
    import keras

    class Ticks(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            self.model.stop_training = tick()

    make_model().fit(make_data(rows), steps_per_epoch=1_000_000_000, verbose=0, callbacks=[Ticks()])


def eager_loop(rows, tick):
    import keras
    import tensorflow as tf

    model, optimizer = make_model(), keras.optimizers.SGD(RATE)
    loss_of = keras.losses.MeanSquaredError()
    for x, y in make_data(rows):
        if tick():
            return
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def hooked_calls():
    """What fit calls in a step where there are hooks, without what takes long in there. The wait
    for data comes from C, in a tenth of this."""
    import keras
    from keras.src.utils import python_utils

    class Idle(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            pass

    model, idle = make_model(), Idle()
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

        from stepscope import _core

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        measure_lengths(_core, "keras", fit, cpu=time.process_time_ns)
        measure_steps(_core, "tensorflow_eager", eager_loop, 1, cpu=time.process_time_ns)
        more = interval(cost_ns(_core))
        framework_python.print_hooks("keras", more)
        stepscope.stop()


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        framework_python.run(__file__, BENCH_PAIRS=str(PAIRS), TF_CPP_MIN_LOG_LEVEL="3")
