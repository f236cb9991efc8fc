"""Pictures with more pixels: files of a folder are read, cropped and made smaller for each batch."""

import os
import random
import tempfile

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

CROP, FACTOR = 40, 2


class Folder(Dataset):
    def __init__(self, folder):
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        picture = Image.open(self.paths[index]).convert("YCbCr").split()[0]
        left = random.randint(0, picture.width - CROP)
        top = random.randint(0, picture.height - CROP)
        target = picture.crop((left, top, left + CROP, top + CROP))
        small = target.resize((CROP // FACTOR, CROP // FACTOR), Image.BICUBIC)
        return [torch.from_numpy(np.asarray(part, dtype=np.float32) / 255)[None]
                for part in (small, target)]


class Larger(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, FACTOR ** 2, 3, padding=1), nn.PixelShuffle(FACTOR))

    def forward(self, x):
        return self.layers(x)


def make_pictures(folder, count=64):
    noise = np.random.default_rng(6)
    for number in range(count):
        pixels = noise.integers(0, 255, (360, 360, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(os.path.join(folder, "%03d.png" % number))


def main():
    random.seed(6)
    torch.manual_seed(6)
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "train"))
        make_pictures(os.path.join(folder, "train"))
        loader = DataLoader(Folder(os.path.join(folder, "train")), batch_size=8, shuffle=True)
        model, criterion = Larger(), nn.MSELoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(14):
            total = 0.0
            for small, target in loader:
                optimizer.zero_grad()
                loss = criterion(model(small), target)
                total += loss.item()
                loss.backward()
                optimizer.step()
            print("epoch %d: %r" % (epoch, total / len(loader)))
            torch.save(model, os.path.join(folder, "model_%d.pth" % epoch))


if __name__ == "__main__":
    main()
