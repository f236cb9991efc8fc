"""TensorFlow: iterators of tf.data, tracing, XLA, checkpoints, and loops without fit.

Inside a compiled function the wait for data happens on TensorFlow's own threads. It tells its metrics
how long each GetNext took, through slots of libtensorflow_cc, and so it tells us: as overlays, which
the model takes from the call around them. Python has no part in that.

A compiled function runs its Python code only while it is traced. If an optimizer is applied then, the
function trains: the outermost one that was called, and each of its calls is a step. Outside of
functions each optimizer step is one.
"""

import threading

from .. import _core
from .._hooks import Hook, _point

_METRICS = "libtensorflow_cc.so:_ZN10tensorflow7metrics"
_GET_NEXT = _METRICS + "27RecordTFDataGetNextDurationEm"
_ITERATOR = "tensorflow.python.data.ops.iterator_ops:OwnedIterator."
_DISTRIBUTED = "tensorflow.python.distribute.input_lib:DistributedIteratorBase."
_CHECKPOINT = "tensorflow.python.checkpoint.checkpoint:Checkpoint."
_FUNCTION = "tensorflow.python.eager.polymorphic_function.polymorphic_function:Function.__call__"
_TAPE = "tensorflow.python.eager.backprop:GradientTape."

CALL = "tf function"  # the group of calls in which TensorFlow's own parts are not told apart
_TRAINS = "_stepscope_trains"  # attribute of a function that does


class _Thread(threading.local):
    function = None  # the outermost one that is being called
    batches = 0  # seen before that


_thread = _Thread()
_last = None  # the same, of any thread: replicas are traced in threads of their own


def sees_data():
    """Whether the wait for data inside compiled functions is seen."""
    return (_GET_NEXT, None) in _core.hook_statuses()


def _calls(arguments):
    global _last
    _last = _thread.function = arguments[0]
    _thread.batches = _core.hook_batches()


def _called(arguments, result, failed):
    global _last
    _last = _thread.function = None
    if not failed and getattr(arguments[0], _TRAINS, None):
        _first_steps(range(_core.hook_batches() - _thread.batches))


def applies(arguments):
    """An optimizer is applied: inside a function only while that is traced."""
    function = _thread.function or _last
    if function is not None:
        setattr(function, _TRAINS, str(getattr(function, "_name", "function")))


# The first call of a function was begun before it was known that it trains: this says so after it.
_first_steps = _core.hook_wrap(_core.hook_wrapper(_point(Hook(
    "", "compute", "traced step", role="train_call", flags=("train",), count="len(0)"))),
    lambda batches: None)

HOOKS = (
    Hook(_GET_NEXT, "data", "GetNext", "library",
         flags=("overlay",), ends="duration_us"),
    Hook(_METRICS + "24RecordTFDataBytesFetchedEl", "data", "batch", "library", ends="batch"),
    Hook(_METRICS + "24UpdateXlaCompilationTimeEm", "compile", "XLA compile", "library",
         flags=("producer",), ends="duration_us"),
    Hook(_ITERATOR + "__next__", "data", "next", of="tf.data", outermost="tf iterator"),
    Hook(_ITERATOR + "__init__", "setup", "make iterator", of="tf.data", outermost="tf setup"),
    Hook("tensorflow.python.eager.polymorphic_function.tracing_compilation:"
         "_create_concrete_function", "compile", "trace", object="attribute", attribute="name",
         whose="3", outermost="tf trace"),
    Hook(_DISTRIBUTED + "__next__", "data", "next", of="tf.distribute", outermost="tf iterator"),
    Hook(_FUNCTION, "compute", "call", object="attribute", attribute=_TRAINS, role="train_call",
         flags=("train",), outermost=CALL, count="batches(0)"),
    Hook(_FUNCTION, "compute", "call", object="attribute", attribute="_name", flags=("eval",),
         outermost=CALL, before=_calls, after=_called),
    # Replicas have threads of their own, in which they are traced; the call is seen in the loop's.
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
)
