"""A convolutional network with Flax, updated by Optax; the loss of each step is kept."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.avg_pool(nn.relu(nn.Conv(16, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.avg_pool(nn.relu(nn.Conv(32, (3, 3))(x)), (2, 2), (2, 2))
        return nn.Dense(10)(nn.relu(nn.Dense(64)(x.reshape(len(x), -1))))


def loss_of(params, apply_fn, images, labels):
    logits = apply_fn({"params": params}, images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def train_step(state, images, labels):
    loss, grads = jax.value_and_grad(loss_of)(state.params, state.apply_fn, images, labels)
    return state.apply_gradients(grads=grads), loss


@jax.jit
def eval_step(state, images, labels):
    logits = state.apply_fn({"params": state.params}, images)
    return jnp.mean(jnp.argmax(logits, -1) == labels)


def main():
    noise = np.random.default_rng(42)
    images = noise.random((2560, 28, 28, 1), dtype=np.float32)
    labels = noise.integers(0, 10, 2560)
    model = CNN()
    params = model.init(jax.random.key(0), jnp.ones((1, 28, 28, 1)))["params"]
    state = train_state.TrainState.create(
        apply_fn=model.apply, params=params, tx=optax.sgd(0.05, momentum=0.9))
    for epoch in range(4):
        losses, order = [], noise.permutation(len(images))
        for place in range(0, len(images), 64):
            chosen = order[place:place + 64]
            state, loss = train_step(state, images[chosen], labels[chosen])
            losses.append(float(loss))
        right = float(eval_step(state, images[:256], labels[:256]))
        print("epoch %d: loss %r, accuracy %r" % (epoch, float(np.mean(losses)), right))


if __name__ == "__main__":
    main()
