"""Two ranks that nothing in their environment tells apart: torch_spawned.py spawn|lightning"""

import os
import socket
import sys

import torch

STEPS = 30


def train(rank, address):
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).mean().backward()
        optimizer.step()
    dist.destroy_process_group()


def spawn():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train, ("tcp://127.0.0.1:%d" % port,), 2)


def lightning():
    import lightning.pytorch as pl
    from torch.utils.data import DataLoader, TensorDataset

    class Fits(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, number):
            return self.layer(batch[0]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    pl.Trainer(max_epochs=1, accelerator="cpu", devices=2, strategy="ddp", logger=False,
               enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False).fit(
                   Fits(), DataLoader(TensorDataset(torch.ones(2 * STEPS, 4)), 1))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    globals()[sys.argv[1]]()
