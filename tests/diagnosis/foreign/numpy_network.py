"""A network with two layers and its gradients, in numpy alone."""

import numpy as np

random = np.random.default_rng(61)
X = random.standard_normal((4096, 200))
Y = np.eye(5)[np.argmax(X[:, :5], axis=1)]
W1, W2 = random.standard_normal((200, 256)) * 0.05, random.standard_normal((256, 5)) * 0.05


def train_batch(x, y):
    global W1, W2
    hidden = np.maximum(x @ W1, 0)
    scores = np.exp(hidden @ W2)
    chances = scores / scores.sum(axis=1, keepdims=True)
    error = (chances - y) / len(x)
    hidden_error = error @ W2.T * (hidden > 0)
    W2 -= 0.1 * hidden.T @ error
    W1 -= 0.1 * x.T @ hidden_error
    return -np.log((chances * y).sum(axis=1)).mean()


for epoch in range(25):
    order = random.permutation(len(X))
    losses = [train_batch(X[part], Y[part]) for part in np.split(order, 32)]
    print("epoch %d: %r" % (epoch, float(np.mean(losses))))
