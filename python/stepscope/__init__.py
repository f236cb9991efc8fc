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
stop = _core.stop


def start(dir=None, name=None):
    """Starts recording: joins the run of `stepscope run`, or makes a new one in dir (default:
    STEPSCOPE_DIR, or stepscope-runs). Gives its directory; None if nothing is recorded, for which
    status() has the reason. Frameworks that are imported already are hooked too."""
    run = _core.start(dir, name)
    if run is not None:
        from . import _inject

        _core.sampler_start()
        _core.collector_start()
        _inject.watch()
    return run


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


def summary(run=None):
    """Prints the report of a run directory; by default, of what this process records or recorded."""
    print(_core.report(_run(run), False), end="")


def load(run=None):
    """The report of a run directory as dictionaries, lists and numbers: docs/report.md."""
    import json

    return json.loads(_core.report(_run(run), True))


if _os.environ.get("STEPSCOPE_RUN") and _os.environ.get("STEPSCOPE_DISABLE") != "1":
    _core.collector_start()  # both from the first event on
    _core.sampler_start()
