"""IPython, also as the kernel of a notebook: the end of a cell ends the loop that trained in it.

After that it waits for a user who reads, thinks and writes the next cell, which is no part of a step; nor
are the lines of a traceback, which come before the end of a cell that fails. In stacks, a cell has the
number that the notebook shows.
"""

import sys

from .. import _core
from .._hooks import Hook

_loop_of_cell = _core.loop("cell")


def _end_loop(arguments):
    _loop_of_cell.__exit__(None)


def _see_event(arguments):
    """trigger(self, event, ...)"""
    if arguments[1] == "post_run_cell":
        _end_loop(arguments)


def _cached(arguments, result, failed):
    """cache(self, transformed_code, number, ...) gives the name of the file."""
    if not failed and len(arguments) > 2:
        _core.cell(result, arguments[2])


def _note_earlier_cells():
    """Of an IPython that runs already: functions of its cells may be called later."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    compiler = getattr(shell, "compile", None)
    for file, number in getattr(compiler, "_filename_map", {}).items():
        _core.cell(file, number)


HOOKS = (
    Hook("IPython.core.events:EventManager.trigger", "", "cell", before=_see_event),
    Hook("IPython.core.interactiveshell:InteractiveShell.showtraceback", "", "cell",
         before=_end_loop),
    Hook("IPython.core.compilerop:CachingCompiler.cache", "", "cell", after=_cached),
)
_note_earlier_cells()
