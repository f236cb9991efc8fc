"""Accelerate with gradient accumulation; text becomes numbers in collate_fn, word by word."""

import random
import re
import string

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

random.seed(53)
torch.manual_seed(53)
VOCABULARY = {"".join(random.choices(string.ascii_lowercase, k=6)): n for n in range(2, 3000)}
WORDS = list(VOCABULARY)
TEXTS = [(" ".join(random.choice(WORDS).title() + random.choice(",.!") for _ in range(250)),
          random.randrange(2)) for _ in range(640)]


def tokens(text):
    text = re.sub(r"[^a-z\s]", " ", text.lower())
    found = []
    for word in text.split():
        for end in range(len(word), 0, -1):
            if word[:end] in VOCABULARY:
                found.append(VOCABULARY[word[:end]])
                break
        else:
            found.append(1)
    return found


def collate(samples):
    rows = [torch.tensor(tokens(text)) for text, _ in samples]
    return (nn.utils.rnn.pad_sequence(rows, batch_first=True),
            torch.tensor([label for _, label in samples]))


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.EmbeddingBag(3000, 32), nn.Linear(32, 2)

    def forward(self, words):
        return self.out(self.embed(words))


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    model = Average()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TEXTS, batch_size=16, shuffle=True, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(10):
        for words, labels in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(words), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.print("epoch %d: %r" % (epoch, loss.item()))


if __name__ == "__main__":
    main()
