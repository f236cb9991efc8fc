"""A framework that trains nothing: one of each kind of thing that an adapter hooks."""

import functools

from fake_framework.parts import Loader, Model, Optimizer, Record, Trainer, collate, ready

__version__ = "2.13.0+cpu"

grad_enabled = True


def is_grad_enabled():
    return grad_enabled


def jit(function):
    """Each result is an object of a C type with a vectorcall of its own."""
    return functools.partial(function)


compiled = jit(collate)
