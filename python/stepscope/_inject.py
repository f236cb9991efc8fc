"""Lays hooks when a framework is imported, never before, and never imports one itself.

An adapter is a module in stepscope.adapters that is called like the framework it hooks. A finder at
the head of sys.meta_path sees each import by name; for a framework it lets the other finders find it,
and has a look at the module once it is there. It costs one look into a set for each import.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_wanted = {}  # modules that there are hooks for: which adapter has them


def _frameworks():
    """Names of the frameworks that have an adapter, from the names of the files alone."""
    try:
        files = os.listdir(os.path.join(_here, "adapters"))
    except OSError:
        return frozenset()
    return frozenset(name[:-3] for name in files
                     if name.endswith(".py") and not name.startswith("_"))


def _hook(name):
    """Lays the hooks of a framework, or of a part of one, that has just been imported. Whatever goes
    wrong here is ours."""
    try:
        from . import _hooks
        from importlib import import_module

        framework = _wanted[name]
        adapter = import_module(__package__ + ".adapters." + framework)
        _wanted.update((part, framework) for part in getattr(adapter, "LATER", ()))
        if name == framework:
            _hooks.install(adapter)
            if "STEPSCOPE_TRY" in os.environ:
                import_module(__package__ + "._arms").watch(name)
        else:
            _hooks.install(adapter, part=name)
    except Exception:
        pass


class _Loader:
    """The loader that was found, but for a look at the module once it has been executed."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        # A copy is asked before it has anything inside.
        if name == "_inner" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __reduce__(self):
        from operator import itemgetter

        return itemgetter(0), ((self._inner,),)  # it can be read without us

    def create_module(self, spec):
        create = getattr(self._inner, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module):
        spec = module.__spec__
        spec.loader = module.__loader__ = self._inner
        self._inner.exec_module(module)
        _hook(spec.name)

    # The interpreter leaves its own import machinery out of the tracebacks of modules that fail to
    # import; so that ours is left out too, it passes for a part of that.
    exec_module.__code__ = exec_module.__code__.replace(
        co_filename="<frozen importlib._bootstrap_external>")


class _Finder:
    """First in sys.meta_path; finds nothing itself."""

    def find_spec(self, name, path=None, target=None):
        if name not in _wanted:
            return None
        spec = self._ask_others(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec

    def _ask_others(self, name, path, target):
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                return spec
        return None


def watch():
    """Hooks what is imported already, and the rest when it comes. Again does no harm."""
    frameworks = _frameworks()
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        _wanted.update((name, name) for name in frameworks)
        sys.meta_path.insert(0, _Finder())
        for name in sorted(frameworks):
            if name in sys.modules:
                _hook(name)
