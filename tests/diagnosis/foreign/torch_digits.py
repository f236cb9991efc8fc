"""A small convolutional network on digits-like images: the first example of most tutorials."""

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3)
        self.conv2 = nn.Conv2d(24, 48, 3)
        self.drop = nn.Dropout(0.25)
        self.fc1 = nn.Linear(48 * 12 * 12, 96)
        self.fc2 = nn.Linear(96, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.drop(torch.flatten(x, 1))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def digits(count):
    labels = torch.randint(0, 10, (count,))
    images = torch.randn(count, 1, 28, 28) * 0.3
    for place, label in enumerate(labels.tolist()):
        images[place, 0, 2 * label:2 * label + 5] += 1
    return TensorDataset(images, labels)


def train(model, loader, optimizer, epoch):
    model.train()
    for number, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        if number % 20 == 0:
            print("epoch %d batch %d loss %r" % (epoch, number, loss.item()))


def test(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in loader:
            right += (model(images).argmax(dim=1) == labels).sum().item()
    print("accuracy %d of %d" % (right, len(loader.dataset)))


def main():
    torch.manual_seed(1)
    train_loader = DataLoader(digits(3840), batch_size=64, shuffle=True)
    test_loader = DataLoader(digits(480), batch_size=240)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    schedule = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(3):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)
        schedule.step()


if __name__ == "__main__":
    main()
