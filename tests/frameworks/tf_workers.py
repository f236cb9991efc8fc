"""Two workers of a MultiWorkerMirroredStrategy train one model in a compiled function, another in
eager code, and a third one with fit of Keras 2, as that of Keras 3 fails there: tf_workers.py.

The first process starts the workers, which find each other by TF_CONFIG, and prints what each of
them says."""

import hashlib
import json
import os
import socket
import subprocess
import sys

WORKERS = 2


def free_ports():
    sockets = [socket.socket() for _ in range(WORKERS)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def start_workers():
    hosts = ["localhost:%d" % port for port in free_ports()]
    workers = [subprocess.Popen(
        [sys.executable, __file__], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TF_CONFIG": json.dumps(
            {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})})
        for index in range(WORKERS)]
    for worker in workers:
        said, _ = worker.communicate()
        print(said, end="")
    return max(worker.returncode for worker in workers)


def train():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import numpy as np
    import tensorflow as tf
    import tf_keras

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    tf_keras.utils.set_random_seed(1)
    keras.utils.set_random_seed(1)
    rows = np.random.rand(320, 8).astype("float32")
    data = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(16))

    def make_replica():
        """(a model, a step of it in one replica, what measures its loss there)"""
        with strategy.scope():
            model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
            optimizer = keras.optimizers.Adam()
            optimizer.build(model.trainable_variables)

        def measure(x, y):
            return tf.reduce_mean((model(x) - y) ** 2)

        def replica(x, y):
            with tf.GradientTape() as tape:
                loss = measure(x, y)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        return model, replica, measure

    def compiled(replica, measure):
        step = tf.function(lambda batch: strategy.run(replica, args=batch))
        for batch in data:
            step(batch)

    def eager(replica, measure):
        for batch in data:
            strategy.run(replica, args=batch)
        for batch in data:
            strategy.run(measure, args=batch)

    def print_digest(way, model):
        digest = hashlib.md5()
        for variable in model.variables:
            digest.update(variable.numpy().tobytes())
        print(way, digest.hexdigest())

    for way in (compiled, eager):
        model, *functions = make_replica()
        way(*functions)
        print_digest(way.__name__, model)
    with strategy.scope():
        model = tf_keras.Sequential([tf_keras.layers.Input((8,)), tf_keras.layers.Dense(1)])
        model.compile("adam", "mse")
    print(model.fit(rows, rows[:, :1], batch_size=16, epochs=2, verbose=0).history)
    print_digest("fit", model)


if "TF_CONFIG" in os.environ:
    train()
else:
    sys.exit(start_workers())
