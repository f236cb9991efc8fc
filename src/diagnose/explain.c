#include "diagnose/explain.h"

#include <ctype.h>
#include <string.h>

static const struct explanation explanations[] = {
    {"input-bound",
     "The loop has nothing to train on while it waits for the next batch. The device, or the "
     "cores that compute, are idle meanwhile.",
     "The stage data of the steady steps: time that the loop's thread spends in the call that "
     "gives the next batch. What workers prepare while the loop computes is not in it. Said from "
     "3 % of the step on, a warning from 5 %, high from 20 %, each by the lower end of the 95 % "
     "interval. Where batches are got inside of a compiled step and that wait is not seen, it is "
     "not observable; where a call got several batches it may have computed while it waited, and "
     "the share is an upper bound. Batches that a generator or iterator of the script makes are "
     "estimated from stack samples: those of the time in no stage in which the loop was getting "
     "its next item. Where workers make the batches, a wait is for the making of its batch, for "
     "its turn (later ones are ready, but batches are given in order), or for handing it over.",
     "More workers, a longer queue (prefetch), cheaper preprocessing, a faster format or disk, "
     "data that stays in memory. More workers than free cores make it worse."},
    {"callback-bound",
     "A callback takes a noticeable part of the steps, or of the time outside of them: at the "
     "end of epochs, before the first step.",
     "The time inside one callback's method, super() counted once. In steps it is a share of the "
     "steady steps: said from 1 % on, a warning from 3 %, high from 10 %. Outside of steps it is "
     "a share of the loop: 5, 10 and 30 %. What it saves and evaluates is told by "
     "checkpoint-heavy and eval-heavy; callbacks that run inside an evaluation are part of that. "
     "Where it reads a result and so waits for the device, that wait is told apart, and is no "
     "warning: the device has to do its work anyway.",
     "Call it every 50 steps, write in another thread, compute metrics at the end of the epoch. "
     "If it only waits, it may be the first that reads a result of the device: then that wait "
     "moves elsewhere."},
    {"user-code",
     "Code of the script itself, between what the framework does, takes a noticeable part of the "
     "step.",
     "Time of the steady steps in no span (other), times the part of its stack samples that are "
     "at the line that has most of them; each with its 95 % interval. Said from 3 % on. If no line "
     "has half of the script's own samples, all of these together, from 10 % on. A line that only "
     "waits inside of the forward pass is found by the samples of that, as an estimate, if looks at "
     "the thread (stepscope run) saw it waiting.",
     "Take the line out of the loop, do it less often or elsewhere. `stepscope report --hot` "
     "lists all lines."},
    {"overhead-bound",
     "Most of a step is spent on what is there however many samples the batch has: Python calls, "
     "starting many small operations. The batch is too small for this model on this machine.",
     "From loops of one run with batches of different sizes: time of a step = fixed + each x "
     "samples. A warning if half of the step is surely fixed and a larger batch was faster; "
     "otherwise the two costs are only told. Two to four sizes are an indication; from five on it "
     "is a model, with a floor below which smaller batches gain nothing. With one size it cannot "
     "be known.",
     "Larger batches, several batches in one call (Keras: steps_per_execution), a compiled step. "
     "A larger batch changes how the model learns."},
    {"instrument-more",
     "Stepscope does not know what a part of the step is: it is in no span, and no stack samples "
     "say which line it was.",
     "Time in no span (other), but for what stack samples name, from 10 % of the step on.",
     "Name parts of the script: stepscope.stage() and stepscope.span() in Python, ss_begin() and "
     "ss_end() in C."},
    {"transfer-bound",
     "Copies from the host to the device take a noticeable part of the step.",
     "The stage transfer of the steady steps, with the limits of input-bound.",
     "Memory that the device can read directly (pinned memory), copies that do not wait, smaller "
     "types: bytes instead of floats."},
    {"sync-bound",
     "The host waits for the device, because the script asks for a result: a loss that is "
     "printed, a metric that becomes a Python number.",
     "The stage sync of the steady steps, with the limits of input-bound. A device that works "
     "later than it is told to does its own work in that wait too, so that less reading need not "
     "make steps shorter: then the share is an upper bound, and no warning unless the device is "
     "seen to be idle.",
     "Read losses and metrics every 50 steps, and add them up on the device until then."},
    {"comm-bound",
     "The ranks of one training exchange gradients, or wait for the slowest of them.",
     "The stage comm of the steady steps, with the limits of input-bound.",
     "Larger batches for each rank, gradients added up over several batches before they are "
     "exchanged, an exchange while gradients are still computed, a look at the slowest rank."},
    {"straggler",
     "One rank works longer in each step than the others, and all wait for it.",
     "A step without its time in communication, rank by rank, in up to 32 stretches of the run: "
     "slower by 5 % in the middle of them, and by 2.5 % in 80 % of them or more. Not observable "
     "where the communication was not recorded, or in fewer than 10 stretches.",
     "Equal work for all ranks; nothing that one of them does alone; a look at that machine."},
    {"retrace-storm",
     "A function is traced or compiled again and again, because something about its arguments "
     "changes. Tracing runs the Python code once to record what it computes; that takes much "
     "longer than a step.",
     "The stage compile within the steady steps from 2 % on, if one function was compiled at "
     "least 5 times, from 20 % on at least 3 times. Named is the function whose compiling took most time in these steps; why it "
     "was compiled again is known where torch.compile or TensorFlow tells it.",
     "Tensors instead of Python numbers as arguments, equal shapes, one function object that is "
     "made outside of the loop."},
    {"compile-heavy",
     "Tracing and compiling before the first update takes a large part of the whole run.",
     "The segment compile, from 10 % of the run on; a warning from 20 % and 5 seconds on. Named "
     "is the function that took most of it.",
     "A cache that keeps compiled code between runs, longer runs."},
    {"eval-heavy", "Evaluation (validation) takes a large part of the loop's time.",
     "The segment eval, and what callbacks evaluate, from 5 % of the loop on, a warning from "
     "10 %. Callbacks that are called inside of it and have a fifth of it or more are named.",
     "Evaluate less often, on fewer batches, or with larger ones."},
    {"checkpoint-heavy", "Saving the model takes a large part of the loop's time.",
     "The segment checkpoint, and what callbacks save, from 5 % of the loop on, a warning from "
     "10 %.",
     "Save less often, weights only, or in another thread."},
    {"setup-heavy",
     "Making and tearing down iterators and workers of the input takes time, in the step or "
     "between epochs.",
     "The stage setup of the step, with the limits of input-bound; or the same between epochs, "
     "from 5 % of the loop on.",
     "Keep workers and iterators over epochs."},
    {"gc-pauses",
     "Python's garbage collector, which looks for objects that refer to each other and are not "
     "used any more, stops the loop.",
     "The stage gc of the steady steps, with the limits of input-bound.",
     "gc.freeze() after set-up, so that it does not look at the model each time; collecting "
     "between epochs."},
    {"page-faults",
     "Memory that the training touches is not there and has to be read from a disk: a file that "
     "is mapped into memory, or memory that was swapped out.",
     "Such reads (the kernel calls them major faults), at 1 ms each, from 2 % of the time on. How "
     "long each took is not known: the share is an estimate, for 0.05 to 10 ms each.",
     "More memory, data that is read ahead of its use."},
    {"fresh-memory",
     "Each step takes memory from the kernel anew and gives it back: the kernel has to clear "
     "each page of it when it is touched first.",
     "Fresh pages (the kernel calls them minor faults) of the loop's process, in half of the "
     "stretches of its steady steps or more, at 0.25 us each, from 2 % of the step on; at 0.5 us, "
     "where they are 10,000 a step. A warning from 5 % on at 0.1 us each. How long each took is "
     "not known, and large pages take longer: the share is an estimate, for 0.1 to 0.5 us.",
     "Buffers that are used again, operations in place, an allocator that keeps what is freed."},
    {"swap",
     "The machine has not enough memory: it moves memory of programs to a disk (swap) and back.",
     "400 KB or more a second to and from swap while the loop ran: some 1 % of the time, with a "
     "fast disk.",
     "Less memory: smaller batches, fewer workers, smaller caches and shuffle buffers."},
    {"memory-leak", "The memory of the training grows all the time and will be full.",
     "The median slope of the memory of all processes of the training, if it is a clear trend, "
     "would fill 5 % of the limit in such a run, and still rises in the last third of it. The "
     "limit is what the machine has, or what the container may have (a cgroup's limit), "
     "whichever is nearer.",
     "Lists that keep tensors or arrays instead of numbers, caches without a limit, functions "
     "and layers that are made anew in each step."},
    {"cpu-oversubscribed", "The training's own threads take the cores from each other.",
     "2 threads a core or more, nine tenths of what runs is theirs, and the loop's thread is "
     "ready but waits for a core 2 % of the time or more. A warning if they fill the cores, or if "
     "it waits for a tenth of the time. What that costs is an estimate: half to twice the wait.",
     "Fewer workers, and one thread in each of them for the libraries that compute "
     "(OMP_NUM_THREADS=1)."},
    {"preempted",
     "The loop's thread was ready to run, but other programs or threads had the cores.",
     "The time that the kernel kept it waiting for a core, from 2 % on. What that costs is an "
     "estimate: half to twice the wait, since helper threads of the framework waited as well. "
     "Where nearly all that runs is the training's own, cpu-oversubscribed says so instead.",
     "Leave a core to it: fewer other programs, fewer workers."},
    {"steal",
     "This is a virtual machine, and the machine on which it runs gave the time of the cores to "
     "others.",
     "What the kernel counts as such (it is called steal), from 1 % of the cores' time on. How "
     "much of it the steps lost is not known: the share is an upper bound.",
     "Cores that are not shared: another type of virtual machine, or one elsewhere."},
    {"cgroup-throttled",
     "The training runs in a container (a cgroup) that may use only so many cores, and was "
     "stopped each time it had used them up.",
     "The part of the periods, of 0.1 s mostly, in which the limit was hit, from 1 % on. It is "
     "an upper bound of what was lost.",
     "A higher limit (docker run --cpus, resources.limits.cpu of Kubernetes), or no more threads "
     "than it has cores."},
    {"clock-drop",
     "Cores ran at a lower clock than at the start, or heat slowed them down.",
     "A fall of 5 % or more from the best quarter of the time in which a core was busy to the "
     "worst one after that, or events of heat that the kernel counted again and again, in a tenth "
     "of the time.",
     "Cooling, power limits, and the kernel's policy on clocks (its governor): "
     "cpupower frequency-set -g performance."},
    {"gpu-idle", "The GPU has nothing to do for a good part of the time.",
     "The part of the time in which anything ran on it, as its driver counts, below 70 %; high "
     "below 30 %. The share is an upper bound of what could be gained.",
     "See what the host waits for (the other findings); larger batches; a compiled step."},
    {"gpu-memory-full", "The GPU's memory is nearly full.",
     "95 % of it was in use at some time of the loop, and it rose to that while the loop ran. "
     "Memory that is all taken from the start on is only mentioned: TensorFlow and JAX reserve "
     "it whether they need it or not, and PyTorch keeps what it had once.",
     "Smaller batches with gradients added up over several, smaller types (mixed precision), "
     "activations computed again instead of kept."},
    {"gpu-clocks-held",
     "The GPU's clock is held down: by heat, or by a limit of its power.",
     "Below 90 % of its highest while it is busy, and in 5 % of the samples or more with a reason "
     "that the driver gives, other than that it is idle or that somebody has set it.",
     "Cooling, the power limit: nvidia-smi -q -d PERFORMANCE says which."},
    {"drift", "Steps become slower while the run goes on, slowly or at once.",
     "A trend over all steady steps, or a change of level, of 5 % or more that is still there in "
     "the last third; a warning from 10 % on. A change of level that other work on the machine "
     "may have made, or that nobody watched, is no warning. What it costs is an estimate: all "
     "that steps take more than those of the first third, half to three times that.",
     "What grows with the steps: a history that keeps tensors, logs written anew, caches, "
     "memory."},
    {"periodic-pause", "Every so many steps one takes much longer.",
     "Slow steps at regular distances, if slow steps add 2 % or more to the mean; a warning from "
     "10 % on, unless another finding explains it.",
     "Logging, saving or evaluating at that distance: less often, or in another thread."},
    {"bimodal", "Steps have two speeds, and hardly any lies between them.",
     "The times of up to 512 steady steps, cut in two levels that are 10 % apart or more, with at "
     "least 15 % of the steps each and at most 5 % between them. Not said if one level follows "
     "the other: that is drift. Whether they come in stretches or in turn is tested by counting "
     "how often one follows the other (a runs test, at 1 %). It is said if the slow steps cost "
     "6 % of the time or more, a warning from 10 %.",
     "Batches of like size, data that is always in the same cache, threads that stay on their "
     "core."},
    {"latency-tail", "A few predictions take much longer than most.",
     "Predictions by name, from 100 calls on: p99 of 3 times the median or more. It is a warning "
     "from 300 calls on, since the first calls of all are slow by nature, and if nothing disturbed the "
     "machine. In a run that does not "
     "train, calls of compiled functions and models count as predictions too.",
     "A few calls with each shape before it counts, equal shapes, no other work on the cores."},
    {"compute-bound", "The step is spent computing, and nothing else holds it back.",
     "Forward, backward, optimizer and compute of at least 80 % of the step, the thread really "
     "running in 90 % of the looks at it, and no warning of anything else. Not observable where a "
     "device computes later than it is told to, or where the wait for data is inside the step "
     "and cannot be told apart.",
     "Faster hardware, smaller types (mixed precision), a compiler, a smaller model."},
    {"too-few-steps", "There are too few steady steps to say what is typical.",
     "Fewer than 20 steady windows.", "Train for more steps."},
};

static const struct explained_word words[] = {
    {"step",
     "one update of the weights with all that belongs to it, the wait for its data too"},
    {"steady", "the steps after the warm-up, from where on they take about equally long"},
    {"stage",
     "what the time of a step goes to: data, forward, backward, optimizer, compute (these "
     "three in one), transfer, sync, comm, callback, compile, setup, gc, other; see 'The step "
     "by stage' in the report"},
    {"segment",
     "what the time of the run goes to: startup, compile, warmup, steady, between epochs, "
     "eval, infer, checkpoint, teardown; see 'The run by segment' in the report"},
    {"span",
     "a stretch of time with a name, as a call of the framework, or one that the script "
     "names with stepscope.span()"},
    {"stack sample", "a look at which line of Python runs just now, some 25 a second"},
    {"looks at it", "samples of whether the loop's thread runs or waits, 10 a second"},
    {"window", "a step, or several that only one call makes"},
    {"rank", "one of the processes that train one model together"},
    {"host", "the processor with its memory, as opposed to the device"},
    {"device", "what computes: a GPU, or the cores themselves"},
    {"worker", "a thread or process that prepares batches beside the loop"},
    {"interval", "the true value lies within it in 95 of 100 such runs"},
    {"estimate", "two ends by a rule of thumb, not an interval of 95 %"},
    {"upper bound", "not more than that; how much less is not known"},
    {"share", "the part of the step, of the loop's time or of the run's time"},
    {"p99", "99 of 100 values are not above it"},
    {"median", "half of the values are not above it"},
};

const struct explanation *explain_at(size_t index)
{
    return index < sizeof explanations / sizeof explanations[0] ? &explanations[index]
                                                                : NULL;
}

const struct explanation *explain_find(const char *id)
{
    for (size_t i = 0; explain_at(i); i++)
        if (strcmp(explain_at(i)->id, id) == 0)
            return explain_at(i);
    return NULL;
}

const struct explained_word *explain_word_at(size_t index)
{
    return index < sizeof words / sizeof words[0] ? &words[index] : NULL;
}

static bool is_letter(char character)
{
    return isalnum((unsigned char)character) || character == '-' || character == '_';
}

bool explain_uses(const char *text, const char *word)
{
    const size_t size = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        const char *end = at + size + (at[size] == 's');
        if ((at == text || !is_letter(at[-1])) && !is_letter(*end) && *end != '(')
            return true;
    }
    return false;
}
