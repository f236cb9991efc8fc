"""Where the time of a training run goes.

Under `stepscope run -- python train.py` nothing is needed in the script. What is here gives names to
parts of it, counts steps where no framework is known, and records notebooks, which no command starts:

    import stepscope

    stepscope.start()                           # not needed under `stepscope run`
    for batch in loader:
        stepscope.step(samples=len(batch))      # a step starts here
        with stepscope.span("augment"):
            ...
    stepscope.stop()
    stepscope.summary()

When nothing is recorded, all of it does nothing, and costs next to nothing. docs/python.md says more.
"""

import os as _os
import sys as _sys

from ._version import version as __version__

__all__ = [
    "counter", "directory", "epoch", "load", "loop", "mark", "plan", "recording", "span", "stage",
    "start", "status", "step", "stop", "summary", "timed",
]

try:
    from . import _core
except ImportError as _error:  # no extension for this interpreter: nothing to record with
    from . import _off as _core

    _core.explain(str(_error))

counter = _core.counter
directory = _core.directory
epoch = _core.epoch
loop = _core.loop
mark = _core.mark
plan = _core.plan
recording = _core.recording
span = _core.span
stage = _core.stage
status = _core.status
step = _core.step


_is_own = False  # start() has begun a run once


def start(dir=None, name=None):
    """Starts recording: joins the run of `stepscope run`, or makes a new one in dir (default:
    STEPSCOPE_DIR, or stepscope-runs). Gives its directory; None if nothing is recorded, for which
    status() has the reason. Frameworks that are imported already are hooked too."""
    global _is_own
    goes_on = recording()
    run = _core.start(dir, name)
    if run is not None:
        from . import _inject

        if not goes_on and run != _os.environ.get("STEPSCOPE_RUN"):  # of which no supervisor knows
            from . import _watch

            _watch.begin(run)
            _is_own = True

        _core.sampler_start()
        _core.collector_start()
        _inject.watch()
    return run


def stop():
    """Ends the recording."""
    if _is_own:
        from . import _watch

        _watch.end()
    _core.stop()


def timed(function=None, *, name=None, stage="user"):
    """Makes each call of a function a span: @timed, @timed("name") or @timed(stage="data"). For
    generators and coroutines each resume is one, so that only the time inside them counts."""
    if callable(function) or isinstance(function, (staticmethod, classmethod)):
        return _core.timed(function, name, stage)
    if function is not None:
        name = function
    return lambda function: _core.timed(function, name, stage)


def _run(run):
    found = directory() if run is None else run
    if found is None:
        raise ValueError("nothing was recorded here; give the directory of a run")
    return found


_TEXT, _JSON, _HTML = range(3)  # forms of a report


def _read(run, form):
    try:
        from . import _report  # all that reads runs: a training that reads none has it not in memory
    except ImportError as error:
        raise RuntimeError("runs cannot be read: %s" % error) from None
    return _report.report(run, form)


class _Summary:
    """What a notebook shows: the top of the HTML page, and the text where it shows no HTML."""

    def __init__(self, run):
        self._text, self._html = _read(run, _TEXT), _read(run, _HTML)

    def __repr__(self):
        return self._text.rstrip("\n")

    def _repr_html_(self):
        return self._html


def _shell():
    """The IPython that runs this; None: there is none."""
    ask = getattr(_sys.modules.get("IPython"), "get_ipython", None)
    return ask and ask()


def summary(run=None):
    """Shows the report of a run directory; by default, of what this process records or recorded. A
    notebook shows it as HTML; elsewhere it is printed."""
    run = _run(run)
    if _shell():
        from IPython.display import display

        display(_Summary(run))
    else:
        print(_read(run, _TEXT), end="")


def load(run=None):
    """The report of a run directory as dictionaries, lists and numbers: docs/report.md."""
    import json

    return json.loads(_read(_run(run), _JSON))


def load_ipython_extension(shell):
    """%load_ext stepscope: the magic %%stepscope."""
    from . import _magic

    shell.register_magic_function(_magic.stepscope, "cell")


if _os.environ.get("STEPSCOPE_RUN") and _os.environ.get("STEPSCOPE_DISABLE") != "1":
    _core.collector_start()  # both from the first event on
    _core.sampler_start()
