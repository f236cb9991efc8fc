"""Policy gradients: an episode is played with the policy, then the policy is updated once."""

import random

import torch
import torch.nn.functional as F
from cart_pole import CartPole
from torch import nn, optim
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 128), nn.Linear(128, 2)
        self.dropout = nn.Dropout(p=0.6)

    def forward(self, x):
        return F.softmax(self.second(F.relu(self.dropout(self.first(x)))), dim=1)


def select_action(policy, state, saved):
    chances = Categorical(policy(torch.tensor(state).float().unsqueeze(0)))
    action = chances.sample()
    saved.append(chances.log_prob(action))
    return action.item()


def finish_episode(optimizer, saved, rewards):
    total, returns = 0.0, []
    for reward in reversed(rewards):
        total = reward + 0.99 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    optimizer.zero_grad()
    loss = torch.cat([-log * value for log, value in zip(saved, returns)]).sum()
    loss.backward()
    optimizer.step()


def main():
    random.seed(7)
    torch.manual_seed(7)
    env, policy = CartPole(), Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    running = 10.0
    for episode in range(300):
        state, saved, rewards = env.reset(), [], []
        for _ in range(200):
            state, reward, done = env.step(select_action(policy, state, saved))
            rewards.append(reward)
            if done:
                break
        running = 0.05 * sum(rewards) + 0.95 * running
        finish_episode(optimizer, saved, rewards)
        if episode % 50 == 0:
            print("episode %d: last %.0f, average %r" % (episode, sum(rewards), running))


if __name__ == "__main__":
    main()
