"""How long does the whole pipeline take? Nothing but a decorator and a clock: no framework at
all."""

import functools
import time


def timed(function):
    @functools.wraps(function)
    def call(*arguments):
        start = time.time()
        try:
            return function(*arguments)
        finally:
            print("%s took %.2f s" % (function.__name__, time.time() - start))

    return call


@timed
def train(epochs):
    for _ in range(epochs):
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            sum(range(1000))


train(2)
