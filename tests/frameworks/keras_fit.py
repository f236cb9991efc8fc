"""Trains a small Keras model in many ways, one after the other: keras_fit.py CASE...

Prints for each case what came out, to be compared bit by bit. An epoch has 10 batches of 16
rows. Works on every backend; the cases that need TensorFlow are those of TENSORFLOW."""

import hashlib
import itertools
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

BATCHES, BATCH = 10, 16
widths = itertools.count(16)  # models of one size, trained by one line, would be one training of parts


class Predicts(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.predict(inputs[:BATCH], verbose=0)


class Noise(keras.layers.Layer):
    """Random numbers that the framework itself makes, in the graph."""

    def call(self, x):
        import tensorflow as tf

        return x + tf.random.normal(tf.shape(x), stddev=0.01)


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return BATCHES

    def __getitem__(self, at):
        return batch_at(at)


def batch_at(at):
    return inputs[at * BATCH:][:BATCH], targets[at * BATCH:][:BATCH]


def generate():
    for at in range(BATCHES):
        yield batch_at(at)


def slices():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(BATCH)


def unknown_length():
    import tensorflow as tf

    shapes = tf.TensorSpec((BATCH, 8)), tf.TensorSpec((BATCH, 1))
    return tf.data.Dataset.from_generator(generate, output_signature=shapes)


def make_two_devices():
    import tensorflow as tf

    device = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(device, [tf.config.LogicalDeviceConfiguration()] * 2)


def make_model(*first, **compiled):
    made = keras.Sequential([
        keras.layers.Input((8,)), *first, keras.layers.Dense(next(widths), activation="relu"),
        keras.layers.BatchNormalization(), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    made.compile("adam", "mse", **compiled)
    return made


def fit(model, *data, epochs=2, **more):
    given = data or (inputs, targets)
    batch = {} if data else {"batch_size": BATCH}
    return model.fit(*given, **batch, **{"epochs": epochs, "verbose": 0, **more})


def three_times():
    model = make_model()
    return model, [fit(model) for _ in range(3)][-1]


def by_hand():
    model = make_model()
    for batch in generate():
        model.train_on_batch(*batch)
    return model, None


def by_hand_two():
    """A model and its opponent, by turns: one step."""
    model, other = make_model(), make_model()
    for batch in generate():
        model.train_on_batch(*batch)
        other.train_on_batch(*batch)
    return model, None


def fitted_two():
    """The same with models that were fitted before; then one goes on by itself, and then the other."""
    models = make_model(), make_model()
    for model in models:
        fit(model, epochs=1)
    for batch in generate():
        for model in models:
            model.train_on_batch(*batch)
    for model in models:
        fit(model, epochs=1)
        for batch in [*generate(), *generate()]:
            model.train_on_batch(*batch)
    return models[0], None


def evaluates():
    model = make_model()
    past = fit(model, validation_data=(inputs[:48], targets[:48]), validation_batch_size=BATCH)
    model.evaluate(inputs, targets, batch_size=BATCH, verbose=0)
    model.predict(inputs, batch_size=BATCH, verbose=0)
    model.test_on_batch(*batch_at(0))
    return model, past


def mirrored():
    import tensorflow as tf

    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = make_model()
    return model, fit(model)


def case(*data, first=(), compiled=(), **more):
    """One call of fit."""
    def train():
        model = make_model(*[make() for make in first], **dict(compiled))
        return model, fit(model, *[make() for make in data], **more)

    return train


ANY = {
    "arrays": case(),
    "weighted": case(sample_weight=np.linspace(0, 1, BATCHES * BATCH)),
    "generator": case(generate, epochs=1),
    "workers": case(lambda: Rows(workers=2)),
    "eager": case(compiled={"run_eagerly": True}),
    "predicts": case(callbacks=[Predicts()], epochs=1),
    "stops": case(callbacks=[keras.callbacks.EarlyStopping("loss", min_delta=9.0)], epochs=4),
    "evaluates": evaluates,
    "epochs": case(epochs=5),
    "again": three_times,
    "by_hand": by_hand,
    "by_hand_two": by_hand_two,
    "fitted_two": fitted_two,
}
TENSORFLOW = {
    "one_worker": case(lambda: Rows(workers=1)),
    "tf_data": case(lambda: slices().map(lambda x, y: (x * 2, y))),
    "prefetch": case(lambda: slices().prefetch(2)),
    "unknown": case(unknown_length),
    "three_steps": case(lambda: slices().take(3), epochs=1),
    "four": case(compiled={"steps_per_execution": 4}),
    "four_tf_data": case(slices, compiled={"steps_per_execution": 4}),
    "workers_of_four": case(lambda: Rows(workers=2), compiled={"steps_per_execution": 4}),
    "seven": case(compiled={"steps_per_execution": 7}),
    # Keras goes on to the end of a call: 4, 4 and 4.
    "four_endless": case(lambda: slices().repeat(), compiled={"steps_per_execution": 4},
                         steps_per_epoch=BATCHES),
    "classes": case(lambda: slices().map(lambda x, y: (x, y // 0.5)),
                    class_weight={0: 1.0, 1: 3.0}),
    "noise": case(first=[Noise]),
    "xla": case(compiled={"jit_compile": True}),
    "mirrored": mirrored,
}

keras.utils.set_random_seed(1)
inputs = np.random.rand(BATCHES * BATCH, 8).astype("float32")
targets = np.random.rand(BATCHES * BATCH, 1).astype("float32")


def digest_of(model):
    digest = hashlib.md5()
    for variable in model.variables + model.optimizer.variables:
        digest.update(keras.ops.convert_to_numpy(variable).tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    if "mirrored" in sys.argv:
        make_two_devices()
    for name in sys.argv[1:]:
        keras.utils.set_random_seed(2)
        trained, history = {**ANY, **TENSORFLOW}[name]()
        print(name, digest_of(trained), json.dumps(history.history if history else None))
    given = [Predicts()], [keras.callbacks.EarlyStopping()], None
    print("asynchronous", [keras.callbacks.CallbackList(some)._async_train for some in given])
    print("imported", [name for name in ("jax", "tensorflow", "torch") if name in sys.modules])
