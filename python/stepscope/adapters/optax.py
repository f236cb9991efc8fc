"""Optax: where parameters are updated. Inside a compiled function that says that it trains;
elsewhere, where JAX works one operation after the other, each is an optimizer step."""

import sys

from .. import _core
from .._hooks import Hook, _point
from .jax import traces_training


def _part(part):
    return _core.hook_wrap(_core.hook_wrapper(_point(Hook(
        "", "optimizer", "apply_updates", role="update", of="optax", part=part))), lambda: None)


_begin, _end = _part("begin"), _part("end")


def _is_traced():
    """Also where it is not known: a step too few is better than one that is none."""
    core = sys.modules.get("jax._src.core")
    clean = getattr(core, "trace_state_clean", None)
    return clean is None or not clean()


def _applies(arguments):
    if _is_traced():
        traces_training(arguments)
    else:
        _begin()


def _applied(arguments, result, failed):
    if not _is_traced():
        _end()


HOOKS = (
    Hook("optax:apply_updates", "", "apply_updates", before=_applies, after=_applied),
)
