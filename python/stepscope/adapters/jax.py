"""JAX: functions that a script has compiled, their compilation, and where it waits for the device.

A compiled function runs its Python code only while it is traced. If a gradient is taken or an
optimizer applied then, the outermost function that is being called trains, and its calls say so.
Which of them make the steps is for the model to decide. Calls return before the work is done: what
the host waits for it is `sync`.
"""

import functools
import gc
import inspect
import sys
import threading
import weakref
from itertools import count, islice
from math import prod

from .. import _core
from .._hooks import Hook, _point, profiler_begins, profiler_ends

_ARRAY = "jax._src.array:ArrayImpl"
_SESSION = "jaxlib._profiler:ProfilerSession"
_WAITS = ("__float__", "__int__", "__bool__", "__index__", "__complex__", "__array__", "item",
          "tolist", "block_until_ready")
_ONE = "jax"  # the group: inside what JAX does for one call, nothing else is separated

# They compile functions too, with which they are made, and which are not the script's.
_LIBRARIES = frozenset(("jax", "jaxlib", "flax", "optax", "orbax", "chex", "keras"))

_functions = {}  # where a function is written: what to record for its calls
_texts = {}  # and what it is called, by that
_scans = {}  # what to record for calls of a function that trains in a scan
_names = {}  # how many functions have this name
_known = {}  # the last one of a name, as JAX calls it
_trained = set()  # what those are called in which a gradient or an update was traced
_MOST = 1000  # functions of different names, or places


def _inner(function):
    """What a partial function is one of."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _is_library(function):
    module = getattr(_inner(function), "__module__", None) or ""
    return module.partition(".")[0] in _LIBRARIES


def _of_pmap(function):
    """pmap compiles a function of its own, around the one that it was given."""
    try:
        own = inspect.unwrap(function)
        place = own.__code__.co_freevars.index("fun")
        return own.__closure__[place].cell_contents.f
    except Exception:
        return None


def _name(function):
    function = _inner(function)
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return name.rpartition("<locals>.")[2]


def _wrapper_of(function):
    """One for all that the same code makes, as by a jit inside a loop."""
    code = getattr(inspect.unwrap(_inner(function)), "__code__", None)
    name = _name(function)
    place = (name, code.co_filename, code.co_firstlineno) if code else (name,)
    if place not in _functions and len(_functions) < _MOST:
        _names[name] = _names.get(name, 0) + 1
        _functions[place] = _new_wrapper(
            name if _names[name] == 1 else "%s#%d" % (name, _names[name]), "call")
    return _functions.get(place)


def _new_wrapper(text, what):
    """Its first calls are looked at, and then no more."""
    row = Hook("", "compute", what, role="jit_call", of=text, outermost=_ONE)
    plain = _core.hook_wrapper(_point(row))
    looking = _core.hook_wrapper(_point(row._replace(
        before=functools.partial(_takes, text),
        after=functools.partial(_gives, text, count(1), plain))))
    _texts[plain] = _texts[looking] = text
    return looking


# Which function makes the updates: what it returns is taken by a call in which a gradient is. Objects are
# compared by weak references, so that no array lives longer for it.
_LOOKS = 12  # calls of a function
_LEAVES = 64
_given = {}  # the id of an array: that, weakly, and what returned it
_told = set()


def _arrays_of(values, depth):
    """The first array in each of them: it stands for the others. Nothing of theirs is called."""
    kind = getattr(sys.modules.get("jax._src.array"), "ArrayImpl", None)
    for value in islice(values, 8):
        if type(value) is kind:
            yield value
        elif depth:
            if isinstance(value, (tuple, list)):
                inner = value
            else:
                inner = (value if type(value) is dict else getattr(value, "__dict__", {})).values()
            yield from islice(_arrays_of(inner, depth - 1), 1)


def _takes(text, arguments):
    try:
        for array in _arrays_of(arguments, 4) if text in _trained else ():
            known, giver = _given.get(id(array), (None, text))
            if known and known() is array and giver not in _told:
                _told.add(giver)
                _core.mark("new parameters", giver)
    except Exception:  # a user's objects
        pass


def _gives(text, calls, plain, arguments, result, failed):
    try:
        if next(calls) >= _LOOKS:
            _core.hook_become(plain)
        elif not failed:
            if len(_given) > _LEAVES:
                _given.clear()
            for array in _arrays_of(result if type(result) is tuple else (result,), 4):
                _given[id(array)] = weakref.ref(array), text
    except Exception:
        pass


def _made(arguments, result, failed):
    if failed:
        return
    function = arguments[0]
    if getattr(function, "__module__", "") == "jax._src.pmap":
        function = _of_pmap(function)
    if function is not None and not _is_library(function):
        wrapper = _wrapper_of(function)
        if wrapper is not None:
            _core.hook_follow(wrapper, result)
            _known[getattr(result, "__name__", "")] = wrapper


def _made_ahead(arguments, result, failed):
    """By lower().compile(): of a function that is known by its name."""
    name = _plain(str(getattr(getattr(arguments[0], "unsafe_call", None), "name", "")))
    if not failed and name in _known:
        _core.hook_follow(_known[name], result)


def _made_earlier():
    """Those that were there before us: JAX is not just being imported, recording began late."""
    kind = getattr(sys.modules.get("jaxlib._jax"), "PjitFunction", None)
    if kind and not getattr(sys.modules["jax"].__spec__, "_initializing", False):
        for found in gc.get_objects():
            if type(found) is kind:
                _made((getattr(found, "_fun", found),), found, False)


def traces_training(arguments):
    """A gradient or an update, in a function that is traced: by its call, or ahead of time."""
    wrapper = None if _core.hook_called() else _known.get(_traced.function)
    _core.hook_trains(wrapper)
    _trained.add(_texts.get(wrapper or _core.hook_called()))
    if _traced.scans:
        _name_scan(_traced.scans)


class _Traced(threading.local):
    function = None  # as JAX calls it
    scans = ()  # the lengths of those that are being traced, outermost first


_traced = _Traced()


def _scan_begins(arguments):
    leaves = sys.modules["jax"].tree.leaves(arguments[2:3])
    _traced.scans += (len(leaves[0]) if leaves else None,)


def _scan_ends(arguments, result, failed):
    _traced.scans = _traced.scans[:-1]


def _name_scan(lengths):
    """One call trains many steps, which are not seen: its name says so."""
    what = "call (a scan)" if None in lengths else "call (a scan of %d)" % prod(lengths)
    text = _texts.get(_core.hook_called())
    if text is not None and len(_scans) < _MOST:
        if (text, what) not in _scans:
            _scans[text, what] = _new_wrapper(text, what)
        _core.hook_become(_scans[text, what])


_TRACE = "/jax/core/compile/jaxpr_trace_duration"
_PARTS = {
    _TRACE: "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
_compiles = {}  # by event and function: what begins its span, and what ends it


def _plain(function):
    """JAX calls a function f also jit(f)."""
    if function.startswith(("jit(", "pmap(")) and function.endswith(")"):
        function = function[function.index("(") + 1:-1]
    return function


# Frames of these are not the script's, nor is what is between them and JAX.
_NO_SCRIPT = _LIBRARIES | {"stepscope", "numpy", "contextlib", "functools"}


def _compiled_for(function):
    """What is compiled outside the script's compiled functions, as `add` is, is an operation that a
    function of the script has JAX do by itself: that one is named."""
    if function in _known or _core.hook_called() is not None:
        return function
    frame = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in _NO_SCRIPT:
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name).rpartition("<locals>.")[2]
            return "operations of " + ("the script" if name == "<module>" else name + "()")
        frame = frame.f_back
    return function


def _pair_of(event, function):
    pair = _compiles.get((event, function))
    if pair is None and len(_compiles) < _MOST:
        pair = _compiles[event, function] = tuple(
            _core.hook_wrap(_core.hook_wrapper(_point(Hook(
                "", "compile", _PARTS[event], of=function, part=part))), lambda: None)
            for part in ("begin", "end"))
    return pair


def _compile_begins(event, value, **details):
    _pass_on(event, details, 0)


def _compile_ends(event, seconds, **details):
    _pass_on(event, details, 1)


def _pass_on(event, details, part):
    """Nothing may be raised here: JAX would hand it on to the script."""
    try:
        if event in _PARTS:
            function = _plain(str(details.get("fun_name", "")))
            if event == _TRACE:
                _traced.function = None if part else function
            pair = _pair_of(event, _compiled_for(function))
            if pair:
                pair[part]()
    except Exception:
        pass


def _listen():
    """JAX tells its monitors when a part of a compilation begins, and how long it took."""
    try:
        monitoring = sys.modules["jax._src.monitoring"]
        monitoring.register_scalar_listener(_compile_begins)
        monitoring.register_event_duration_secs_listener(_compile_ends)
    except Exception:
        _core.hook_note("jax.monitoring", "it does not tell when a compilation begins")


HOOKS = (
    Hook("jax._src.pjit:_cpp_pjit", "", "jit", after=_made),
    Hook("jax._src.api:vjp", "", "gradient", before=traces_training),
    Hook("jax._src.interpreters.pxla:MeshExecutable.create_cpp_call", "", "compiled",
         after=_made_ahead),
    Hook("jax.lax:scan", "", "scan", before=_scan_begins, after=_scan_ends),

    *(Hook(_ARRAY + "." + name, "sync", name.strip("_"), outermost=_ONE) for name in _WAITS),
    Hook(_ARRAY + "._value.fget", "sync", "value", technique="function", outermost=_ONE),
    Hook(_ARRAY, "sync", "array", technique="buffer", outermost=_ONE),
    Hook("jax:block_until_ready", "sync", "block_until_ready", outermost=_ONE),
    Hook("jax:device_get", "sync", "device_get", outermost=_ONE),
    Hook("jax:device_put", "transfer", "device_put", outermost=_ONE),

    # Below its profiler, under whatever names a script has that.
    Hook(_SESSION, "", "profiler", technique="object", after=profiler_begins),
    *(Hook(_SESSION + "." + name, "", "profiler", after=profiler_ends)
      for name in ("stop", "stop_and_export", "stop_and_get_profile_data")),
)

_listen()
_made_earlier()
