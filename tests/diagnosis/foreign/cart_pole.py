"""A pole on a cart that has to be held upright, for the scripts that learn to do so."""

import math
import random


class CartPole:
    LIMIT_X, LIMIT_ANGLE, TICK = 2.4, 0.21, 0.02

    def reset(self):
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return list(self.state)

    def step(self, action):
        x, speed, angle, turn = self.state
        force = 10.0 if action == 1 else -10.0
        push = (force + 0.05 * turn * turn * math.sin(angle)) / 1.1
        bend = (9.8 * math.sin(angle) - math.cos(angle) * push) / (
            0.5 * (4.0 / 3.0 - 0.1 * math.cos(angle) ** 2 / 1.1))
        go = push - 0.05 * bend * math.cos(angle) / 1.1
        self.state = [x + self.TICK * speed, speed + self.TICK * go,
                      angle + self.TICK * turn, turn + self.TICK * bend]
        done = abs(self.state[0]) > self.LIMIT_X or abs(self.state[2]) > self.LIMIT_ANGLE
        return list(self.state), 1.0, done
