"""Where the command is that was installed with this package."""

import os

_here = os.path.dirname(os.path.abspath(__file__))


def _places():
    yield os.path.join(_here, "..", "..")  # the build
    yield os.path.join(_here, "..", "..", "..", "..", "bin")  # make install
    import sysconfig

    yield sysconfig.get_path("scripts")  # pip install
    if hasattr(sysconfig, "get_preferred_scheme"):
        yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))  # --user
    yield os.path.join(_here, "..", "bin")  # --target


def find():
    """Its path, or None."""
    for place in _places():
        path = os.path.realpath(os.path.join(place, "stepscope"))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None
