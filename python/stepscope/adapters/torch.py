"""PyTorch, 2.0 and later: loops that a script writes itself, which are below every trainer too.

Nothing that Dynamo, fx, export or jit look at is replaced: those rows have `keep`, or change a pointer
in C. Time on an accelerator is what the host waits for it; its work is only queued.
"""

import sys

from .. import _core
from .._hooks import Count, Hook, install_rows
from . import _capture
from ._trainer import CLIP

# Imported by torch itself at its first use, or not at all; their rows are laid then.
LATER = ("torch._dynamo.convert_frame", "torch._functorch._aot_autograd.schemas",
         "torch.distributed.distributed_c10d")

_LOADER = "torch.utils.data.dataloader:"
_FETCH = "torch.utils.data._utils.fetch:"
_RECORD = "torch.autograd.profiler:record_function."
_SCALER = ("torch.amp.grad_scaler:GradScaler." if "torch.amp.grad_scaler" in sys.modules
           else "torch.cuda.amp.grad_scaler:GradScaler.")  # before 2.3

_WAITS = ("item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__")
_MOVES = ("to", "cpu", "cuda")
_COLLECTIVES = ("all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor",
                "gather", "scatter", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
                "all_to_all_single", "send", "recv", "barrier", "all_gather_object",
                "broadcast_object_list")
_GROUP = "torch._C._distributed_c10d:ProcessGroup.%s.__func__"
_OF_GROUP = ("broadcast", "allreduce", "allreduce_coalesced", "reduce", "allgather",
             "_allgather_base", "all_gather_single", "allgather_into_tensor_coalesced", "gather",
             "scatter", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_single",
             "reduce_scatter_tensor_coalesced", "alltoall_base", "alltoall", "send", "recv",
             "barrier")


# Laid once there is a device to wait for, or to move something to. On the host alone Adam reads a number
# of each parameter in every step, and trainers call `to` for each tensor, for nothing. Not while
# something is compiled, which moves tensors to a device without memory.
_OF_DEVICES = (
    *(Hook("torch:Tensor." + name, "sync", name, outermost="device") for name in _WAITS),
    *(Hook("torch:Tensor." + name, "transfer", name, moves="is_cpu", outermost="device")
      for name in _MOVES),
)


def _device_begins(kind):
    """A mark says that a device is in use that runs asynchronously: times of the host are
    then those in which work is queued."""
    global _OF_DEVICES
    _core.hook_mark("asynchronous device", kind)
    _core.layers_stop("the device runs asynchronously")
    _core.windows_drop("the device runs asynchronously")
    own = sys.modules["torch"]._C
    if kind == "cuda" and hasattr(own, "_cuda_getCurrentRawStream"):
        _core.device_events_start(own._cuda_getDevice, own._cuda_getCurrentRawStream)
    rows, _OF_DEVICES = _OF_DEVICES, ()
    install_rows(sys.modules[__name__], rows)


def _device_rows():
    torch = sys.modules["torch"]
    for kind in ("cuda", "xpu"):
        if hasattr(torch._C, "_%s_init" % kind):
            yield Hook("torch._C:_%s_init" % kind, "", kind,
                       after=lambda arguments, result, failed, kind=kind:
                       failed or _device_begins(kind))
    if hasattr(torch._C, "_rename_privateuse1_backend"):  # one that is plugged in later
        yield Hook("torch._C:_rename_privateuse1_backend", "", "device",
                   before=lambda arguments: _device_begins(arguments[0]))


def _look_for_devices():
    """Those that were in use before we came, and one that is plugged in from outside torch."""
    torch = sys.modules["torch"]
    for kind in ("cuda", "xpu"):
        if hasattr(torch, kind) and getattr(torch, kind).is_initialized():
            _device_begins(kind)
    plugged = getattr(torch._C, "_get_privateuse1_backend_name", lambda: "privateuseone")()
    if plugged != "privateuseone":
        _device_begins(plugged)


def _look_for_profiler():
    """One that was begun before we came."""
    own = getattr(sys.modules["torch"]._C, "_autograd", None)
    if getattr(own, "_profiler_enabled", bool)():
        _core.hook_condition("perturbed")
        _core.windows_yield(True)


def _has_group(arguments, result, failed):
    """A launcher may have told the ranks apart in other ways than by their environment."""
    if not failed:
        ranks = sys.modules["torch.distributed"]
        _core.hook_rank(ranks.get_rank(), ranks.get_world_size())


_SUMMED_UP = "gradients of all ranks (estimate)"


def _has_reducer(arguments, result, failed):
    """DistributedDataParallel sums gradients up in C++ while they are made. On the host that is a
    wait; on an accelerator the host does not wait for it."""
    ranks = sys.modules["torch.distributed"]
    if ranks.get_world_size() > 1 and ranks.get_backend() in ("gloo", "mpi"):
        _core.hook_waits(True)


def _compiles_again(arguments, result, failed):
    """get_and_maybe_log_recompilation_reasons(cache entries, frame, ...) gives their reasons."""
    if result:
        code = arguments[1].f_code
        reason = " ".join(result[0].strip().splitlines()[0].split())
        number, _, rest = reason.partition(": ")
        if number.replace("/", "").isdigit():  # of the compiled code that does not fit
            reason = rest
        _core.mark("recompile", "%s (%s:%d): %s" % (code.co_name, code.co_filename,
                                                    code.co_firstlineno, reason))


_modes = getattr(sys.modules["torch"]._C, "_len_torch_function_stack", lambda: 0)


def shape_of(tensor):
    """Not where a mode watches each call on a tensor."""
    return () if _modes() else tensor.shape


SAMPLES = ("torch:Tensor", shape_of)

# Names that stand for nothing in a path: what wraps a module in another one.
_WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")


def _paths(module):
    """What a module is called, and all modules in it by their paths, as their user knows them."""
    kind = type(module).__name__
    wraps = kind in ("DistributedDataParallel", "DataParallel")
    pairs = []
    for path, inner in module.named_modules():
        parts = [part for part in path.split(".") if part not in _WRAPPERS]
        if wraps and parts[:1] == ["module"]:
            parts = parts[1:]
        if not parts or not parts[0]:
            kind = type(inner).__name__
        pairs.append((inner, ".".join(parts)))
    return kind, pairs


def _may_sample():
    """None, or why layers are never looked at. A mark on a node has compiled autograd compile each such
    new step; it is switched on after the forward pass, so what it did is asked."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo and dynamo.counters.get("compiled_autograd"):
        return "autograd is compiled"
    config = sys.modules.get("torch._dynamo.config")
    if config and getattr(config, "compiled_autograd", False):
        return "autograd is compiled"
    return None


def _none_of(*names):
    """What says how many modes there are, as far as this version has it."""
    own = sys.modules["torch"]._C
    found = [getattr(own, name, None) for name in names]
    return [ask for ask in found if ask]


_asked = _none_of("_len_torch_function_stack", "_len_torch_dispatch_stack", "_get_tracing_state")
_transforms = getattr(getattr(sys.modules["torch"]._C, "_functorch", None),
                      "peek_interpreter_stack", lambda: None)


def _may_mark():
    """Not where a mode watches what is done with tensors."""
    return not any(ask() for ask in _asked) and _transforms() is None


def _scope(what, **more):
    """An optimizer tells torch's own profiler what it does, in a scope with such a name. A loader
    does so, too, in each of its calls."""
    return Hook(_RECORD + "__enter__", "optimizer", what, part="begin", object="attribute",
                attribute="name", prefix="Optimizer.%s#" % what, whose="self",
                whose_module="torch.optim.optimizer", never_in="data", **more)


_GET_LR = "torch.optim.lr_scheduler:_enable_get_lr_call."
if sys.version_info[:2] != (3, 11):
    _SCHEDULERS = (Hook("torch.optim.lr_scheduler:LRScheduler.step", "optimizer", "step",
                        object="instance", keep=True),)
else:  # which calls that one from Python; but the learning rate is found inside a `with`
    _SCHEDULERS = (
        Hook(_GET_LR + "__enter__", "optimizer", "step", part="begin", object="instance",
             whose="self", whose_module="torch.optim.lr_scheduler"),
        Hook(_GET_LR + "__exit__", "optimizer", "step", part="end", object="instance"),
    )

HOOKS = (
    # The argument of both is the number of the batch, by which a fetch in a worker is found.
    Hook(_LOADER + "_BaseDataLoaderIter.__next__", "data", "DataLoader", outermost="data",
         samples=SAMPLES, count=Count(0, attribute="_num_yielded",
                                      never_of=_LOADER + "_SingleProcessDataLoaderIter")),
    Hook(_LOADER + "DataLoader.__iter__", "setup", "DataLoader start", keep=True),
    Hook(_LOADER + "_MultiProcessingDataLoaderIter._shutdown_workers", "setup", "DataLoader stop"),
    # In the loop's own process a fetch is the wait for data and nothing else.
    Hook(_FETCH + "_MapDatasetFetcher.fetch", "produce", "fetch", flags=("producer",),
         outermost="data", count=Count("caller", variable="idx", plus=1)),
    Hook(_FETCH + "_IterableDatasetFetcher.fetch", "produce", "fetch", flags=("producer",),
         outermost="data", count=Count("caller", variable="idx", plus=1)),

    Hook("torch.nn.modules.module:Module.__call__", "forward", "forward", object="type",
         outermost="forward", query="torch:is_grad_enabled", device="events", layers="modules",
         keep=True),

    # Called by Tensor.backward, and by code that goes around it.
    Hook("torch:Tensor.backward", "backward", "backward", outermost="backward",
         device="events", layers="backward", waits=_SUMMED_UP),
    Hook("torch.autograd.variable:Variable._execution_engine.run_backward", "backward", "backward",
         outermost="backward", device="events", layers="backward", waits=_SUMMED_UP),

    _scope("step", role="update", outermost="update", device="events", layers="update"),
    _scope("zero_grad"),
    Hook(_RECORD + "__exit__", "optimizer", "step", part="end", object="instance",
         never_in="data", device="events"),
    # A step that the scaler skips, because of infinite gradients, is an update too.
    Hook(_SCALER + "step", "optimizer", "step (GradScaler)", role="update", object="instance",
         whose=1, outermost="update", device="events", layers="update"),
    Hook(_SCALER + "unscale_", "optimizer", "GradScaler.unscale_"),
    Hook(_SCALER + "update", "optimizer", "GradScaler.update"),
    # What is inside its own decorator is called from C.
    Hook("torch.nn.utils.clip_grad:clip_grad_norm_.__wrapped__", "optimizer", "clip_grad_norm_",
         technique="function", outermost=CLIP, keep=True),
    Hook("torch.nn.utils.clip_grad:clip_grad_value_.__wrapped__", "optimizer", "clip_grad_value_",
         technique="function", outermost=CLIP, keep=True),
    *_SCHEDULERS,

    *_device_rows(),

    *(Hook("torch.distributed.distributed_c10d:%s.__wrapped__" % name, "comm", name,
           technique="function", outermost="comm", keep=True) for name in _COLLECTIVES),
    # Code that goes around them, as FSDP does, and the wait for those that do not wait themselves.
    *(Hook(_GROUP % name, "comm", name.strip("_"), outermost="comm") for name in _OF_GROUP),
    Hook("torch.distributed.distributed_c10d:init_process_group.__wrapped__", "", "ranks",
         technique="function", keep=True, after=_has_group),
    Hook("torch._C._distributed_c10d:Reducer.__init__.__func__", "", "reducer",
         after=_has_reducer),
    Hook("torch._C._distributed_c10d:Work.wait.__func__", "comm", "wait", of="Work",
         outermost="comm"),

    Hook("torch:save", "checkpoint", "torch.save", outermost="checkpoint"),
    Hook("torch:load", "checkpoint", "torch.load", outermost="checkpoint"),

    # Called for each frame that there is no code for yet, to compile it or to leave it alone.
    Hook("torch._dynamo.convert_frame:CatchErrorsWrapper.__call__", "compile", "torch.compile",
         outermost="device", keep=True),
    # Inductor compiles a backward pass when it is needed first, inside `backward`.
    Hook("torch._functorch._aot_autograd.schemas:SerializableAOTDispatchCompiler.__call__",
         "compile", "Inductor", outermost="device", keep=True),
    Hook("torch._dynamo.convert_frame:get_and_maybe_log_recompilation_reasons", "", "recompile",
         after=_compiles_again),

    # Below torch.profiler and its older forms, under whatever names a script has those.
    Hook("torch.autograd:_prepare_profiler", "", "profiler", before=_capture.yields),
    *(Hook("torch.autograd:_enable_profiler" + kind, "", "profiler", before=_capture.yields,
           after=_capture.begins) for kind in ("", "_legacy")),
    *(Hook("torch.autograd:_disable_profiler" + kind, "", "profiler", after=_capture.ends)
      for kind in ("", "_legacy")),
)

if _tensor := getattr(sys.modules["torch"], "Tensor", None):
    _core.layers_start(_tensor, _paths, _may_sample, _may_mark)
_capture.start_torch()
_look_for_devices()
_look_for_profiler()
