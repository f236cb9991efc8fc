"""Two pictures, one network: are they of the same class? Each picture is turned a little when it is
asked for."""

import random

import numpy as np
import torch
from scipy import ndimage
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count):
        noise = np.random.default_rng(9)
        self.labels = noise.integers(0, 10, count)
        self.pictures = noise.random((count, 32, 32), dtype=np.float32)
        self.by_class = [np.flatnonzero(self.labels == label) for label in range(10)]

    def __len__(self):
        return len(self.labels)

    def turned(self, index):
        angle = random.uniform(-15, 15)
        picture = ndimage.rotate(self.pictures[index], angle, reshape=False, mode="nearest")
        return torch.from_numpy(picture).unsqueeze(0)

    def __getitem__(self, index):
        label = self.labels[index]
        if random.random() < 0.5:
            other, same = int(random.choice(self.by_class[label])), 1.0
        else:
            other, same = random.randrange(len(self)), 0.0
            while self.labels[other] == label:
                other = random.randrange(len(self))
        return self.turned(index), self.turned(other), torch.tensor(same)


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * 25, 64))
        self.judge = nn.Sequential(nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, one, other):
        return self.judge(torch.cat((self.see(one), self.see(other)), 1)).squeeze(1)


def evaluate(model, loader):
    model.eval()
    loss = 0.0
    with torch.no_grad():
        for one, other, same in loader:
            loss += nn.functional.binary_cross_entropy(model(one, other), same).item()
    print("validation", repr(loss / len(loader)))


if __name__ == "__main__":
    random.seed(9)
    torch.manual_seed(9)
    train_loader = DataLoader(Pairs(1600), batch_size=32, shuffle=True)
    test_loader = DataLoader(Pairs(64), batch_size=32)
    model = Twin()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.5)
    for epoch in range(4):
        model.train()
        for one, other, same in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy(model(one, other), same)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, repr(loss.item()))
        evaluate(model, test_loader)
