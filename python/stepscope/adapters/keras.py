"""Keras 3: fit with its epochs, train calls and callbacks; evaluate, predict, saves.

The functions that fit calls for each batch are made by the model. So some rows only tell this
module of a call, and it wraps what has just been made.
"""

import sys
import weakref

from .. import _core
from .._hooks import Count, Hook, _point
from ._fit import fit, made_batches, rows, wrap
from ._trainer import model_name
from .tensorflow import CALL, applies, sees_data

_TRAINERS = {
    "tensorflow": "keras.src.backend.tensorflow.trainer:TensorFlowTrainer.",
    "torch": "keras.src.backend.torch.trainer:TorchTrainer.",
    "jax": "keras.src.backend.jax.trainer:JAXTrainer.",
}
_EPOCHS = "keras.src.trainers.epoch_iterator:EpochIterator."
_TF_EPOCHS = "keras.src.backend.tensorflow.trainer:TFEpochIterator."
_ADAPTERS = "keras.src.trainers.data_adapters."
# With JAX the train function is given an iterator, made by one of these: each resume is a wait.
_JAX_ITERATORS = (
    _ADAPTERS + "data_adapter_utils:get_jax_iterator",
    _ADAPTERS + "array_data_adapter:ArrayDataAdapter._get_iterator",
    _ADAPTERS + "tf_dataset_adapter:TFDatasetAdapter.get_jax_iterator",
    _ADAPTERS + "torch_data_loader_adapter:TorchDataLoaderAdapter.get_numpy_iterator",
)

# The same name as in adapters/tensorflow.py: a wait that got nothing.
_out_of_batches = _core.span("GetNext", "data")
# A failed overlay: batches were got inside a compiled function, and the wait for them was not seen.
_not_seen = _core.hook_wrap(_core.hook_wrapper(_point(Hook(
    "", "data", "GetNext", flags=("overlay", "failed")))), lambda: None)


def _wants_iterator(arguments):
    """Keras makes an iterator when an epoch begins, and one more when its batches have run out:
    with that the last step is over, and what follows is set-up."""
    if arguments[0] is not fit.batches or not fit.in_epoch():
        return
    fit.made += 1
    if fit.made == 1:
        if not sees_data():
            _not_seen()
    elif sees_data() and _core.hook_batches() > fit.got:
        _out_of_batches.__enter__()
        _out_of_batches.__exit__(StopIteration)
    else:
        _not_seen()
        fit.end_epoch()


_names = weakref.WeakKeyDictionary()  # of train functions: the models that they are known by

def _made_train(arguments, result, failed):
    """Without fit, calls of several models may be one step, or several loops: there a function is known
    by its model, whether it was made for that or fit has used it. This runs for each batch then."""
    model = arguments[0]
    function = model.train_function
    of = "" if fit.is_open() else model_name(model)
    if isinstance(function, _core.Hooked):
        if _names.get(function) == of:
            return
        function = function.__wrapped__
    steps = getattr(model, "steps_per_execution", 1)
    count = {"count": Count("batches", most=steps)} if steps > 1 else {}
    made = model.train_function = wrap(
        function, ("train", steps, of), stage="compute", name="train_function",
        of=of, role="train_call", flags=("train",), outermost=_group, **count)
    if made is not None:
        _names[made] = of


def _made_test(arguments, result, failed):
    model = arguments[0]
    model.test_function = wrap(
        model.test_function, "test", stage="eval", name="test_function", outermost=_group)


def _made_predict(arguments, result, failed):
    model = arguments[0]
    model.predict_function = wrap(
        model.predict_function, "predict", stage="infer", name="predict_function",
        outermost=_group)


def _rows_of_functions(trainer):
    return (
        Hook(trainer + "make_train_function", "", "make", after=_made_train),
        Hook(trainer + "make_test_function", "", "make", after=_made_test),
        Hook(trainer + "make_predict_function", "", "make", after=_made_predict),
        Hook("keras.src.trainers.trainer:Trainer._symbolic_build", "setup", "build", of="Model",
             outermost="keras build"),
    )


def _rows_of_data(backend):
    """With PyTorch the batches are got by next(), with the others inside the train function."""
    if backend == "tensorflow":
        return (
            Hook(_TF_EPOCHS + "__init__", "setup", "make dataset", of="keras", after=made_batches),
            Hook(_TF_EPOCHS + "_get_iterator", "", "make iterator", before=_wants_iterator),
        )
    made = Hook(_EPOCHS + "__init__", "setup", "make dataset", of="keras", after=made_batches)
    if backend == "jax":
        # Callbacks run in threads of their own, as soon as the batch is done; an epoch ends with a wait for
        # them, and so for all of its batches.
        return (made, *(Hook(maker, "data", "next", of="keras") for maker in _JAX_ITERATORS),
                Hook("keras.src.callbacks.callback_list:CallbackList._flush_futures", "sync",
                     "callbacks", of="keras", outermost="keras flush"))
    return made, Hook(_EPOCHS + "__next__", "data", "next", of="keras", outermost="keras next")


def _rows_of_optimizer(backend):
    """For loops without fit. With JAX an update is a part of a compiled function."""
    optimizer = "keras.src.optimizers.base_optimizer:BaseOptimizer."
    if backend == "jax":
        return ()
    return (
        Hook(optimizer + "apply", "optimizer", "apply", role="update", object="instance",
             outermost=CALL),
        Hook(optimizer + "_backend_apply_gradients", "", "applies", before=applies),
    )


def _rows(backend):
    trainer = _TRAINERS[backend]
    places = "keras.src.utils.python_utils", trainer.partition(":")[0]
    return rows(trainer, "keras.src.callbacks.callback_list:CallbackList.",
                "keras.src.models.model:Model.",
                [place + ":pythonify_logs" for place in places]) + (
        _rows_of_functions(trainer) + _rows_of_data(backend) + _rows_of_optimizer(backend))


def _backend():
    config = sys.modules.get("keras.src.backend.config")
    return config.backend() if config else "tensorflow"


# In eager PyTorch forward, backward and optimizer are separated, elsewhere they are not.
_group = "keras function" if _backend() == "torch" else CALL
HOOKS = _rows(_backend()) if _backend() in _TRAINERS else ()
if _backend() == "jax":
    _core.hook_mark("asynchronous calls", "Keras on JAX")
