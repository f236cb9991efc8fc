"""`stepscope sweep` on real trainings: a larger batch makes more samples a second, checkpoints and all."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run"))

from running import PROGRAM, environment

PYTHON = os.environ["STEPSCOPE_FRAMEWORKS_PYTHON"]

TORCH = """
import sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
data = TensorDataset(torch.randn(2048, 64), torch.randint(0, 10, (2048,)))
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters())
while True:
    for x, y in DataLoader(data, batch_size=int(sys.argv[1]), shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")
"""

KERAS = """
import sys, keras, numpy
x, y = numpy.random.rand(8192, 64), numpy.random.randint(0, 10, 8192)
model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=int(sys.argv[1]), epochs=100000, verbose=0,
          callbacks=[keras.callbacks.ModelCheckpoint("model.keras")])
"""

JAX = """
import sys, jax, jax.numpy as jnp, numpy
batch = int(sys.argv[1])
x, y = numpy.random.rand(batch, 256), numpy.random.randint(0, 10, batch)

@jax.jit
def update(w, x, y):
    loss = lambda w: -jnp.mean(jax.nn.log_softmax(x @ w)[jnp.arange(len(x)), y])
    return w - 0.1 * jax.grad(loss)(w)

w = jnp.zeros((256, 10))
step = 0
while True:
    w = update(w, x, y)
    step += 1
    if step % 10 == 0:
        float(w[0, 0])
"""


class Sweep(unittest.TestCase):
    def check(self, script):
        with tempfile.TemporaryDirectory(prefix="stepscope-sweep-") as folder:
            with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
                file.write(script)
            done = subprocess.run(
                [PROGRAM, "sweep", "--json", "--precision", "20%", "--batch", "4,256", "--", PYTHON,
                 "train.py", "{}"],
                cwd=folder, env=environment(TF_CPP_MIN_LOG_LEVEL="3"), capture_output=True,
                encoding="utf-8", check=False)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            self.assertEqual(sorted(os.listdir(folder)), ["stepscope-runs", "train.py"])
        result = json.loads(done.stdout)
        small, large = result["values"]
        self.assertEqual(result["best"], "256", done.stdout)
        self.assertLess(small["samples_per_s_ci"][1], large["samples_per_s_ci"][0])
        # What a batch has is known from the framework, or from --batch.
        for row, size in (small, 4), (large, 256):
            self.assertAlmostEqual(row["samples_per_s"] / row["steps_per_s"], size, delta=0.1 * size)

    def test_pytorch(self):
        self.check(TORCH)

    def test_keras(self):
        self.check(KERAS)

    def test_jax(self):
        self.check(JAX)


if __name__ == "__main__":
    unittest.main()
