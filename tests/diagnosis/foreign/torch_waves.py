"""Continues sine waves with two LSTM cells. Trained with L-BFGS: few steps, each of many passes."""

import numpy as np
import torch
from torch import nn, optim


class Waves(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LSTMCell(1, 51), nn.LSTMCell(51, 51)
        self.out = nn.Linear(51, 1)

    def forward(self, series, future=0):
        size = series.size(0)
        h1, c1, h2, c2 = (torch.zeros(size, 51, dtype=torch.double) for _ in range(4))
        outputs = []
        for moment in series.split(1, dim=1):
            h1, c1 = self.first(moment, (h1, c1))
            h2, c2 = self.second(h1, (h2, c2))
            outputs.append(self.out(h2))
        for _ in range(future):
            h1, c1 = self.first(outputs[-1], (h1, c1))
            h2, c2 = self.second(h1, (h2, c2))
            outputs.append(self.out(h2))
        return torch.cat(outputs, dim=1)


np.random.seed(10)
torch.manual_seed(10)
shifts = np.random.randint(-80, 80, (24, 1))
waves = torch.from_numpy(np.sin((np.arange(60) + shifts) / 12.0))
train_in, train_out, test_in, test_out = waves[4:, :-1], waves[4:, 1:], waves[:4, :-1], waves[:4, 1:]
model, criterion = Waves().double(), nn.MSELoss()
optimizer = optim.LBFGS(model.parameters(), lr=0.8)
for step in range(8):
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(train_in), train_out)
        loss.backward()
        return loss

    print("step %d: %r" % (step, optimizer.step(closure).item()))
    with torch.no_grad():
        prediction = model(test_in, future=30)
        print("test: %r" % criterion(prediction[:, :-30], test_out).item())
