"""A graph convolution by hand on one graph. One epoch is one step, and each has its accuracy."""

import torch
import torch.nn.functional as F
from torch import nn, optim


class GraphLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) / inputs ** 0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, features, adjacency):
        return adjacency @ (features @ self.weight) + self.bias


class GraphNet(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.first, self.second = GraphLayer(inputs, 48), GraphLayer(48, classes)

    def forward(self, features, adjacency):
        hidden = F.dropout(F.relu(self.first(features, adjacency)), 0.5, self.training)
        return F.log_softmax(self.second(hidden, adjacency), dim=1)


def graph(nodes=1400, classes=7):
    labels = torch.randint(0, classes, (nodes,))
    likely = torch.where(labels[:, None] == labels[None], 0.02, 0.002)
    adjacency = (torch.rand(nodes, nodes) < likely).float()
    adjacency = ((adjacency + adjacency.t()) > 0).float() + torch.eye(nodes)
    features = torch.rand(nodes, 400) + F.one_hot(labels, 400) * 0.3
    return features, adjacency / adjacency.sum(1, keepdim=True), labels


def accuracy(scores, labels):
    return (scores.argmax(1) == labels).float().mean().item()


torch.manual_seed(11)
features, adjacency, labels = graph()
model = GraphNet(features.shape[1], 7)
optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(240):
    model.train()
    optimizer.zero_grad()
    loss = F.nll_loss(model(features, adjacency)[:400], labels[:400])
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        scores = model(features, adjacency)
    right = accuracy(scores[400:800], labels[400:800])
    if epoch % 40 == 0:
        print("epoch %d: loss %r, accuracy %r" % (epoch, loss.item(), right))
