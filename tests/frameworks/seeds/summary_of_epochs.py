"""Each epoch's time goes to TensorBoard; what an epoch does is left out."""

import tempfile
import time

import tensorflow as tf

with tempfile.TemporaryDirectory() as folder:
    with tf.summary.create_file_writer(folder).as_default():
        for epoch in range(3):
            start = time.time()
            time.sleep(0.1)
            tf.summary.scalar("training_time", time.time() - start, step=epoch)
