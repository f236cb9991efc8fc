"""Training beside what may get into a recorder's way: keras_traps.py FOLDER CASE...

Prints what came out. With a folder each case is a run of its own in there; "" for none."""

import gc
import hashlib
import os
import sys
import tempfile
import threading
import weakref

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

begin_profile, end_profile = tf.profiler.experimental.start, tf.profiler.experimental.stop
inputs = np.linspace(0, 1, 160 * 8).reshape(160, 8).astype("float32")
targets = inputs[:, :1]


def make_model():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def fit(model, *callbacks, epochs=2):
    return model.fit(inputs, targets, batch_size=16, epochs=epochs, verbose=0,
                     callbacks=list(callbacks))


def fork():
    """A child in the middle of a step, which ends at once."""
    class Forks(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)

    model = make_model()
    fit(model, Forks())
    return model


def threads():
    """Two models at once; both have been built before."""
    models = make_model(), make_model()
    together = threading.Barrier(2)

    class Waits(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            together.wait()

    running = [threading.Thread(target=fit, args=(model, Waits())) for model in models]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return models[0]


def tensorboard():
    """Batches 3 to 5 are watched by TensorFlow's profiler."""
    model = make_model()
    with tempfile.TemporaryDirectory() as folder:
        fit(model, keras.callbacks.TensorBoard(folder, profile_batch=(3, 5)))
        print("profiles", count_profiles(folder))
    return model


def profiled():
    """The same in a context, in no session, in one of tf.summary, and under names from before the
    recording."""
    model = make_model()
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            fit(model, epochs=1)
        fit(model, epochs=1)
        tf.summary.trace_on(graph=False, profiler=True, profiler_outdir=folder + "/summary")
        fit(model, epochs=1)
        tf.summary.trace_off()
        begin_profile(folder + "/bound")
        fit(model, epochs=1)
        end_profile()
        fit(model, epochs=1)
        print("profiles", count_profiles(folder))
    return model


def nested():
    """A callback that evaluates, trains another model, and trains its own by hand."""
    class Busy(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.evaluate(inputs, targets, verbose=0)
            fit(make_model(), epochs=1)
            self.model.train_on_batch(inputs[:16], targets[:16])

    model = make_model()
    fit(model, Busy())
    return model


def processes():
    """Batches are made by forked processes."""
    class Rows(keras.utils.PyDataset):
        def __len__(self):
            return 10

        def __getitem__(self, at):
            return inputs[at * 16:][:16], targets[at * 16:][:16]

    model = make_model()
    model.fit(Rows(workers=2, use_multiprocessing=True), epochs=2, verbose=0, shuffle=False)
    return model


def count_profiles(folder):
    return sum(name.endswith(".xplane.pb") for _, _, names in os.walk(folder) for name in names)


def gone():
    """Nothing of the user's is kept: not the callback, nor its class, nor the model."""
    def train():
        class Mine(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                pass

        model, mine = make_model(), Mine()
        fit(model, mine, epochs=1)
        return [weakref.ref(thing) for thing in (mine, model, Mine)]

    known = train()
    keras.backend.clear_session()
    for _ in range(3):
        gc.collect()
    print("gone", [thing() is None for thing in known])
    return make_model()


folder = sys.argv[1]
if folder:
    import stepscope
for name in sys.argv[2:]:
    if folder:
        assert stepscope.start(folder, name), stepscope.status()
    trained = globals()[name]()
    if folder:
        stepscope.stop()
    digest = hashlib.md5()
    for variable in trained.variables:
        digest.update(variable.numpy().tobytes())
    print(name, digest.hexdigest())
