"""TensorFlow: iterators of tf.data, tracing, XLA, checkpoints, and loops without fit.

Inside a compiled function the wait for data happens on TensorFlow's own threads. It tells its
metrics how long each GetNext took, through slots of libtensorflow_cc, and so it tells us: as
overlays, which the model takes from the call around them. Python has no part in that.

A compiled function runs its Python code only while it is traced. If an optimizer is applied
then, the function trains: the outermost one that was called, and each of its calls is a step. If
it may get more than one batch from an iterator by itself, those that it got are the steps.
Outside functions each optimizer step is one; with replicas, each strategy.run() in which they
apply one.
"""

import inspect
import threading
from math import ceil
from operator import methodcaller
from types import FunctionType

from .. import _core
from .._hooks import Count, Hook, _point, profiler_begins, profiler_ends
from ._fit import fit
from ._pipeline import of_dataset, tell
from ._tf_graph import iterators, writes
from ._trainer import model_name

_METRICS = "libtensorflow_cc.so:_ZN10tensorflow7metrics"
_GET_NEXT = _METRICS + "27RecordTFDataGetNextDurationEm"
_ASKS = _METRICS + ("19RecordTFDataFetchOpERKNSt7__cxx1112basic_stringIcSt11char_traitsIcE"
                    "SaIcEEE")
_ITERATOR = "tensorflow.python.data.ops.iterator_ops:OwnedIterator."
_DISTRIBUTED = "tensorflow.python.distribute.input_lib:DistributedIteratorBase."
_CHECKPOINT = "tensorflow.python.checkpoint.checkpoint:Checkpoint."
_FUNCTION = "tensorflow.python.eager.polymorphic_function.polymorphic_function:Function.__call__"
_TAPE = "tensorflow.python.eager.backprop:GradientTape."
_STRATEGIES = ("tensorflow.python.distribute.mirrored_strategy:MirroredStrategy.",
               "tensorflow.python.distribute.collective_all_reduce_strategy:"
               "CollectiveAllReduceStrategy.",
               "tensorflow.python.distribute.central_storage_strategy:CentralStorageStrategy.")
_SESSION = "tensorflow.python.profiler.internal._pywrap_profiler:ProfilerSession."
# The same functions: for scripts and Keras, and for Profile and tf.summary.trace_on.
_PROFILERS = "tensorflow._api.v2.profiler.experimental:", "tensorflow.python.profiler.profiler_v2:"

CALL = "tf function"  # the group of calls in which TensorFlow's own parts are not separated
_TRAINS = "_stepscope_trains"  # attribute of a function that does, one step a call
_TRAINS_MANY = "_stepscope_trains_many"  # of one that has it instead: as many as it gets batches
_ITERATORS = "_stepscope_iterators"  # and from how many iterators it gets them, or parts of them
_KNOWN = "_stepscope_known"  # how many of its tracings have been looked at


class _Thread(threading.local):
    function = None  # the outermost one that is being called
    batches = 0  # seen before that


_thread = _Thread()
_last = None  # the same, of any thread: replicas are traced in threads of their own
_sees_data = None


def sees_data():
    """Whether the wait for data inside compiled functions is seen."""
    global _sees_data
    if _sees_data is None:
        _sees_data = (_GET_NEXT, None) in _core.hook_statuses()
    return _sees_data


def _has_generated(arguments, result, failed):
    """AutoGraph has converted a function: its code, and that of functions inside it, is in a file that
    is unknown."""
    try:
        file = result.ag_module.__file__
        lines = {at.lineno: (origin.loc.lineno, origin.function_name)
                 for at, origin in result.ag_source_map.items() if at.filename == file}
        (original,) = {origin.loc.filename for origin in result.ag_source_map.values()}
        _core.generated_file(file, original, tuple(map(lines.get, range(1, max(lines) + 1))))
    except Exception:  # another version of TensorFlow
        pass


def _makes_iterator(arguments):
    """Of a loop of the script's own; fit says itself what it was given."""
    if len(arguments) > 1 and not fit.is_open():
        tell(lambda: of_dataset(arguments[1]))


def _enter(function):
    global _last
    _last = _thread.function = function
    _thread.batches = _core.hook_batches()


def _leave(function, failed):
    global _last
    _last = _thread.function = None
    if failed:
        return
    if hasattr(function, _TRAINS_MANY):
        got = _core.hook_batches() - _thread.batches
        _first_steps_of_many(range(max(1, ceil(got / getattr(function, _ITERATORS)))), function)
    elif hasattr(function, _TRAINS):
        _first_steps(range(1), function)


def _calls(arguments):
    function = arguments[0]
    if not hasattr(function, _KNOWN):  # it may have been traced before there were hooks
        _look_at(function)
    _enter(function)


def _called(arguments, result, failed):
    function = arguments[0]
    if getattr(function, _KNOWN, 0) != len(_tracings(function)):
        _look_at(function)
    _leave(function, failed)


class _Unknown:
    """Stands for a function that was given by keyword. A compiled one is known by its own call."""


def _runs(arguments):
    _enter(arguments[1] if len(arguments) > 1 else _Unknown())


def _ran(arguments, result, failed):
    _leave(_thread.function, failed)


def _say_trains(function):
    function = getattr(function, "__func__", function)  # a method has no attributes of its own
    name = getattr(function, "_name", None) or getattr(function, "__name__", "function")
    model = _model_of(function)
    setattr(function, _TRAINS, "%s of %s" % (name, model) if model else _name_for(function, str(name)))


_NAMES_MOST = 1000
_places = {}  # (name, where it is written): what it is called
_same = {}  # how many of a name


def _name_for(function, name):
    """A function of the same name that is written elsewhere in the script is another one."""
    code = getattr(inspect.unwrap(getattr(function, "python_function", function)), "__code__", None)
    place = (name, code.co_filename, code.co_firstlineno) if code else (name,)
    if place not in _places and len(_places) < _NAMES_MOST:
        number = _same[name] = _same.get(name, 0) + 1
        _places[place] = name if number == 1 else "%s#%d" % (name, number)
    return _places.get(place, name)


def _model_of(function):
    """The name of the model that a train function of Keras 2 was made by: all of them are called the
    same, and none has anything else to be known by."""
    inner = getattr(function, "python_function", None)
    if not isinstance(inner, FunctionType) or not str(inner.__module__).startswith("tf_keras."):
        return ""
    variables = dict(zip(inner.__code__.co_freevars, inner.__closure__ or ()))
    return model_name(variables["self"].cell_contents) if "self" in variables else ""


def applies(arguments):
    """An optimizer is applied: inside a function only while that is traced."""
    function = _thread.function or _last
    if function is not None:
        _say_trains(function)


def _tracings(function):
    return getattr(function, "_function_cache", ())  # asking the function itself would trace it


def _look_at(function):
    """Without an optimizer of Keras too a function trains if it writes to what can be trained."""
    traced = _tracings(function)
    setattr(function, _KNOWN, len(traced))
    try:
        if any(writes(concrete) for concrete in traced.values()):
            _say_trains(function)
        if hasattr(function, _TRAINS):
            _look_for_iterators(function, traced)
    except Exception:  # another version of TensorFlow
        pass


def _look_for_iterators(function, traced):
    found = max(map(iterators, traced.values()), default=0)
    if found:
        setattr(function, _ITERATORS, found)
        setattr(function, _TRAINS_MANY, getattr(function, _TRAINS))
        delattr(function, _TRAINS)


_ELSEWHERE = "called elsewhere: in another graph, device scope or strategy"


def _traces(arguments):
    """_create_concrete_function(type, context, graph, options): of a function that has been traced
    before, a mark says what is new about its arguments."""
    try:
        options = arguments[3]
        known = list(options.function_cache.values())
        is_elsewhere = any(one.function_type == arguments[0] for one in known)
        if len(known) > is_elsewhere:  # the first call of what makes variables is traced twice
            news = _ELSEWHERE if is_elsewhere else _news(
                known[-1].function_type.parameters, arguments[0].parameters)
            _core.mark("recompile", "%s%s: %s" % (
                options.name, _place(options.python_function), news))
    except Exception:  # another version of TensorFlow
        pass


def _place(function):
    code = getattr(inspect.unwrap(function), "__code__", None)
    return " (%s:%d)" % (code.co_filename, code.co_firstlineno) if code else ""


def _news(before, now):
    """The first argument that differs from that of the tracing before."""
    for name in now:
        old, new = (getattr(one.get(name), "type_constraint", None) for one in (before, now))
        if old != new:
            shapes = getattr(old, "shape", None), getattr(new, "shape", None)
            if None not in shapes and shapes[0] != shapes[1]:
                return "the shape of %s was %s, is %s" % (name, *shapes)
            return "%s was %s, is %s" % (name, old, new)
    return _ELSEWHERE


def _first_steps_by(attribute):
    """The first call of a function was begun before it was known that it trains: this says so after it,
    by the number of batches and the function."""
    row = Hook("", "compute", "traced step", object="attribute", attribute=attribute, whose=1,
               role="train_call", flags=("train",), count=Count(0))
    return _core.hook_wrap(_core.hook_wrapper(_point(row)), lambda batches, function: None)


_first_steps = _first_steps_by(_TRAINS)
_first_steps_of_many = _first_steps_by(_TRAINS_MANY)


def _rows_of_run(strategy):
    """Its replicas have threads of their own. All strategies inherit one function, which others, that
    run in the loop thread, call too: so it is hooked in the class and not by itself."""
    run = strategy + "run"
    unknown = {"flags": ("eval",), "before": _runs, "after": _ran, "never_in": CALL}
    return (
        Hook(run, "compute", "run", "callable", object="attribute", attribute=_TRAINS, whose=1,
             role="train_call", flags=("train",), outermost=CALL, never_in=CALL),
        Hook(run, "compute", "run", "callable", object="attribute", attribute="__name__",
             whose=1, outermost=CALL, **unknown),
        Hook(run, "compute", "run", "callable", **unknown),  # a partial object, or by keyword
    )


HOOKS = (
    Hook(_GET_NEXT, "data", "GetNext", "library",
         flags=("overlay",), tells="duration_us"),
    Hook(_METRICS + "24RecordTFDataBytesFetchedEl", "data", "batch", "library", tells="batch"),
    # The iterators of replicas get parts of batches ahead, and tell of those too.
    Hook(_ASKS, "data", "ask", "library", tells="asks"),
    Hook(_METRICS + "24UpdateXlaCompilationTimeEm", "compile", "XLA compile", "library",
         flags=("overlay",), tells="duration_us"),
    Hook(_ITERATOR + "__next__", "data", "next", of="tf.data", outermost="tf iterator",
         samples=("tensorflow.python.framework.ops:EagerTensor", methodcaller("_shape_tuple"))),
    Hook(_ITERATOR + "__init__", "setup", "make iterator", of="tf.data", outermost="tf setup",
         before=_makes_iterator),
    Hook("tensorflow.python.eager.polymorphic_function.tracing_compilation:"
         "_create_concrete_function", "compile", "trace", object="attribute", attribute="name",
         whose=3, outermost="tf trace", before=_traces),
    Hook("tensorflow.python.autograph.impl.api:_convert_actual", "", "convert",
         after=_has_generated),
    Hook(_DISTRIBUTED + "__next__", "data", "next", of="tf.distribute", outermost="tf iterator"),
    Hook(_FUNCTION, "compute", "call", object="attribute", attribute=_TRAINS, role="train_call",
         flags=("train",), outermost=CALL),
    Hook(_FUNCTION, "compute", "call", object="attribute", attribute=_TRAINS_MANY,
         role="train_call", flags=("train",), outermost=CALL, count=Count("batches", iterators=_ITERATORS)),
    Hook(_FUNCTION, "compute", "call", object="attribute", attribute="_name", flags=("eval",),
         outermost=CALL, before=_calls, after=_called),
    *(row for strategy in _STRATEGIES for row in _rows_of_run(strategy)),
    # Replicas are traced in threads of their own; the call is seen in the loop's.
    Hook("tensorflow.python.distribute.mirrored_run:_MirroredReplicaThread.run", "", "replica",
         outermost=CALL),
    Hook(_TAPE + "__enter__", "forward", "GradientTape", flags=("train",), part="begin",
         outermost=CALL),
    Hook(_TAPE + "__exit__", "forward", "GradientTape", part="end", outermost=CALL),
    Hook(_TAPE + "gradient", "backward", "gradient", of="GradientTape", outermost=CALL),
    Hook(_CHECKPOINT + "save", "checkpoint", "save", of="tf.train.Checkpoint",
         outermost="checkpoint"),
    Hook(_CHECKPOINT + "write", "checkpoint", "write", of="tf.train.Checkpoint",
         outermost="checkpoint"),
    Hook(_CHECKPOINT + "restore", "checkpoint", "restore", of="tf.train.Checkpoint",
         outermost="checkpoint"),
    Hook(_CHECKPOINT + "read", "checkpoint", "read", of="tf.train.Checkpoint",
         outermost="checkpoint"),
    Hook("tensorflow.python.checkpoint.checkpoint_management:CheckpointManager.save", "checkpoint",
         "save", of="tf.train.CheckpointManager", outermost="checkpoint"),
    # Below all of its forms; but a session that is not saved just goes.
    Hook(_SESSION + "start.__func__", "", "profiler", after=profiler_begins),
    Hook(_SESSION + "export_to_tb.__func__", "", "profiler", after=profiler_ends),
    Hook(_SESSION + "stop.__func__", "", "profiler", after=profiler_ends),
    *(Hook(place + "stop", "", "profiler", "callable", after=profiler_ends)
      for place in _PROFILERS),
)
