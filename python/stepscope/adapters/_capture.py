"""What begins and ends a framework's own profiler for a window of operations (python/core/window.h), and
keeps out of the way of the script's."""

import atexit
import os
import sys
import threading

from .. import _core
from .._hooks import profiler_begins, profiler_ends

# Kineto says on standard error that it begins and ends, unless this is high when it is used first.
_QUIET = "KINETO_LOG_LEVEL"

_acts = False  # what is called now is our own call
_is_ready = False
_is_quiet = False  # Kineto has been asked to say nothing


# Rows of the calls by which PyTorch's profiler begins and ends; ours pass them as well.

def yields(arguments):
    """Before it is prepared, as in the warm-up of a schedule, or begins: two at once crash."""
    if not _acts and not _core.windows_yield(True):
        _speak()


def begins(arguments, result, failed):
    if not _acts:
        profiler_begins(arguments, result, failed)


def ends(arguments, result, failed):
    if not _acts:
        profiler_ends(arguments, result, failed)
        _core.windows_yield(False)


def _speak():
    """Kineto may say again what it says."""
    if _is_quiet and _QUIET not in os.environ:
        os.unsetenv(_QUIET)


def _prepare_process():
    """Once: a forked child, or the end of the process, must not find a window open."""
    global _is_ready
    if not _is_ready:
        _is_ready = True
        os.register_at_fork(before=lambda: _core.windows_drop(None))
        atexit.register(_core.windows_drop, None)


def _why_never():
    """None, or why this process has no windows."""
    if threading.current_thread() is not threading.main_thread():
        return "the main thread does not train"
    if os.environ.get("KINETO_USE_DAEMON"):
        return "the profiler belongs to a daemon (KINETO_USE_DAEMON)"
    ranks = sys.modules.get("torch.distributed")
    if ranks and ranks.is_available() and ranks.is_initialized() and ranks.get_rank() != 0:
        return "rank 0 has them"  # each stops all
    return None


def _configuration(profiler):
    """Of a profiler of operations alone, without what only Python would read."""
    try:
        more = profiler._ExperimentalConfig(trace_only=True)
    except TypeError:
        more = profiler._ExperimentalConfig()
    return profiler.ProfilerConfig(profiler.ProfilerState.KINETO, False, False, False, False, False,
                                   more)


def _begin_torch():
    global _acts
    reason = _why_never()
    if reason:
        return reason
    own, profiler = sys.modules["torch"]._C._autograd, sys.modules["torch"]._C._profiler
    if own._profiler_enabled():
        return False
    _prepare_process()
    activities = {profiler.ProfilerActivity.CPU}
    _acts = True
    try:
        configuration = _configuration(profiler)
        own._prepare_profiler(configuration, activities)
        _speak()  # what it was asked has been read: children need not inherit it
        own._enable_profiler(configuration, activities)
    finally:
        _acts = False
    return None


def _end_torch(path):
    global _acts
    _acts = True
    try:
        result = sys.modules["torch"]._C._autograd._disable_profiler()
        if path is not None:
            result.save(path)
    finally:
        _acts = False
    return True


def start_torch():
    global _is_quiet
    own = sys.modules["torch"]._C
    if not hasattr(getattr(own, "_autograd", None), "_prepare_profiler"):
        return
    if (_core.windows_start("PyTorch", "json", _begin_torch, _end_torch)
            and _QUIET not in os.environ):
        _is_quiet = True
        os.putenv(_QUIET, "99")  # the script does not see it in os.environ
