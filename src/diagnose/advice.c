#include "diagnose/advice.h"

#include <string.h>

static const struct advice {
    const char *id;
    const char *all;                   /* where the framework makes no difference */
    const char *each[FRAMEWORK_COUNT]; /* else: all of them */
} table[] = {
    {.id = "input-bound",
     .each =
         {"prepare the next batch in another thread or process while this one trains",
          "give the DataLoader more workers: num_workers=4, persistent_workers=True, "
          "prefetch_factor=4",
          "end the input with .map(f, num_parallel_calls=tf.data.AUTOTUNE)"
          ".prefetch(tf.data.AUTOTUNE), or give a PyDataset workers=4",
          "fetch the next batch in another thread while this one trains (a grain DataLoader "
          "with worker_count=4, tf.data with .prefetch(2))"}},
    {.id = "callback-bound",
     .each =
         {"call it every 50 steps instead of in each, or do its work in another thread",
          "let it return at once unless step % 50 == 0, or move its work to the end of the "
          "epoch; for loggers Trainer(log_every_n_steps=50) of Lightning, "
          "TrainingArguments(logging_steps=50) of Hugging Face",
          "let it return at once unless batch % 50 == 0, or move its work to on_epoch_end; "
          "TensorBoard(update_freq=\"epoch\"); compile(steps_per_execution=50) calls it once "
          "in 50 batches",
          "call it every 50 steps (if step % 50 == 0), with results of the step before, for "
          "which nobody has to wait"}},
    {.id = "user-code",
     .each =
         {"take that line out of the loop, do it every 50 steps, or in another thread",
          "move it into the Dataset, where DataLoader(num_workers=4) does it beside the "
          "loop; or do it every 50 steps",
          "move it into the dataset with .map(f, num_parallel_calls=tf.data.AUTOTUNE), which "
          "does it beside the loop; or do it every 50 steps",
          "move it into the function that jax.jit compiles, into the input, or do it every "
          "50 steps"}},
    {.id = "overhead-bound",
     .each =
         {"larger batches",
          "larger batches: DataLoader(batch_size=); torch.compile(model, "
          "mode=\"reduce-overhead\"); an optimizer with fused=True",
          "larger batches: fit(batch_size=) or dataset.batch(); "
          "compile(steps_per_execution=32, jit_compile=True)",
          "larger batches, or several steps in one call: jax.lax.scan inside the function "
          "that jax.jit compiles, with donate_argnums for its state"}},
    {.id = "instrument-more",
     .each =
         {"name its parts: ss_begin() and ss_end() with a stage in C, with "
          "stepscope.stage(\"data\") in Python",
          "name its parts: with stepscope.stage(\"data\"): or with stepscope.span(\"name\"): "
          "in the loop, @stepscope.timed on functions",
          "name its parts: with stepscope.stage(\"data\"): or with stepscope.span(\"name\"): "
          "in the loop and in callbacks; inside a tf.function only its tracing is seen",
          "name its parts: with stepscope.stage(\"data\"): or with stepscope.span(\"name\"): "
          "around the calls; inside jax.jit only its tracing is seen"}},
    {.id = "transfer-bound",
     .each =
         {"copy the next batch while this one trains, and as small types",
          "DataLoader(pin_memory=True) and tensor.to(device, non_blocking=True); copy bytes "
          "and make them floats on the device",
          "end the input with .prefetch(tf.data.AUTOTUNE), or with "
          ".apply(tf.data.experimental.prefetch_to_device(\"/GPU:0\")); make bytes floats in "
          "the model (a Rescaling layer)",
          "jax.device_put() the next batch before the result of this one is read; make bytes "
          "floats inside the function that jax.jit compiles"}},
    {.id = "sync-bound",
     .each =
         {"read results every 50 steps instead of in each",
          "read losses every 50 steps: loss.item(), float(loss), loss.cpu() and print(loss) "
          "wait; until then add them up with total += loss.detach()",
          "read losses every 50 steps: float(loss), loss.numpy() and print(loss) wait; in "
          "fit() compile(steps_per_execution=50) reads them once in 50 batches",
          "read losses every 50 steps, or that of the step before: float(loss), "
          "numpy.asarray(loss) and jax.block_until_ready(loss) wait"}},
    {.id = "comm-bound",
     .each =
         {"larger batches for each process, or an exchange once in several batches",
          "larger batches for each process; gradients added up over several batches (with "
          "model.no_sync(): for all but the last); half the bytes: "
          "model.register_comm_hook(None, bf16_compress_hook)",
          "a larger batch for each replica; gradients added up over several batches: "
          "optimizer(gradient_accumulation_steps=4)",
          "a larger batch for each device; gradients added up over several batches: "
          "optax.MultiSteps(optimizer, every_k_schedule=4)"}},
    {.id = "straggler",
     .all =
         "see what it has that the others have not: more or longer samples, a slower or "
         "shared core, logging and saving in that process alone"},
    {.id = "retrace-storm",
     .each =
         {"keep shapes and types of the arguments the same, and make the function once",
          "keep shapes the same (DataLoader(drop_last=True)) or torch.compile(model, "
          "dynamic=True); call torch.compile once, outside of the loop; "
          "TORCH_LOGS=recompiles says what changed",
          "pass tensors instead of Python numbers, keep shapes the same (batch(n, "
          "drop_remainder=True)) or use tf.function(reduce_retracing=True); make the "
          "tf.function once, outside of the loop",
          "keep shapes and types the same (pad the last batch), static_argnums only for what "
          "never changes, jax.jit once, outside of the loop; JAX_LOG_COMPILES=1 says what is "
          "compiled"}},
    {.id = "compile-heavy",
     .each =
         {"keep compiled code between runs, or train longer in one run",
          "keep compiled code between runs: TORCHINDUCTOR_CACHE_DIR=folder, and "
          "TORCHINDUCTOR_FX_GRAPH_CACHE=1; or compile only the part that repeats: "
          "block.compile()",
          "short runs are better off with compile(jit_compile=False); build the model and "
          "its tf.functions once in a process, not for each trial",
          "keep compiled code between runs: "
          "jax.config.update(\"jax_compilation_cache_dir\", folder)"}},
    {.id = "eval-heavy",
     .each =
         {"evaluate less often, on fewer batches, or with larger ones",
          "evaluate less often or less: Trainer(check_val_every_n_epoch=5, "
          "limit_val_batches=50) of Lightning, TrainingArguments(eval_steps=1000) of Hugging "
          "Face; torch.inference_mode() and larger batches",
          "fit(validation_freq=5), validation_steps=50, or a larger validation_batch_size",
          "evaluate every 5 epochs, on fewer or larger batches, in a function that jax.jit "
          "compiles"}},
    {.id = "checkpoint-heavy",
     .each =
         {"save less often, less, or in another thread",
          "save less often or less: ModelCheckpoint(every_n_epochs=5, "
          "save_weights_only=True) of Lightning, TrainingArguments(save_steps=1000) of "
          "Hugging Face; or beside the loop: torch.distributed.checkpoint.async_save()",
          "save less often or less: ModelCheckpoint(save_weights_only=True, "
          "save_best_only=True), save_freq= a number of batches",
          "save less often, or beside the loop: ocp.AsyncCheckpointer of orbax"}},
    {.id = "setup-heavy",
     .each =
         {"make the iterator once and keep it",
          "DataLoader(persistent_workers=True), and no next(iter(loader)) inside of the loop",
          "one long dataset: dataset.repeat() and fit(steps_per_epoch=N), so that iterators "
          "are made once; in a loop of your own make iter(dataset) outside of it",
          "make the iterator once and keep it: iter() outside of the loop"}},
    {.id = "gc-pauses",
     .all =
         "gc.freeze() after the model is built, and gc.disable() with gc.collect() between "
         "epochs"},
    {.id = "page-faults",
     .each =
         {"keep the data in memory, or read it ahead in few large pieces",
          "keep the data in memory, or let DataLoader(num_workers=4) read it ahead; numpy: "
          "np.load(file) instead of np.load(file, mmap_mode=\"r\")",
          "dataset.cache() if it fits into memory, else .prefetch(tf.data.AUTOTUNE)",
          "keep the data in memory, or read it ahead in another thread; numpy: np.load(file) "
          "instead of np.load(file, mmap_mode=\"r\")"}},
    {.id = "fresh-memory",
     .each =
         {"use buffers again instead of allocating them in each step; glibc keeps what is "
          "freed with MALLOC_TRIM_THRESHOLD_=-1 and MALLOC_MMAP_MAX_=0 in the environment",
          "use tensors again (out=, operations in place); glibc keeps what is freed with "
          "MALLOC_TRIM_THRESHOLD_=-1 and MALLOC_MMAP_MAX_=0 in the environment",
          "glibc keeps what is freed with MALLOC_TRIM_THRESHOLD_=-1 and MALLOC_MMAP_MAX_=0 "
          "in the environment; numpy in the input: out= and operations in place",
          "use arrays again (out=, donated buffers); glibc keeps what is freed with "
          "MALLOC_TRIM_THRESHOLD_=-1 and MALLOC_MMAP_MAX_=0 in the environment"}},
    {.id = "swap",
     .each =
         {"use less memory or a machine with more: smaller batches, smaller caches",
          "use less memory or a machine with more: smaller batches, fewer workers "
          "(DataLoader(num_workers=), prefetch_factor=2)",
          "use less memory or a machine with more: smaller batches, a smaller "
          ".shuffle(buffer_size), no .cache() of all data",
          "use less memory or a machine with more: smaller batches, donate_argnums for the "
          "state"}},
    {.id = "memory-leak",
     .each =
         {"look for what each step allocates and nobody frees, and for lists that only grow",
          "keep numbers, not tensors: losses.append(loss.item()), total += loss.item(); look "
          "for lists that only grow",
          "keep numbers, not tensors: losses.append(float(loss)); make no layers, datasets "
          "or tf.functions inside of the loop; keras.backend.clear_session() between models",
          "keep numbers, not arrays: losses.append(float(loss)); call jax.jit outside of the "
          "loop, as each new function stays in its cache"}},
    {.id = "cpu-oversubscribed",
     .each =
         {"fewer threads: OMP_NUM_THREADS=1 for libraries that compute in each of them",
          "fewer workers (DataLoader(num_workers=) below the cores), and one thread in each "
          "for the mathematics: OMP_NUM_THREADS=1, torch.set_num_threads()",
          "fewer workers, and fewer threads before the first operation: "
          "tf.config.threading.set_intra_op_parallelism_threads(N), "
          "set_inter_op_parallelism_threads(1); OMP_NUM_THREADS=1 for numpy",
          "fewer workers, and one thread in each for numpy: OMP_NUM_THREADS=1"}},
    {.id = "preempted",
     .all = "leave a core to the training: fewer workers and threads, and other programs "
            "elsewhere or with nice"},
    {.id = "steal",
     .all =
         "ask for cores that are not shared: the host of this virtual machine gives their "
         "time to others"},
    {.id = "cgroup-throttled",
     .all =
         "raise the CPU limit of the container (docker run --cpus, resources.limits.cpu), or "
         "use no more threads than it allows (OMP_NUM_THREADS)"},
    {.id = "clock-drop",
     .all =
         "see to cooling and power limits; on a machine of your own: cpupower frequency-set "
         "-g performance"},
    {.id = "gpu-idle",
     .each =
         {"see what the host waits for (the other findings); larger batches keep it busier",
          "see what the host waits for (the other findings); larger batches, "
          "torch.compile(model, mode=\"reduce-overhead\")",
          "see what the host waits for (the other findings); larger batches, "
          "compile(steps_per_execution=32, jit_compile=True)",
          "see what the host waits for (the other findings); larger batches, several steps "
          "in one call (jax.lax.scan)"}},
    {.id = "gpu-memory-full",
     .each =
         {"smaller batches with gradients added up over several, or smaller types",
          "smaller batches with gradients added up over several, torch.autocast(\"cuda\"), "
          "torch.utils.checkpoint, optimizer.zero_grad(set_to_none=True)",
          "smaller batches with optimizer(gradient_accumulation_steps=4), "
          "keras.mixed_precision.set_global_policy(\"mixed_float16\"), keras.remat()",
          "smaller batches with optax.MultiSteps, bfloat16, jax.checkpoint() around layers, "
          "donate_argnums for the state"}},
    {.id = "gpu-clocks-held",
     .all = "see to its cooling and its power limit (nvidia-smi -q -d PERFORMANCE)"},
    {.id = "drift",
     .each =
         {"look for what grows with the steps: lists, logs that are written anew, a cache",
          "look for what grows with the steps: losses kept with their graph (keep "
          "loss.item()), hooks added in the loop, logs that are written anew, a cache",
          "look for what grows with the steps: layers, tensors or tf.functions made in the "
          "loop, a callback that writes all of its history anew, a cache",
          "look for what grows with the steps: lists of arrays (keep float(loss)), new "
          "shapes that are compiled, logs that are written anew, a cache"}},
    {.id = "periodic-pause",
     .each =
         {"see what the script does at that distance: logging, saving, an evaluation",
          "see what is done at that distance: log_every_n_steps, val_check_interval, "
          "save_steps, an own if step % N == 0, the end of a shard of data",
          "see what is done at that distance: TensorBoard(update_freq=N), "
          "ModelCheckpoint(save_freq=N), the end of a file of the dataset, a shuffle buffer "
          "that is filled again",
          "see what is done at that distance: an own if step % N == 0 that logs, saves or "
          "evaluates, the end of a shard of data"}},
    {.id = "bimodal",
     .each =
         {"see what differs between them: sizes of batches, a cache that is missed, a thread "
          "that moves to another core (taskset -c 0-3)",
          "see what differs between them: lengths of samples (a batch_sampler that puts like "
          "ones together), a loader that is late, cores (taskset -c 0-3 python ...)",
          "see what differs between them: lengths of samples "
          "(dataset.bucket_by_sequence_length()), an input that is late, cores (taskset -c "
          "0-3 python ...)",
          "see what differs between them: shapes (pad to few of them), an input that is "
          "late, cores (taskset -c 0-3 python ...)"}},
    {.id = "latency-tail",
     .each =
         {"call it some 20 times before it counts, keep shapes of its inputs the same, and "
          "keep other work off its cores",
          "call it some 20 times before it counts, in torch.inference_mode(), with inputs of "
          "few shapes; gc.freeze() before it serves",
          "for single inputs call model(x, training=False) or predict_on_batch(x) instead of "
          "predict(x), some 20 times before it counts, with inputs of few shapes",
          "call the compiled function once with each shape before it counts (or "
          "jax.jit(f).lower(x).compile()), and pad inputs to few shapes"}},
    {.id = "compute-bound",
     .each =
         {"faster hardware, smaller types, a compiler's optimisation (-O3 -march=native), or "
          "a smaller model",
          "torch.compile(model), torch.autocast(device, torch.bfloat16), "
          "torch.set_float32_matmul_precision(\"high\"); else faster hardware or a smaller "
          "model",
          "compile(jit_compile=True), "
          "keras.mixed_precision.set_global_policy(\"mixed_bfloat16\"); else faster hardware "
          "or a smaller model",
          "bfloat16, jax.default_matmul_precision(\"bfloat16\"), donate_argnums for the "
          "state; else faster hardware or a smaller model"}},
    {.id = "too-few-steps",
     .each = {"train for more steps", "train for more steps (max_steps of a trainer)",
              "train for more steps: fit(epochs=) or a larger dataset.repeat()",
              "train for more steps"}},
};

const char *advice_for(const char *id, enum framework framework)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].id, id) == 0)
            return table[i].all ? table[i].all : table[i].each[framework];
    return "";
}

const char *advice_on_layers(enum framework framework)
{
    static const char *const texts[FRAMEWORK_COUNT] = {
        "to see its layers: ss_begin() and ss_end() around each",
        "to see its layers: with stepscope.span(\"name\"): around calls in forward()",
        ("to see its layers: with stepscope.span(\"name\"): in call() together with "
         "compile(run_eagerly=True) once, or TensorBoard(profile_batch=(10, 20))"),
        "to see inside of it: jax.profiler.trace(folder) around some steps"};

    return texts[framework];
}
