"""How long does each batch take? An eager loop that reads TensorFlow's clock around its step."""

import tensorflow as tf


def train(model, optimizer, data, epochs):
    seconds = []
    for _ in range(epochs):
        for x, y in data:
            start = tf.timestamp()
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(
                    y, model(x), from_logits=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            seconds.append(float(tf.timestamp() - start))
            if len(seconds) % 100 == 1:
                print("batch %d took %.4f s" % (len(seconds), seconds[-1]))
    return seconds


model = tf.keras.Sequential([tf.keras.layers.Input((784,)), tf.keras.layers.Dense(10)])
rows = tf.random.normal((1000, 784)), tf.random.uniform((1000,), 0, 10, dtype=tf.int32)
taken = train(model, tf.keras.optimizers.Adam(),
              tf.data.Dataset.from_tensor_slices(rows).batch(32), epochs=2)
print("%.4f s a batch" % (sum(taken) / len(taken)))
