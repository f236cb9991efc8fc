"""A variational autoencoder of fully connected layers, on pictures that are prepared one by one."""

import io

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    """JPEG files in memory, as an archive of pictures would have them."""

    def __init__(self, count):
        random = np.random.default_rng(3)
        self.files = []
        for _ in range(count):
            rough = random.integers(0, 255, (14, 14), dtype=np.uint8)
            file = io.BytesIO()
            Image.fromarray(rough).resize((112, 112), Image.BILINEAR).save(file, "JPEG")
            self.files.append(file.getvalue())

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        picture = Image.open(io.BytesIO(self.files[index])).convert("L")
        picture = picture.resize((28, 28), Image.LANCZOS)
        if np.random.rand() < 0.5:
            picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
        return torch.from_numpy(np.asarray(picture, dtype=np.float32) / 255.0).unsqueeze(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(784, 400)
        self.mean, self.spread = nn.Linear(400, 20), nn.Linear(400, 20)
        self.widen, self.out = nn.Linear(20, 400), nn.Linear(400, 784)

    def decode(self, code):
        return torch.sigmoid(self.out(F.relu(self.widen(code))))

    def forward(self, x):
        hidden = F.relu(self.hidden(x.view(-1, 784)))
        mean, spread = self.mean(hidden), self.spread(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * spread)
        return self.decode(code), mean, spread


def loss_of(made, x, mean, spread):
    likeness = F.binary_cross_entropy(made, x.view(-1, 784), reduction="sum")
    return likeness - 0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())


torch.manual_seed(3)
np.random.seed(3)
loader = DataLoader(Pictures(1024), batch_size=64, shuffle=True)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(12):
    total = 0.0
    for batch in loader:
        optimizer.zero_grad()
        loss = loss_of(*(lambda made: (made[0], batch, made[1], made[2]))(model(batch)))
        loss.backward()
        total += loss.item()
        optimizer.step()
    print("epoch %d: %r" % (epoch, total / 1024))
