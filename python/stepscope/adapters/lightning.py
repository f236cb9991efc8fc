"""Lightning 2: fit with its epochs, steps and validation; callbacks, loggers, and what modules, data
modules and strategies do themselves.

What happens in a step is recorded by adapters/torch.py. All of these are anybody's classes; a trainer knows
them when it calls the hook `setup`, and its modules when it has data prepared.
"""

import math
import sys

from .. import _core
from .._hooks import Count, Hook
from ._trainer import (CALLBACK, CLIP, EVALUATION, FIT, LOG, SCHEDULER, Loop, hook_methods,
                       method_row, size_of, tell_callbacks)
from .torch import SAMPLES

_SCOPES = {
    "on_train_batch_start": "batch_begin", "on_train_batch_end": "batch_end",
    "on_train_epoch_start": "epoch_begin", "on_train_epoch_end": "epoch_end",
    "on_train_start": "train_begin", "on_train_end": "train_end",
}
_TRAINS = (*_SCOPES, "setup", "teardown", "on_fit_start", "on_fit_end", "on_exception",
           "on_before_backward", "on_after_backward", "on_before_optimizer_step",
           "on_before_zero_grad")
_OF_STEP = ("on_train_batch_start", "on_train_batch_end", "on_before_backward", "on_after_backward",
            "on_before_optimizer_step", "on_before_zero_grad")
_EVALUATES = ("on_sanity_check_start", "on_sanity_check_end",
              *("on_%s_%s" % (what, when) for what in ("validation", "test", "predict")
                for when in ("start", "end", "epoch_start", "epoch_end", "batch_start",
                             "batch_end")))
_OF_STATE = ("on_save_checkpoint", "on_load_checkpoint", "state_dict", "load_state_dict")
_OF_MODULE = ("on_before_batch_transfer", "on_after_batch_transfer",
              "on_validation_model_eval", "on_validation_model_train",
              "on_validation_model_zero_grad")
_OF_DATA = ("on_before_batch_transfer", "on_after_batch_transfer", "on_exception")
_OF_LOGGER = ("log_metrics", "log_hyperparams", "log_graph", "save", "finalize",
              "after_save_checkpoint")

# What a class does itself instead of the trainer, and the stage of that.
_MODULE_WORK = {
    "configure_model": "setup", "configure_optimizers": "setup",
    "backward": "backward", "optimizer_step": "optimizer", "optimizer_zero_grad": "optimizer",
    "configure_gradient_clipping": "optimizer", "lr_scheduler_step": "optimizer",
}
_DATA_WORK = {
    **{name: "setup" for name in ("prepare_data", "train_dataloader", "val_dataloader",
                                  "test_dataloader", "predict_dataloader")},
    "transfer_batch_to_device": "transfer",
}
_STRATEGY_WORK = {
    "batch_to_device": "transfer", "backward": "backward", "optimizer_step": "optimizer",
    "training_step": "forward", "validation_step": "forward", "test_step": "forward",
    "predict_step": "forward",
}
_OF_ALL = {"configure_gradient_clipping": CLIP, "lr_scheduler_step": SCHEDULER}  # groups
_STRATEGY_SAVES = {"save_checkpoint": "checkpoint", "load_checkpoint": "checkpoint"}

_loop = Loop()


def _begin_fit(arguments):
    module = getattr(getattr(arguments[0], "trainer", None), "lightning_module", None)
    _loop.begin("fit", module, type(module).__name__, lambda: size_of(module))


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
        group = ("lightning state" if name in _OF_STATE
                 else "lightning callback of an evaluation" if name in _EVALUATES else CALLBACK)
        return method_row(name, stage, scope=_SCOPES.get(name, ""), outermost=group)
    return row


def _logger_row(name):
    return method_row(name, outermost=LOG)


def _work_row(stages, whose=""):
    """A call of the same work inside, as by super(), is part of it; that of another class is not if
    `whose` differs. What an optimizer step calls are other works of its stage."""
    def row(name):
        stage = stages[name]
        flags = () if stage != "forward" else ("train" if name == "training_step" else "eval",)
        group = "lightning %s%s" % (whose, name if stage == "optimizer" else stage)
        return method_row(name, stage, flags=flags, outermost=_OF_ALL.get(name, group))
    return row


def _hook_callbacks(package, trainer):
    callback = sys.modules[package + ".callbacks.callback"].Callback
    saver = sys.modules[package + ".callbacks.checkpoint"].Checkpoint
    logger = sys.modules[package + ".loggers.logger"].Logger
    tell_callbacks(trainer.callbacks, _OF_STEP)
    for one in trainer.callbacks:
        # What a checkpoint callback saves is cut out of the step; around it, it is only a name.
        row = _callback_row("user" if isinstance(one, saver) else "callback")
        hook_methods(one, callback, row, (*_TRAINS, *_EVALUATES), "function")
        hook_methods(one, callback, row, _OF_STATE)
    for one in trainer.loggers:
        hook_methods(one, logger, _logger_row, _OF_LOGGER)


def _hook_modules(package, trainer):
    """All of their hooks are called as f(*args)."""
    module = sys.modules[package + ".core.module"].LightningModule
    data = sys.modules[package + ".core.datamodule"].LightningDataModule
    work = {**_MODULE_WORK, **_DATA_WORK}
    of_state = "on_save_checkpoint", "on_load_checkpoint"
    hook_methods(trainer.lightning_module, module, _callback_row("callback"),
                 (*_TRAINS, *_EVALUATES, *_OF_MODULE, *of_state), "function")
    hook_methods(trainer.lightning_module, module, _work_row(work), work, "function")
    if trainer.datamodule is not None:
        work = {**_DATA_WORK, "setup": "setup", "teardown": "setup"}
        hook_methods(trainer.datamodule, data, _callback_row("callback"),
                     (*_OF_DATA, *_OF_STATE), "function")
        hook_methods(trainer.datamodule, data, _work_row(work), work, "function")


def _hook_strategy(package, trainer):
    """Not those of Lightning: what they do is the trainer's own work."""
    own = next((kind for kind in type(trainer.strategy).__mro__
                if kind.__module__.startswith(package + ".")), None)
    if own is None:
        return
    hook_methods(trainer.strategy, own, _work_row(_STRATEGY_WORK, "strategy, "), _STRATEGY_WORK,
                 "function")
    hook_methods(trainer.strategy, own, _work_row(_STRATEGY_SAVES, "strategy, "), _STRATEGY_SAVES)


def _find_classes(package):
    """Called with what the trainer has when it starts: its classes are hooked, once. A step calls parts
    of the module, not the module itself; layers have their paths from that all the same."""

    def has_all(arguments):
        _core.layers_know(arguments[0].lightning_module)
        _hook_callbacks(package, arguments[0])
        _hook_modules(package, arguments[0])
        _hook_strategy(package, arguments[0])

    return has_all


def _find_data(package):
    return lambda arguments: _hook_modules(package, arguments[0].trainer)


def rows(package):
    """The table for one of the two names of the package."""
    fit = package + ".loops.fit_loop:_FitLoop."
    trainer = package + ".trainer.trainer:Trainer."
    strategy = package + ".strategies.strategy:Strategy."
    module = package + ".core.module:LightningModule."
    return (
        Hook(package + ".trainer.call:_call_setup_hook", "", "setup",
             before=_find_classes(package)),
        Hook(package + ".trainer.connectors.data_connector:_DataConnector.prepare_data", "",
             "prepare_data", before=_find_data(package)),
        Hook(fit + "run", "", "fit", outermost=FIT, before=_begin_fit,
             after=_end_fit),
        Hook(fit + "on_run_start", "", "plan", before=_tell_plan),
        Hook(fit + "on_advance_start", "", "epoch", before=_begin_epoch),
        Hook(fit + "advance", "", "epoch", after=_end_epoch),
        # Any iterable may be a loader here, not only those of adapters/torch.py.
        Hook(package + ".loops.fetchers:_DataFetcher.__next__", "data", "DataLoader",
             technique="callable", outermost="data", count=Count(0, attribute="fetched"), samples=SAMPLES),

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
             technique="function", outermost=CLIP),
        Hook(module + "lr_scheduler_step", "optimizer", "lr_scheduler_step",
             technique="function", outermost=SCHEDULER),

        Hook(trainer + "_run_sanity_check", "eval", "sanity check", outermost=EVALUATION),
        Hook(package + ".loops.evaluation_loop:_EvaluationLoop.run", "eval", "evaluation",
             object="attribute", attribute="_stage", outermost=EVALUATION),
        Hook(package + ".loops.prediction_loop:_PredictionLoop.run", "infer", "predict",
             outermost=EVALUATION),
        Hook(trainer + "save_checkpoint", "checkpoint", "save_checkpoint",
             outermost="checkpoint"),
    )


HOOKS = rows("lightning.pytorch")
