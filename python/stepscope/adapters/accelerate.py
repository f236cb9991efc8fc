"""Accelerate: what an Accelerator does around the optimizers and models of PyTorch."""

from .._hooks import Hook
from ._trainer import CLIP, SCHEDULER

_ACCELERATOR = "accelerate.accelerator:Accelerator."

HOOKS = (
    Hook(_ACCELERATOR + "prepare", "setup", "Accelerator.prepare"),
    Hook(_ACCELERATOR + "backward", "backward", "backward", outermost="backward",
         device="events", layers="backward"),
    Hook(_ACCELERATOR + "clip_grad_norm_", "optimizer", "clip_grad_norm_", outermost=CLIP),
    Hook(_ACCELERATOR + "clip_grad_value_", "optimizer", "clip_grad_value_", outermost=CLIP),
    Hook(_ACCELERATOR + "save_state", "checkpoint", "save_state", outermost="checkpoint"),
    Hook(_ACCELERATOR + "save_model", "checkpoint", "save_model", outermost="checkpoint"),
    Hook(_ACCELERATOR + "load_state", "checkpoint", "load_state", outermost="checkpoint"),
    Hook("accelerate.scheduler:AcceleratedScheduler.step", "optimizer", "step",
         of="AcceleratedScheduler", outermost=SCHEDULER),
)
