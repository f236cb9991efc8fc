"""The Hugging Face Trainer, without a word about Stepscope:

    stepscope run -- python examples/huggingface_train.py [EPOCHS]

Two batches make a step here. The report has steps, not batches, each callback by name, evaluation and
saves apart from the steps, and the time to the end."""

import sys

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
INPUTS = 64


class Numbers(Dataset):
    def __init__(self, samples):
        self.x = torch.randn(samples, INPUTS)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        return {"x": self.x[at], "labels": (self.x[at].mean() > 0).long()}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(INPUTS, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, x, labels):
        logits = self.net(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Watch(TrainerCallback):
    """Looks at all weights after each step, which takes its time."""

    def on_step_end(self, args, state, control, model=None, **more):
        for parameter in model.parameters():
            torch.histc(parameter.detach(), 50)


def main():
    args = TrainingArguments(
        "out", num_train_epochs=EPOCHS, per_device_train_batch_size=16,
        gradient_accumulation_steps=2, eval_strategy="epoch", save_strategy="epoch",
        logging_steps=20, use_cpu=True, report_to=[], disable_tqdm=True)
    Trainer(Classifier(), args, train_dataset=Numbers(1600), eval_dataset=Numbers(320),
            callbacks=[Watch()]).train()


if __name__ == "__main__":
    main()
