"""Hugging Face Trainer: its loop, plan and epochs; callbacks by name, evaluation, saves.

What happens in a step is recorded by adapters/torch.py, and by adapters/accelerate.py. Callbacks and
trainers are anybody's classes.
"""

import sys

from .. import _core
from .._hooks import Hook
from ._trainer import (CALLBACK, EVALUATION, FIT, LOG, Loop, hook_method, hook_methods, method_row,
                       size_of, tell_callbacks)

# `import transformers` has none of it: it imports parts when they are asked for.
LATER = ("transformers.trainer", "transformers.trainer_callback")

_TRAINER = "transformers.trainer:Trainer."
_HANDLER = "transformers.trainer_callback:CallbackHandler."
_SCOPES = {
    "on_step_begin": "batch_begin", "on_step_end": "batch_end",
    "on_epoch_begin": "epoch_begin", "on_epoch_end": "epoch_end",
    "on_train_begin": "train_begin", "on_train_end": "train_end",
}
_EVENTS = (*_SCOPES, "on_init_end", "on_substep_end", "on_pre_optimizer_step",
           "on_optimizer_step", "on_evaluate", "on_predict", "on_save", "on_log",
           "on_prediction_step", "on_push_begin")

_OF_STEP = ("on_step_begin", "on_step_end", "on_substep_end", "on_pre_optimizer_step",
            "on_optimizer_step")

# Methods of the trainer, which a class of the user's may have instead. Those that only give names to
# what is inside them are `user`: batches, losses and callbacks in them count as they are.
_METHODS = {
    "training_step": {"stage": "user"},
    "get_batch_samples": {"stage": "user"},
    "log": {"stage": "user", "outermost": LOG},
    "compute_loss": {"stage": "forward", "query": "torch:is_grad_enabled"},
    "evaluate": {"stage": "eval", "outermost": EVALUATION},
    "predict": {"stage": "infer", "outermost": EVALUATION},
    "_save_checkpoint": {"stage": "checkpoint", "outermost": "checkpoint"},
    "save_model": {"stage": "checkpoint", "outermost": "checkpoint"},
    "_load_from_checkpoint": {"stage": "checkpoint", "outermost": "checkpoint"},
    "_load_best_model": {"stage": "checkpoint", "outermost": "checkpoint"},
}

# Of the trainer itself these have next to nothing of their own but the model and its gradients, in each
# step.
_OF_OTHERS = ("training_step", "compute_loss")

_loop = Loop()


def _method_row(name):
    fields = dict(_METHODS[name])
    fields.setdefault("outermost", "transformers " + name)  # super() is part of it
    return method_row(name, fields.pop("stage"), **fields)


def _event_row(name):
    return method_row(name, scope=_SCOPES.get(name, ""), outermost=CALLBACK)


def _begin_train(arguments):
    trainer, base = arguments[0], sys.modules["transformers.trainer"].Trainer
    hook_methods(trainer, base, _method_row, _METHODS)
    if _makes_loss(trainer):  # from now on for all of them: a name more in those of another kind
        hook_method(base, "compute_loss", _method_row("compute_loss"))
    model = getattr(trainer, "model", None)
    _loop.begin("train", model, type(model).__name__, lambda: size_of(model))


def _makes_loss(trainer):
    """The loss is not that of the model, but one that is computed from what it gives."""
    return any(getattr(trainer, name, None) is not None
               for name in ("label_smoother", "compute_loss_func"))


def _end_train(arguments, result, failed):
    _loop.end(failed)


def _has_callbacks(handler):
    base = sys.modules["transformers.trainer_callback"].TrainerCallback
    tell_callbacks(handler.callbacks, _OF_STEP)
    for callback in handler.callbacks:
        hook_methods(callback, base, _event_row, _EVENTS, "function")


def _added(arguments, result, failed):
    _has_callbacks(arguments[0])


def _tell_plan(arguments):
    """on_train_begin(args, state, control)"""
    _has_callbacks(arguments[0])
    if _loop.is_open():
        args, state = arguments[1:3]
        epochs, steps = state.num_train_epochs, state.max_steps
        batch = args.per_device_train_batch_size * args.gradient_accumulation_steps
        _core.plan(steps=steps, epochs=epochs, batch=batch,
                   steps_per_epoch=steps // epochs if epochs and steps % epochs == 0 else 0)


def _begin_epoch(arguments):
    _loop.begin_epoch(int(arguments[2].epoch or 0))


def _end_epoch(arguments):
    _loop.end_epoch()


HOOKS = (
    Hook(_TRAINER + "_inner_training_loop", "", "train", outermost=FIT,
         before=_begin_train, after=_end_train),
    *(_method_row(name)._replace(target=_TRAINER + name) for name in _METHODS
      if name not in _OF_OTHERS),
    Hook(_HANDLER + "add_callback", "", "callback", after=_added),
    Hook(_HANDLER + "on_train_begin", "", "plan", before=_tell_plan),
    Hook(_HANDLER + "on_epoch_begin", "", "epoch", before=_begin_epoch),
    Hook(_HANDLER + "on_epoch_end", "", "epoch", before=_end_epoch),
)
