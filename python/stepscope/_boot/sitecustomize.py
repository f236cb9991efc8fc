# Run by every Python below `stepscope run`, before its script: prepares hooks, then goes on to the
# sitecustomize that this file hides. Any Python may read it, so it is written for 2.7 and all of 3.
# Nothing here may raise, print, or import what the interpreter has not imported anyway.
import sys


def _say(run, text):
    """Leaves a line in the run for the summary; the first process to say it does."""
    import os

    name = "unhooked-python-%d.%d" % sys.version_info[:2]
    try:
        file = os.open(os.path.join(run, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    os.write(file, ("unhooked: %s\n" % text).encode("utf-8", "replace"))
    os.close(file)


def _why_not():
    """Why hooks cannot be laid in this interpreter, or None."""
    version = "Python %d.%d" % sys.version_info[:2]
    if getattr(sys, "implementation", None) is None or sys.implementation.name != "cpython":
        return version + " is not CPython 3.10 or later"
    if sys.version_info < (3, 10):
        return version + " is not supported, only 3.10 and later are"
    return None


def _has_extension(folder):
    import _imp
    import os

    for suffix in _imp.extension_suffixes():
        if os.path.exists(folder + "/_core" + suffix):
            return True
    return False


def _find_package(own):
    """The folder of the package: the one that is installed for this interpreter, if it has an
    extension, else our own."""
    import _frozen_importlib_external as external

    spec = external.PathFinder.find_spec("stepscope")
    places = list(spec.submodule_search_locations or ()) if spec else []
    for folder in places + [own]:
        if _has_extension(folder):
            return folder
    return None


class _Finder(object):
    """Last in sys.meta_path: makes `import stepscope` work where it is not installed."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "stepscope":
            return None
        import _frozen_importlib_external as external

        return external.spec_from_file_location(
            name, self.folder + "/__init__.py", submodule_search_locations=[self.folder])


def _load_inject(folder):
    """stepscope._inject, without the package around it: the script may never need that."""
    import _frozen_importlib
    import _frozen_importlib_external as external

    spec = external.spec_from_file_location("stepscope._inject", folder + "/_inject.py")
    module = sys.modules[spec.name] = _frozen_importlib.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _boot(own):
    import os

    run = os.environ.get("STEPSCOPE_RUN")
    if not run or os.environ.get("STEPSCOPE_DISABLE") == "1":
        return
    why = _why_not()
    folder = None if why else _find_package(own)
    if not why and not folder:
        why = "Python %d.%d has no stepscope extension: 'pip install stepscope' for %s" % (
            sys.version_info[:2] + (sys.executable,))
    if why:
        _say(run, why)
    if sys.version_info >= (3, 6):
        sys.meta_path.append(_Finder(folder or own))
    if folder:
        _load_inject(folder).watch()


def _go_on():
    """Our folder leaves the path, so that the next one to be found is the one we hide. Without one,
    this raises what the interpreter expects then. Children still find us: PYTHONPATH stays."""
    here = __file__.rpartition("/")[0]
    sys.path[:] = [folder for folder in sys.path if folder != here]
    if getattr(sys, "_stepscope_booted", False):
        return  # the one we hide led back to us
    sys._stepscope_booted = True
    try:
        _boot(here.rpartition("/")[0])
    except Exception:
        pass
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401


_go_on()
