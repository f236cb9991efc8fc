"""A generator and a discriminator of convolutions, trained against each other."""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

NOISE, WIDTH = 48, 20


def start_weights(layer):
    if isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(layer.weight, 0.0, 0.02)


torch.manual_seed(4)
generator = nn.Sequential(
    nn.ConvTranspose2d(NOISE, WIDTH * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(WIDTH * 4), nn.ReLU(),
    nn.ConvTranspose2d(WIDTH * 4, WIDTH * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(WIDTH * 2),
    nn.ReLU(),
    nn.ConvTranspose2d(WIDTH * 2, WIDTH, 4, 2, 1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU(),
    nn.ConvTranspose2d(WIDTH, 3, 4, 2, 1, bias=False), nn.Tanh())
discriminator = nn.Sequential(
    nn.Conv2d(3, WIDTH, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Conv2d(WIDTH, WIDTH * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(WIDTH * 2), nn.LeakyReLU(0.2),
    nn.Conv2d(WIDTH * 2, WIDTH * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(WIDTH * 4),
    nn.LeakyReLU(0.2),
    nn.Conv2d(WIDTH * 4, 1, 4, 1, 0, bias=False), nn.Sigmoid())
generator.apply(start_weights)
discriminator.apply(start_weights)

criterion = nn.BCELoss()
update_d = optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
update_g = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
loader = DataLoader(TensorDataset(torch.rand(1280, 3, 32, 32) * 2 - 1), batch_size=32, shuffle=True)
same_noise = torch.randn(16, NOISE, 1, 1)
turn = 0
for epoch in range(3):
    for real, in loader:
        size = len(real)
        discriminator.zero_grad()
        loss_real = criterion(discriminator(real).view(-1), torch.ones(size))
        loss_real.backward()
        fake = generator(torch.randn(size, NOISE, 1, 1))
        loss_fake = criterion(discriminator(fake.detach()).view(-1), torch.zeros(size))
        loss_fake.backward()
        update_d.step()

        generator.zero_grad()
        loss_g = criterion(discriminator(fake).view(-1), torch.ones(size))
        loss_g.backward()
        update_g.step()
        turn += 1
        if turn % 30 == 0:
            print(epoch, turn, repr(loss_real.item() + loss_fake.item()), repr(loss_g.item()))
            with torch.no_grad():
                pictures = generator(same_noise)
            print("brightness", repr(pictures.mean().item()))
