"""`stepscope try` inside real trainings: what it says a change gains is what the change gains, on a
machine that does other things too."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run"))

from running import PROGRAM, environment

PYTHON = os.environ["STEPSCOPE_FRAMEWORKS_PYTHON"]

# A step costs what `compute` says, by the clock of the thread: as long on a busy machine as on a quiet one.
TORCH = """
import os, sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
sleep, compute, workers = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])

class Data(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, i):
        if i % 4 == 0:
            time.sleep(sleep)
        return {"x": torch.full((8,), float(i)), "y": i % 3}

model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
while True:
    seen = 0
    for batch in DataLoader(Data(), batch_size=4, num_workers=workers):
        x = batch.pop("x")
        seen += len(x)
        until = time.thread_time() + compute
        while time.thread_time() < until:
            pass
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), batch["y"]).backward()
        optimizer.step()
    assert seen == 400, seen
    torch.save(model.state_dict(), "model.pt")
"""

LIGHTNING = """
import time, torch
import lightning.pytorch as pl
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)

class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 3)

    def training_step(self, batch, i):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)

class Each(pl.Callback):
    def on_train_batch_end(self, *arguments):
        time.sleep(0.03)

class Idle(pl.Callback):
    def on_train_batch_end(self, *arguments):
        pass

class Rare(pl.Callback):
    def on_train_batch_end(self, trainer, module, out, batch, i):
        if i % 10 == 0:
            time.sleep(0.3)

data = TensorDataset(torch.randn(4000, 8), torch.randint(0, 3, (4000,)))
pl.Trainer(max_epochs=-1, logger=False, enable_progress_bar=False, enable_model_summary=False,
           enable_checkpointing=False, accelerator="cpu", callbacks=[Each(), Rare(), Idle()]).fit(
    Net(), DataLoader(data, batch_size=4))
"""

TRANSFORMERS = """
import time, torch
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments
torch.set_num_threads(1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 3)

    def forward(self, x=None, labels=None):
        out = self.net(x)
        return {"loss": nn.functional.cross_entropy(out, labels), "logits": out}

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        return {"x": torch.full((8,), float(i % 5)), "labels": i % 3}

class Slow(TrainerCallback):
    def on_step_end(self, *arguments, **named):
        time.sleep(0.05)

Trainer(Net(), TrainingArguments("out", max_steps=1000000, report_to=[], use_cpu=True,
                                 disable_tqdm=True, logging_steps=10**6, save_strategy="no"),
        train_dataset=Data(), callbacks=[Slow()]).train()
"""

KERAS = """
import time, keras, numpy
import tensorflow as tf

class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)

def batches():
    while True:
        time.sleep(0.1)
        yield numpy.random.rand(4, 8).astype("float32"), numpy.random.randint(0, 3, 4)

traces = []

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3)

    def call(self, x):
        traces.append(x)
        assert len(traces) <= at_first, "traced again"
        return self.dense(x)

form = tf.TensorSpec((None, 8), tf.float32), tf.TensorSpec((None,), tf.int64)
data = tf.data.Dataset.from_generator(batches, output_signature=form).prefetch(2)
model, at_first = Net(), 100
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, steps_per_epoch=2, verbose=0)
at_first = len(traces)
model.fit(data, steps_per_epoch=70, epochs=100000, verbose=0, callbacks=[Slow()])
"""


def processes_in(folder):
    """Processes that work there."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == folder:
                found.append(name)
        except OSError:
            pass
    return found


class Try(unittest.TestCase):
    def run_try(self, script, *arguments, what, precision="6%", most="100s", code=0):
        """The folder is as it was, nothing that was started is left; what it printed."""
        with tempfile.TemporaryDirectory(prefix="stepscope-try-") as folder:
            with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
                file.write(script)
            done = subprocess.run(
                [PROGRAM, "try", "--json", "--precision", precision, "--max-time", most,
                 *(("--what", what) if what else ()), "--", PYTHON, "train.py", *map(str, arguments)],
                cwd=folder, env=environment(TF_CPP_MIN_LOG_LEVEL="3"), capture_output=True,
                encoding="utf-8", check=False)
            self.assertEqual(done.returncode, code, done.stderr + done.stdout)
            self.assertEqual(sorted(os.listdir(folder)), ["stepscope-runs", "train.py"])
            with open(os.path.join(folder, "train.py"), encoding="utf-8") as file:
                self.assertEqual(file.read(), script)
            self.assertEqual(processes_in(folder), [])
            result = json.loads(done.stdout)
            report = subprocess.run([PROGRAM, "report", "--json", result["run"]], cwd=folder,
                                    env=environment(), capture_output=True, encoding="utf-8", check=True)
            self.report = json.loads(report.stdout)
            return result

    def arms(self, *arguments, **named):
        result = self.run_try(*arguments, **named)
        self.assertEqual([arm["arm"] for arm in self.report["arms"]],
                         [arm["arm"] for arm in result["arms"]])
        first, *others = result["arms"]
        self.assertEqual((first["arm"], first["gain"]), ("as it is", None))
        return {arm["arm"]: arm for arm in others}

    def assert_gain(self, arm, gain, delta):
        self.assertAlmostEqual(arm["gain"], gain, delta=delta, msg=str(arm))
        self.assertEqual(arm["verdict"], "faster", arm)

    def test_input_of_pytorch(self):
        """Batches are dictionaries that the script takes apart, epochs keep their length."""
        arm = self.arms(TORCH, 0.02, 0.02, 0, what="input")["no input work at all"]
        self.assert_gain(arm, 0.5, 0.15)
        self.assertEqual(arm["clock"], "quiet")

    def test_nothing_is_gained_where_there_is_nothing_to_gain(self):
        arm = self.arms(TORCH, 0, 0.02, 0, what="input", precision="10%")["no input work at all"]
        self.assertLess(arm["gain"], 0.1, arm)  # to make a batch is some work all the same

    def test_workers_that_do_not_keep_up(self):
        arm = self.arms(TORCH, 0.2, 0.005, 2, what="input", precision="20%")["input never waits"]
        self.assertGreater(arm["gain"], 0.3, arm)  # of 0.9: by the wall clock it is what the machine leaves
        self.assertEqual((arm["verdict"], arm["clock"]), ("faster", "wall"), arm)

    def test_callbacks_of_lightning(self):
        """One that works every tenth time costs as much on average."""
        arms = self.arms(LIGHTNING, what="callbacks", precision="10%")
        for name in "without Each", "without Rare":
            self.assert_gain(arms[name], 0.5, 0.2)
        self.assertNotEqual(arms["without Idle"]["verdict"], "faster", arms)

    def test_callbacks_of_transformers(self):
        result = self.run_try(TRANSFORMERS, what="callbacks", precision="10%")
        self.assert_gain(result["arms"][1], 0.85, 0.15)
        self.assertIn("DefaultFlowCallback", result["notes"])

    def test_input_and_callbacks_of_keras(self):
        """A batch takes 100 ms to be made, beside a callback of 20 ms: without that, nothing is gained.
        Nothing is traced again."""
        arms = self.arms(KERAS, what="input,callbacks", precision="15%")
        self.assertGreater(arms["input never waits"]["gain"], 0.4, arms)
        self.assertEqual(arms["input never waits"]["verdict"], "faster", arms)
        self.assertLess(arms["without Slow"]["gain"], 0.2, arms)
        self.assertGreater(self.report["steps"]["count"], 100)

    def test_by_itself_it_tries_what_a_report_would_warn_about(self):
        self.assertIn("no input work at all", self.arms(TORCH, 0.02, 0.01, 0, what=None, precision="15%"))

    def test_a_change_that_is_not_possible_is_explained(self):
        result = self.run_try(TORCH, 0, 0.01, 0, what="callbacks", code=3)
        self.assertIn("there is none that could be muted", result["notes"])


if __name__ == "__main__":
    unittest.main()
