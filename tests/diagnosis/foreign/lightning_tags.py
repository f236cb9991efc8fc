"""Lightning: tags of words from large embeddings, saved every few steps to be on the safe side."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20000, 96)
        self.lstm = nn.LSTM(96, 64, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(128, 12)

    def forward(self, words):
        return self.tags(self.lstm(self.embed(words))[0])

    def loss(self, batch):
        words, tags = batch
        return nn.functional.cross_entropy(self(words).flatten(0, 1), tags.flatten())

    def training_step(self, batch, number):
        loss = self.loss(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, number):
        self.log("val_loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5, momentum=0.9)


def sentences(count):
    words = torch.randint(0, 20000, (count, 16))
    return TensorDataset(words, words % 12)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    L.seed_everything(51, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        model = Tagger()
        save = ModelCheckpoint(dirpath=folder, every_n_train_steps=3)
        trainer = L.Trainer(max_epochs=3, accelerator="cpu", callbacks=[save], logger=False,
                            enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(model, DataLoader(sentences(1600), batch_size=32, shuffle=True),
                    DataLoader(sentences(64), batch_size=32))
        print(repr(trainer.callback_metrics["val_loss"].item()))
