"""Q-learning with a memory of transitions: one update after each move in the game."""

import collections
import random

import torch
from cart_pole import CartPole
from torch import nn, optim

Transition = collections.namedtuple("Transition", "state action next_state reward")
BATCH, GAMMA, TAU = 128, 0.99, 0.005


class Memory:
    def __init__(self, size):
        self.kept = collections.deque([], maxlen=size)

    def push(self, *parts):
        self.kept.append(Transition(*parts))

    def sample(self, count):
        return random.sample(self.kept, count)


def network():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


def select_action(net, state, moves):
    if random.random() < max(0.05, 0.9 - moves / 1000):
        return torch.tensor([[random.randrange(2)]])
    with torch.no_grad():
        return net(state).max(1).indices.view(1, 1)


def optimize_model(net, target, memory, optimizer):
    batch = Transition(*zip(*memory.sample(BATCH)))
    alive = torch.tensor([state is not None for state in batch.next_state])
    next_states = torch.cat([state for state in batch.next_state if state is not None])
    values = net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(BATCH)
    with torch.no_grad():
        next_values[alive] = target(next_states).max(1).values
    wanted = next_values * GAMMA + torch.cat(batch.reward)
    loss = nn.functional.smooth_l1_loss(values, wanted.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(net.parameters(), 100)
    optimizer.step()


def follow(net, target):
    weights, moving = net.state_dict(), target.state_dict()
    for key in weights:
        moving[key] = weights[key] * TAU + moving[key] * (1 - TAU)
    target.load_state_dict(moving)


def main():
    random.seed(8)
    torch.manual_seed(8)
    env, net, target, memory = CartPole(), network(), network(), Memory(10000)
    target.load_state_dict(net.state_dict())
    optimizer = optim.AdamW(net.parameters(), lr=1e-4, amsgrad=True)
    moves = updates = 0
    while updates < 1500:
        state, done, length = torch.tensor([env.reset()]), False, 0
        while not done and updates < 1500:
            action = select_action(net, state, moves)
            seen, reward, done = env.step(action.item())
            next_state = None if done else torch.tensor([seen])
            memory.push(state, action, next_state, torch.tensor([reward]))
            state, moves, length = next_state, moves + 1, length + 1
            if len(memory.kept) >= BATCH:
                optimize_model(net, target, memory, optimizer)
                follow(net, target)
                updates += 1
        if moves % 7 == 0:
            print("move %d: held for %d" % (moves, length))
    print(repr(sum(weights.sum().item() for weights in net.parameters())))


if __name__ == "__main__":
    main()
