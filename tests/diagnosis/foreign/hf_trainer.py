"""The Hugging Face Trainer on a small BERT that starts from nothing, evaluated every few steps."""

import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainingArguments,
                          set_seed)


class Reviews(Dataset):
    def __init__(self, count):
        self.words = torch.randint(5, 1000, (count, 48))
        self.labels = (self.words.float().mean(1) > 502).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": self.words[index], "labels": self.labels[index],
                "attention_mask": torch.ones(48, dtype=torch.long)}


def compute_metrics(prediction):
    found = np.argmax(prediction.predictions, axis=1)
    return {"accuracy": float((found == prediction.label_ids).mean())}


if __name__ == "__main__":
    set_seed(52)
    config = BertConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=2,
                        num_attention_heads=4, intermediate_size=256, num_labels=2)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, num_train_epochs=2, per_device_train_batch_size=16, eval_strategy="steps",
            eval_steps=10, save_strategy="no", logging_steps=25, use_cpu=True, report_to=[],
            disable_tqdm=True)
        trainer = Trainer(BertForSequenceClassification(config), arguments,
                          train_dataset=Reviews(640), eval_dataset=Reviews(240),
                          compute_metrics=compute_metrics)
        trainer.train()
    print(repr(sum(weights.sum().item() for weights in trainer.model.parameters())))
