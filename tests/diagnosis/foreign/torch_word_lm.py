"""A language model of words with an LSTM; its weights are updated by hand, without an optimizer."""

import math

import torch
from torch import nn

WORDS, ROWS, LENGTH, CLIP = 800, 16, 20, 0.25


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(WORDS, 128)
        self.lstm = nn.LSTM(128, 128, 2, dropout=0.2)
        self.decoder = nn.Linear(128, WORDS)

    def forward(self, words, hidden):
        out, hidden = self.lstm(self.encoder(words), hidden)
        return self.decoder(out).view(-1, WORDS), hidden


def columns(text):
    length = len(text) // ROWS
    return text[:length * ROWS].view(ROWS, length).t().contiguous()


def get_batch(source, place):
    length = min(LENGTH, len(source) - 1 - place)
    return source[place:place + length], source[place + 1:place + 1 + length].reshape(-1)


def detached(hidden):
    return tuple(part.detach() for part in hidden) if hidden else None


def evaluate(model, source):
    model.eval()
    total, hidden = 0.0, None
    with torch.no_grad():
        for place in range(0, len(source) - 1, LENGTH):
            words, targets = get_batch(source, place)
            scores, hidden = model(words, hidden)
            total += len(words) * nn.functional.cross_entropy(scores, targets).item()
    return total / (len(source) - 1)


def train(model, source, rate):
    model.train()
    hidden = None
    for place in range(0, len(source) - 1, LENGTH):
        words, targets = get_batch(source, place)
        model.zero_grad()
        scores, hidden = model(words, detached(hidden))
        loss = nn.functional.cross_entropy(scores, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for weights in model.parameters():
            weights.data.add_(weights.grad, alpha=-rate)


def main():
    torch.manual_seed(5)
    text = (torch.rand(ROWS * 1201).pow(2) * WORDS).long()
    training, validation = columns(text), columns(text[:ROWS * 101])
    model, rate, best = Words(), 20.0, None
    for epoch in range(4):
        train(model, training, rate)
        loss = evaluate(model, validation)
        print("epoch %d: perplexity %r" % (epoch, math.exp(loss)))
        if best is not None and loss > best:
            rate /= 4
        best = min(loss, best or loss)


if __name__ == "__main__":
    main()
