"""Learns to write text, one character after another, with a GRU that is called for each of them."""

import random
import string

import torch
from torch import nn

ALPHABET = string.printable
TEXT = ("It was said that the lighthouse had been dark for a hundred years, and that no keeper "
        "who climbed its stairs had ever counted the same number of steps twice. ") * 40
CHUNK = 80


class Writer(nn.Module):
    def __init__(self, width=160):
        super().__init__()
        self.width = width
        self.encoder = nn.Embedding(len(ALPHABET), width)
        self.gru = nn.GRU(width, width, 2)
        self.decoder = nn.Linear(width, len(ALPHABET))

    def forward(self, character, hidden):
        out, hidden = self.gru(self.encoder(character).view(1, 1, -1), hidden)
        return self.decoder(out.view(1, -1)), hidden

    def blank(self):
        return torch.zeros(2, 1, self.width)


def as_tensor(text):
    numbers = torch.zeros(len(text), dtype=torch.long)
    for place, character in enumerate(text):
        numbers[place] = ALPHABET.index(character)
    return numbers


def random_piece():
    start = random.randint(0, len(TEXT) - CHUNK - 1)
    piece = TEXT[start:start + CHUNK + 1]
    return as_tensor(piece[:-1]), as_tensor(piece[1:])


def write(model, begin="Th", length=100):
    with torch.no_grad():
        hidden, text = model.blank(), begin
        for character in as_tensor(begin[:-1]):
            _, hidden = model(character, hidden)
        last = as_tensor(begin[-1])[0]
        for _ in range(length):
            scores, hidden = model(last, hidden)
            last = torch.multinomial((scores.view(-1) / 0.8).exp(), 1)[0]
            text += ALPHABET[last]
    return text


def learn(model, optimizer, criterion):
    inputs, targets = random_piece()
    hidden, loss = model.blank(), 0
    model.zero_grad()
    for place in range(CHUNK):
        scores, hidden = model(inputs[place], hidden)
        loss += criterion(scores, targets[place].unsqueeze(0))
    loss.backward()
    optimizer.step()
    return loss.item() / CHUNK


random.seed(2)
torch.manual_seed(2)
writer = Writer()
adam = torch.optim.Adam(writer.parameters(), lr=0.005)
for turn in range(1, 201):
    cost = learn(writer, adam, nn.CrossEntropyLoss())
    if turn % 40 == 0:
        print("%d: %r" % (turn, cost))
        print(repr(write(writer)))
