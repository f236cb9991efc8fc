"""Lays the hooks of an adapter, which is a table: a module with HOOKS, a tuple of Hook rows.

An adapter may also have DISTRIBUTION, whose version the rows' `versions` are compared with, and LATER,
modules that the framework imports when it needs them: their rows are laid then. Whatever does not
fit is skipped, and the run says why. Nothing here raises or imports anything.
"""

import sys
from typing import Any, Callable, NamedTuple, Optional

from . import _core

# Called by the interpreter from C, so that 3.11 goes through the function's vectorcall.
_CALLED_FROM_C = frozenset(
    "__%s__" % name for name in (
        "call next iter anext aiter enter exit init del float int index bool len array "
        "contains getattr setattr hash eq str repr").split())


_MAKES_A_FLOW = 0x20 | 0x80 | 0x200  # generators, coroutines, asynchronous generators: inspect.CO_*


class Count(NamedTuple):
    """What the argument of the span is, taken from the call."""

    of: Any  # an argument by its number, the "result", the "batches" that were got during the call, or the
    # "caller"
    attribute: str = ""  # of an argument or the result; without one its length
    never_of: str = ""  # "module:Class": there is nothing to count in such an argument
    variable: str = ""  # of the caller
    plus: int = 0  # added to that
    iterators: str = ""  # attribute of self: from how many iterators each batch comes; one without it
    most: int = 0  # batches, at most; 0: any number


class Hook(NamedTuple):
    """One row. `target`: "module:Class.attribute", for a library "part of its path:symbol". Of what a
    generator or async function makes each resume is a span; such a row has a stage and a name only."""

    target: str
    stage: str
    name: str
    technique: str = "auto"  # function, method, object, callable, buffer, library
    role: str = ""
    scope: str = ""
    flags: tuple = ()
    of: str = ""  # object of the name
    object: str = ""  # or taken from the call: type, instance, attribute
    attribute: str = ""  # object="attribute": which one of self holds the text
    prefix: str = ""  # and how it starts; what follows up to a full stop is the object
    whose: Any = 0  # the object is that of another argument (1), or of the caller's variable ("x")
    whose_module: str = ""  # of callers that begin one scope each, which is known by them from then on
    moves: str = ""  # recorded only if this attribute of self and of the result, which says whether
    # they are on the host, differs; to the host it is sync
    outermost: str = ""  # calls inside another one of this group record nothing
    never_in: str = ""  # a group of `outermost`: nor do those inside one of it, which are not looked at
    query: str = ""  # "module:function" that says whether gradients are on: train or eval
    count: Optional[Count] = None
    part: str = ""  # begin: the span stays open; end: the call ends it (with `object`: the one
    # that the same self began, and what the same object begins inside it, as by super(), is a part of
    # it), and nothing else is done; it has failed if the call, as __exit__, receives an exception
    tells: str = ""  # of a library, what its function tells: duration_us, batch, asks (hook_library.c)
    before: Optional[Callable] = None  # before(arguments): the adapter sees a call
    after: Optional[Callable] = None  # after(arguments, result, failed)
    numbers: str = ""  # inside a call of this group, numbers in the dictionary that it gives are counters;
    # of None it has none, and is not recorded
    device: str = ""  # events: if they are wanted, what a device does for the call is measured too
    layers: str = ""  # in stretches that are sampled: of "modules" those that it calls are spans, too,
    # "backward" is divided by them; an "update" begins and ends such a stretch (layers.h)
    waits: str = ""  # while _core.hook_waits() says so: what to call time off the CPU inside the call
    samples: tuple = ()  # of data: ("module:Class" of tensors, function that gives the shape of one)
    keep: bool = False  # a compiler samples: never put another object in its place
    versions: str = ""  # such as ">=2.0,<3"


def profiler_begins(arguments, result, failed):
    """After a call by which a framework's own profiler begins: what it watches takes longer."""
    if not failed:
        _core.hook_condition("perturbed")


def profiler_ends(arguments, result, failed):
    _core.hook_condition("")


class _Skip(Exception):
    """Why a row does not fit."""


def install(adapter, part=""):
    """Lays all hooks of an adapter module, or those of a part that has been imported now. The reasons
    of those left out, by target."""
    if not part:
        _note_version(adapter)
    return install_rows(adapter, (row for row in adapter.HOOKS if _is_due(adapter, row, part)))


def install_rows(adapter, rows):
    """The same for rows that an adapter had to wait with."""
    skipped = {}
    for row in rows:
        label = row.target
        try:
            _check_version(adapter, row)
            label = _lay(row)
            reason = None
        except _Skip as skip:
            reason = str(skip)
        except Exception as error:
            reason = "%s: %s" % (type(error).__name__, error)
        if reason:
            skipped[row.target] = reason
        _core.hook_note(label, reason)
    return skipped


def _is_due(adapter, row, part):
    module = row.target.partition(":")[0]
    if part:
        return module == part
    return module in sys.modules or module not in getattr(adapter, "LATER", ())


def _lay(row):
    """What to call the hook in the run; _Skip if it cannot be laid."""
    if row.technique == "library":
        owner, attribute, target = (*row.target.rsplit(":", 1), None)
        technique = "library"
    else:
        owner, attribute, target = _resolve(row.target)
        technique = row.technique
        if technique == "auto":
            technique = _choose(target, attribute, row.keep)
    if technique in ("function", "method"):
        target = _inside(target)
    reason = _core.hook_lay(technique, target, owner, attribute, _point(row))
    if reason:
        raise _Skip(reason)
    if isinstance(owner, property):
        _renew(row.target.rpartition(".")[0])
    if technique == "function" and sys.version_info[:2] == (3, 11):
        return row.target + " (only calls that come from C)"
    return row.target


def _resolve(path):
    """(owner, name, value) of "module:Class.attribute": the value as the owner's dictionary has it."""
    module_name, _, names = path.partition(":")
    owner = sys.modules.get(module_name)
    if owner is None:
        raise _Skip("module %s is not imported" % module_name)
    *outer, last = names.split(".")
    for name in outer:
        owner = _look_up(owner, name)
    return owner, last, _look_up(owner, last)


def _renew(path):
    """Sets an attribute of a class to what it is. 3.14 calls the function of a property that it has
    called before without a look at that function, until the class changes."""
    owner, name, value = _resolve(path)
    for place in owner.__mro__ if isinstance(owner, type) else ():
        if vars(place).get(name) is value:
            setattr(place, name, value)
            return


def _look_up(owner, name):
    for place in owner.__mro__ if isinstance(owner, type) else (owner,):
        found = getattr(place, "__dict__", {}).get(name, _look_up)
        if found is not _look_up:
            return found
    try:
        return getattr(owner, name)
    except AttributeError:
        raise _Skip("%r is not there" % name) from None


def _inside(target):
    return target.__func__ if isinstance(target, (staticmethod, classmethod)) else target


def _choose(target, attribute, keep):
    """The best technique of those that fit: a pointer in C before an object in its place."""
    function = _inside(target)
    kind = type(function).__name__
    if kind in ("method_descriptor", "classmethod_descriptor", "builtin_function_or_method"):
        return "method"
    if kind != "function" or (function.__code__.co_flags & _MAKES_A_FLOW and not keep):
        return "callable"
    version = sys.version_info[:2]
    if version == (3, 11):
        seen = attribute in _CALLED_FROM_C
    else:  # from 3.12 on a class calls a simple __init__ without its vectorcall
        seen = version < (3, 12) or attribute != "__init__"
    return "function" if seen or keep else "callable"


def _point(row):
    """The row as a dictionary for C (hook_point.c): the same words, with objects for their paths. Keys
    that are not used are left out."""
    point = _used(row, but=_OF_PYTHON)
    point.setdefault("stage", "")
    if isinstance(row.whose, str):
        point["whose"] = sys.intern(row.whose)
    if row.whose_module:
        point.pop("whose_module")
        if row.whose_module in sys.modules:
            point["whose_module"] = vars(sys.modules[row.whose_module])
    if row.query:
        owner, name, value = _resolve(row.query)
        point["query"] = value if not isinstance(owner, type) else getattr(owner, name)
    if row.count:
        point["count"] = count = _used(row.count)
        count["of"] = row.count.of
        for key in "variable", "iterators":
            if key in count:
                count[key] = sys.intern(count[key])
        if row.count.never_of:
            _put_class(count, "never_of", row.count.never_of)
    if row.samples:
        kind, shape_of = row.samples
        _put_class(point, "samples", kind, shape_of)
    return point


_OF_PYTHON = ("target", "technique", "keep", "versions")


def _used(row, but=()):
    return {key: value for key, value in row._asdict().items() if value and key not in but}


def _put_class(point, key, path, *more):
    point.pop(key, None)
    try:
        found = _resolve(path)[2]
    except _Skip:
        return  # the call is worth recording all the same
    point[key] = (found, *more) if more else found


def _note_version(adapter):
    """In the run: which framework is hooked."""
    name, version = _version_of_module(adapter)
    if isinstance(version, str):
        _core.hook_mark("framework", "%s %s" % (name, version))


def _check_version(adapter, row):
    if not row.versions:
        return
    found = _version_of(adapter)
    if found is None:
        raise _Skip("the version of the framework is not known")
    for condition in row.versions.split(","):
        operator = condition.rstrip("0123456789.")
        wanted = _numbers(condition[len(operator):])
        short = found[:len(wanted)]
        fits = {">=": short >= wanted, "<": short < wanted, "==": short == wanted,
                "!=": short != wanted}[operator]
        if not fits:
            raise _Skip("it is for version %s" % row.versions)


def _version_of_module(adapter):
    name = getattr(adapter, "FRAMEWORK", adapter.__name__.rpartition(".")[2])
    return name, getattr(sys.modules.get(name), "__version__", None)


def _version_of(adapter) -> Optional[tuple]:
    """From the module itself if it says, else from its distribution."""
    name, text = _version_of_module(adapter)
    if not isinstance(text, str):
        from importlib import metadata

        try:
            text = metadata.version(getattr(adapter, "DISTRIBUTION", name))
        except metadata.PackageNotFoundError:
            return None
    return _numbers(text)


def _numbers(text):
    """The numbers that a version starts with: "2.13.0+cpu" is (2, 13, 0)."""
    numbers = []
    for part in text.replace("+", ".").replace("-", ".").split("."):
        digits = part[:len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)
