"""What stands for the extension where there is none for the interpreter: does nothing."""

reason = "there is no extension for this interpreter"


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


def loop(name="train"):
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
    return "off: %s; CPython 3.10 to 3.13 is supported" % reason


def directory():
    return None


def report(run, json):
    raise RuntimeError("runs cannot be read: " + reason)


def sampler_start():
    pass


def collector_start():
    pass
