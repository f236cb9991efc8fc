"""What stands for the extension where there is none for the interpreter: does nothing."""

import os
import sys

reason = "there is no extension for this interpreter"


def explain(error):
    """Why the extension could not be imported: for status(), and for the summary of a run. Where there
    is none at all, _boot/sitecustomize.py has told the run already."""
    global reason
    reason = error
    version = "Python %d.%d" % sys.version_info[:2]
    if "subinterpreter" in error:
        text = "a subinterpreter of %s is not recorded" % version
    else:
        text = "%s does not load the extension: install stepscope again for it (%s)" % (version, error)
    run = os.environ.get("STEPSCOPE_RUN")
    if run and os.environ.get("STEPSCOPE_DISABLE") != "1":
        _tell(os.path.join(run, "unhooked-python-%d.%d" % sys.version_info[:2]), text)


def _tell(path, text):
    try:
        with open(path, "x", encoding="utf-8", errors="replace") as file:
            file.write("unhooked: %s\n" % " ".join(text.split()))
    except OSError:
        pass


class _Scope(object):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


_scope = _Scope()


def span(name, stage="user"):
    return _scope


def stage(stage):
    return _scope


def loop(name="train", of=""):
    return _scope


def epoch(number):
    return _scope


def timed(function, name=None, stage="user"):
    return function


def step(samples=0):
    pass


def counter(name, value):
    pass


def mark(name, text=""):
    pass


def plan(steps=None, epochs=None, steps_per_epoch=None, batch=None):
    pass


def start(dir=None, name=None):
    return None


def stop():
    pass


def recording():
    return False


def status():
    return "off: %s; CPython 3.10 and later is supported" % reason


def directory():
    return None


def sampler_start():
    pass


def collector_start():
    pass
