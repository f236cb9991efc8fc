"""Lightning 2: fit with its epochs, steps and validation; callbacks, loggers and the hooks of modules.

What happens in a step is told by adapters/torch.py. Callbacks, loggers and modules are anybody's
classes; a trainer knows all of them when it calls the hook `setup`.
"""

import math
import sys

from .. import _core
from .._hooks import Hook
from ._trainer import Loop, hook_methods, method_row
from .torch import SAMPLES

_SCOPES = {
    "on_train_batch_start": "batch_begin", "on_train_batch_end": "batch_end",
    "on_train_epoch_start": "epoch_begin", "on_train_epoch_end": "epoch_end",
    "on_train_start": "train_begin", "on_train_end": "train_end",
}
_TRAINS = (*_SCOPES, "setup", "teardown", "on_fit_start", "on_fit_end", "on_exception",
           "on_before_backward", "on_after_backward", "on_before_optimizer_step",
           "on_before_zero_grad")
_EVALUATES = ("on_sanity_check_start", "on_sanity_check_end",
              *("on_%s_%s" % (what, when) for what in ("validation", "test", "predict")
                for when in ("start", "end", "epoch_start", "epoch_end", "batch_start",
                             "batch_end")))
_OF_STATE = ("on_save_checkpoint", "on_load_checkpoint", "state_dict", "load_state_dict")
_OF_MODULE = ("on_before_batch_transfer", "on_after_batch_transfer",
              "on_validation_model_eval", "on_validation_model_train",
              "on_validation_model_zero_grad")
_OF_LOGGER = ("log_metrics", "log_hyperparams", "log_graph", "save", "finalize",
              "after_save_checkpoint")

_loop = Loop()


def _begin_fit(arguments):
    _loop.begin("fit")


def _end_fit(arguments, result, failed):
    _loop.end(failed)


def _tell_plan(arguments):
    """The data loader is there, and nothing has been trained yet."""
    fit = arguments[0]
    trainer = fit.trainer
    batches, epochs = fit.max_batches, fit.max_epochs
    per_epoch = (math.ceil(batches / trainer.accumulate_grad_batches)
                 if isinstance(batches, int) else 0)
    epochs = epochs if epochs and epochs > 0 else 0
    steps = per_epoch * epochs
    if fit.max_steps > 0:
        steps = min(steps, fit.max_steps) if steps else fit.max_steps
    loaders = fit._combined_loader.flattened
    size = getattr(loaders[0], "batch_size", None) if len(loaders) == 1 else None
    _core.plan(steps=steps, epochs=epochs, steps_per_epoch=per_epoch, batch=size or 0)


def _begin_epoch(arguments):
    _loop.begin_epoch(arguments[0].epoch_progress.current.processed)


def _end_epoch(arguments, result, failed):
    _loop.end_epoch()


def _callback_row(stage):
    def row(name):
        # A call of the same kind inside, as by super(), is part of it.
        group = ("state" if name in _OF_STATE else "evaluation" if name in _EVALUATES
                 else "training")
        return method_row(name, stage, scope=_SCOPES.get(name, ""),
                          outermost="lightning callback, " + group)
    return row


def _logger_row(name):
    return method_row(name, outermost="lightning logger")


def _find_classes(package):
    """Called with what the trainer has when it starts: its classes are hooked, once."""

    def has_all(arguments):
        trainer = arguments[0]
        callback = sys.modules[package + ".callbacks.callback"].Callback
        saver = sys.modules[package + ".callbacks.checkpoint"].Checkpoint
        logger = sys.modules[package + ".loggers.logger"].Logger
        module = sys.modules[package + ".core.module"].LightningModule
        for one in trainer.callbacks:
            # What a checkpoint callback saves is cut out of the step; around it, it is only a name.
            row = _callback_row("user" if isinstance(one, saver) else "callback")
            hook_methods(one, callback, row, (*_TRAINS, *_EVALUATES), "function")
            hook_methods(one, callback, row, _OF_STATE)
        for one in trainer.loggers:
            hook_methods(one, logger, _logger_row, _OF_LOGGER)
        hook_methods(trainer.lightning_module, module, _callback_row("callback"),
                     (*_TRAINS, *_EVALUATES, *_OF_MODULE), "function")

    return has_all


def rows(package):
    """The table for one of the two names of the package."""
    fit = package + ".loops.fit_loop:_FitLoop."
    trainer = package + ".trainer.trainer:Trainer."
    strategy = package + ".strategies.strategy:Strategy."
    module = package + ".core.module:LightningModule."
    evaluation = "lightning evaluation"
    return (
        Hook(package + ".trainer.call:_call_setup_hook", "", "setup",
             before=_find_classes(package)),
        Hook(fit + "run", "", "fit", outermost="lightning fit", before=_begin_fit,
             after=_end_fit),
        Hook(fit + "on_run_start", "", "plan", before=_tell_plan),
        Hook(fit + "on_advance_start", "", "epoch", before=_begin_epoch),
        Hook(fit + "advance", "", "epoch", after=_end_epoch),
        # Any iterable may be a loader here, not only those of adapters/torch.py.
        Hook(package + ".loops.fetchers:_DataFetcher.__next__", "data", "DataLoader",
             technique="callable", outermost="data", count="0.fetched", samples=SAMPLES),

        # Called as f(*args), which no version of Python inlines.
        Hook(strategy + "training_step", "forward", "training_step", technique="function",
             flags=("train",)),
        Hook(strategy + "validation_step", "forward", "validation_step", technique="function",
             flags=("eval",)),
        Hook(strategy + "test_step", "forward", "test_step", technique="function",
             flags=("eval",)),
        Hook(strategy + "predict_step", "forward", "predict_step", technique="function",
             flags=("eval",)),
        Hook(module + "configure_gradient_clipping", "optimizer", "configure_gradient_clipping",
             technique="function"),
        Hook(module + "lr_scheduler_step", "optimizer", "lr_scheduler_step",
             technique="function"),

        Hook(trainer + "_run_sanity_check", "eval", "sanity check", outermost=evaluation),
        Hook(package + ".loops.evaluation_loop:_EvaluationLoop.run", "eval", "evaluation",
             object="attribute", attribute="_stage", outermost=evaluation),
        Hook(package + ".loops.prediction_loop:_PredictionLoop.run", "infer", "predict",
             outermost=evaluation),
        Hook(trainer + "save_checkpoint", "checkpoint", "save_checkpoint",
             outermost="checkpoint"),
    )


HOOKS = rows("lightning.pytorch")
