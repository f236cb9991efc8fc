"""IPython, also as the kernel of a notebook: the end of a cell ends the loop that trained in it.

After that it waits for somebody who reads, thinks and writes the next cell, which is no part of a step; nor
are the lines of a traceback, which come before the end of a cell that fails.
"""

from .. import _core
from .._hooks import Hook

_loop_of_cell = _core.loop("cell")


def _end_loop(arguments):
    _loop_of_cell.__exit__(None)


def _see_event(arguments):
    """trigger(self, event, ...)"""
    if arguments[1] == "post_run_cell":
        _end_loop(arguments)


HOOKS = (
    Hook("IPython.core.events:EventManager.trigger", "", "cell", before=_see_event),
    Hook("IPython.core.interactiveshell:InteractiveShell.showtraceback", "", "cell",
         before=_end_loop),
)
