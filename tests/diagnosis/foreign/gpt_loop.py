"""A small GPT in one file: batches from a file of tokens, gradient accumulation, and a loss that is
estimated on both splits every so often."""

import os
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WORDS, BLOCK, WIDTH, BATCH = 256, 48, 64, 8
ITERATIONS, EVAL_EVERY, EVAL_BATCHES, ACCUMULATE = 100, 20, 20, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        rows, length, _ = x.shape
        parts = self.attention(self.norm1(x)).view(rows, length, 3, 4, WIDTH // 4).unbind(2)
        q, k, v = (part.transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(3)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x, targets):
        hidden = self.words(x) + self.places(torch.arange(x.shape[1]))
        logits = self.head(self.norm(self.blocks(hidden)))
        return logits, F.cross_entropy(logits.view(-1, WORDS), targets.view(-1))


def get_batch(path):
    data = np.memmap(path, dtype=np.uint16, mode="r")
    starts = torch.randint(len(data) - BLOCK - 1, (BATCH,))
    x, y = (torch.stack([torch.from_numpy(data[at + shift:at + shift + BLOCK].astype(np.int64))
                         for at in starts]) for shift in (0, 1))
    return x, y


@torch.no_grad()
def estimate_loss(model, paths):
    model.eval()
    means = {}
    for split, path in paths.items():
        losses = torch.zeros(EVAL_BATCHES)
        for number in range(EVAL_BATCHES):
            losses[number] = model(*get_batch(path))[1].item()
        means[split] = losses.mean().item()
    model.train()
    return means


def main():
    torch.manual_seed(54)
    with tempfile.TemporaryDirectory() as folder:
        paths = {split: os.path.join(folder, split + ".bin") for split in ("train", "val")}
        for number, path in enumerate(paths.values()):
            np.random.default_rng(number).integers(0, WORDS, 50000).astype(np.uint16).tofile(path)
        model = GPT()
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        x, y = get_batch(paths["train"])
        for iteration in range(ITERATIONS):
            if iteration % EVAL_EVERY == 0:
                print(iteration, estimate_loss(model, paths))
            for _ in range(ACCUMULATE):
                _, loss = model(x, y)
                x, y = get_batch(paths["train"])
                (loss / ACCUMULATE).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        print(repr(loss.item()))


if __name__ == "__main__":
    main()
