"""A step of all replicas as one function; each batch's time is what the replicas took in the
middle."""

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["CPU:0"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((784,)), tf.keras.layers.Dense(10)])
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)


def replica(x, y):
    start = tf.timestamp()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(
            y, model(x), from_logits=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return tf.timestamp() - start


@tf.function
def step(batch):
    taken = strategy.run(replica, args=batch)
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, taken, axis=None)


rows = tf.random.normal((1000, 784)), tf.random.uniform((1000,), 0, 10, dtype=tf.int32)
data = strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices(rows).batch(32))
seconds = [float(step(batch)) for _ in range(2) for batch in data]
print("%.4f s a batch" % (sum(seconds) / len(seconds)))
