"""Trains a model in several ways. Prints JSON: a digest of the weights for each of them."""

import contextlib
import hashlib
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS, BATCH = 20, 8


def loader(**options):
    generator = torch.Generator().manual_seed(2)
    data = TensorDataset(torch.randn(STEPS * BATCH, 16, generator=generator),
                         torch.randn(STEPS * BATCH, 1, generator=generator))
    return DataLoader(data, BATCH, shuffle=True, **options)


def train(every=1, wrap=None, scaler=None, cast=contextlib.nullcontext, **options):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.2), nn.ReLU(), nn.Linear(32, 1))
    model = wrap(net) if wrap else net
    optimizer = torch.optim.Adam(net.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for number, (x, y) in enumerate(loader(**options)):
        with cast():
            loss = nn.functional.mse_loss(model(x), y)
        (scaler.scale(loss) if scaler else loss).backward()
        if number % every == every - 1:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()
            schedule.step()
    digest = hashlib.sha256()
    for parameter in net.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def main():
    torch.set_num_threads(1)
    print(json.dumps({
        "plain": train(),
        "accumulation": train(every=4),
        "workers": train(num_workers=2),
        "mixed precision": train(scaler=torch.amp.GradScaler("cpu"),
                                 cast=lambda: torch.autocast("cpu", torch.bfloat16)),
        "compiled": train(wrap=lambda net: torch.compile(net, backend="aot_eager")),
    }))


main()
