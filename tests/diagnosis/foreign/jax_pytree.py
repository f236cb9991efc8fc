"""A network of plain arrays, an update that is compiled, and accuracy after each epoch."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, random
from jax.scipy.special import logsumexp

SIZES, RATE, BATCH = (784, 384, 384, 10), 0.01, 128


def start(key):
    keys = random.split(key, len(SIZES))
    return [(random.normal(k, (n, m)) * 0.05, jnp.zeros(n))
            for k, m, n in zip(keys, SIZES[:-1], SIZES[1:])]


def predict(params, image):
    for w, b in params[:-1]:
        image = jax.nn.relu(jnp.dot(w, image) + b)
    w, b = params[-1]
    logits = jnp.dot(w, image) + b
    return logits - logsumexp(logits)


batched_predict = jax.vmap(predict, in_axes=(None, 0))


def accuracy(params, images, targets):
    found = jnp.argmax(batched_predict(params, images), axis=1)
    return jnp.mean(found == jnp.argmax(targets, axis=1))


def loss(params, images, targets):
    return -jnp.mean(batched_predict(params, images) * targets)


@jit
def update(params, x, y):
    grads = grad(loss)(params, x, y)
    return [(w - RATE * dw, b - RATE * db) for (w, b), (dw, db) in zip(params, grads)]


def main():
    noise = np.random.default_rng(41)
    images = noise.random((5120, 784), dtype=np.float32)
    targets = np.eye(10, dtype=np.float32)[noise.integers(0, 10, 5120)]
    params = start(random.key(0))
    for epoch in range(10):
        for place in range(0, len(images), BATCH):
            params = update(params, images[place:place + BATCH], targets[place:place + BATCH])
        print("epoch %d: %r on all, %r on the first" % (
            epoch, float(accuracy(params, images, targets)),
            float(accuracy(params, images[:1000], targets[:1000]))))


if __name__ == "__main__":
    main()
