"""Lightning, without a word about Stepscope:

    stepscope run -- python examples/lightning_train.py [EPOCHS]

The report has the optimizer's steps, each callback and logger by name, validation and saves apart from the
steps, and the time to the end, since the trainer knows how many steps there will be."""

import sys

import lightning.pytorch as pl
import torch
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
BATCH, INPUTS = 32, 64


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(INPUTS, 128), nn.ReLU(), nn.Linear(128, 2))

    def loss(self, batch):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def training_step(self, batch, index):
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("validation", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


class Histogram(pl.Callback):
    """Looks at all weights after each step, which takes its time."""

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        for parameter in module.parameters():
            torch.histc(parameter.detach(), 50)


def main():
    x = torch.randn(3200, INPUTS)
    data = TensorDataset(x, (x.mean(1) > 0).long())
    trainer = pl.Trainer(max_epochs=EPOCHS, accelerator="cpu", callbacks=[Histogram()],
                         logger=CSVLogger("logs"), enable_progress_bar=False)
    trainer.fit(Classifier(), DataLoader(data, BATCH, shuffle=True), DataLoader(data, 320))


if __name__ == "__main__":
    main()
