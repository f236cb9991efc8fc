#include "diagnose/explain.h"

#include <string.h>

static const struct explanation explanations[] = {
    {"input-bound",
     "The loop has nothing to train on while it waits for the next batch. The device, or the cores that "
     "compute, are idle meanwhile.",
     "The stage data of the steady steps: time that the loop's thread spends in the call that gives the next "
     "batch. What workers prepare while the loop computes is not in it. Said from 3 % of the step on, a "
     "warning from 5 %, high from 20 %, each by the lower end of the 95 % interval.",
     "More workers, a longer queue (prefetch), cheaper preprocessing, a faster format or disk, data that "
     "stays in memory. More workers than free cores make it worse."},
    {"callback-bound",
     "A callback that runs in every step takes a noticeable part of it.",
     "The time inside one callback's method, super() counted once, as a share of the steady steps. Said from "
     "1 % on, a warning from 3 %, high from 10 %.",
     "Call it every 50 steps, write in another thread, compute metrics at the end of the epoch. If it only "
     "waits, it may be the first that reads a result of the device: then that wait moves elsewhere."},
    {"user-code",
     "Code of the script itself, between what the framework does, takes a noticeable part of the step.",
     "Time of the steady steps in no span (other), if stack samples put at least half of it to one line. Said "
     "from 3 % on.",
     "Take the line out of the loop, do it less often or elsewhere. `stepscope report --hot` lists all lines."},
    {"overhead-bound",
     "Most of a step is spent on what is there whatever the batch has: calls, hooks, small kernels. The batch is too "
     "small for this model on this machine.",
     "From loops of one run with batches of different sizes: time a step = fixed + each * samples. Said from a quarter of "
     "the step on, a warning from a half. Two sizes are an indication; from five on it is a model, with a floor below "
     "which smaller batches gain nothing. With one size it cannot be known.",
     "Larger batches, steps_per_execution, a compiled step. A larger batch changes how the model learns."},
    {"instrument-more",
     "A part of the step is in no span, and no samples say what it is.",
     "Time in no span from 10 % of the step on.",
     "Name parts of the script: stepscope.span(), ss_begin()."},
    {"transfer-bound", "Copies from host to device take a noticeable part of the step.",
     "The stage transfer of the steady steps, as input-bound.",
     "Pinned memory, copies that do not wait, smaller types."},
    {"sync-bound", "The host waits for the device, because the script asks for a result.",
     "The stage sync of the steady steps, as input-bound. On an asynchronous device it holds the device's own "
     "work too, so that less reading need not make steps shorter.",
     "Read losses and metrics less often."},
    {"comm-bound", "Ranks exchange gradients, or wait for the slowest of them.",
     "The stage comm of the steady steps, as input-bound.",
     "Larger batches a rank, accumulation, overlap with backward, a look at the slowest rank."},
    {"straggler",
     "One rank works longer in each step than the others, and all wait for it.",
     "A step without its time in communication, rank by rank, in up to 32 stretches of the run: slower by 5 % in the "
     "middle of them, and by 2.5 % in 80 % of them or more.",
     "Equal work for all ranks; nothing that one of them does alone; a look at that machine."},
    {"retrace-storm",
     "A function is traced or compiled again and again, because something about its arguments changes.",
     "The stage compile within the steady steps from 2 % on, if one function was compiled at least 5 times.",
     "Tensors instead of Python numbers, equal shapes, one function object."},
    {"compile-heavy",
     "Compiling before the first update takes a large part of the whole run.",
     "The segment compile, from 10 % of the run on; a warning from 20 % and 5 seconds on.",
     "A compilation cache, longer runs."},
    {"eval-heavy", "Evaluation takes a large part of the loop's time.",
     "The segment eval, from 5 % of the loop on, a warning from 10 %.",
     "Evaluate less often or on less."},
    {"checkpoint-heavy", "Saving takes a large part of the loop's time.",
     "The segment checkpoint, from 5 % of the loop on, a warning from 10 %.",
     "Save less often, less, or in another thread."},
    {"setup-heavy",
     "Making and tearing down iterators and workers takes time, in the step or between epochs.",
     "The stage setup of the step, or the segment between, from 5 % of the loop on.",
     "Keep workers and iterators over epochs."},
    {"gc-pauses", "Python's garbage collector stops the loop.",
     "The stage gc of the steady steps, as input-bound.",
     "gc.freeze() after set-up, collecting between epochs."},
    {"page-faults", "Memory that the training touches has to be read from a disk.",
     "Major faults, at 1 ms each, from 2 % of the time on.",
     "More memory, data read ahead."},
    {"swap", "The machine moves memory to a disk and back.",
     "Any bytes to or from swap while the loop ran.",
     "Less memory: smaller batches, fewer workers."},
    {"memory-leak", "Memory grows all the time and will be full.",
     "The median slope of the memory of all processes, if it would fill 5 % of what is there in such a run "
     "and still rises in its last third.",
     "Lists that keep tensors, caches without a limit."},
    {"cpu-oversubscribed", "The training's own threads take the cores from each other.",
     "More than 2 threads a core, all cores busy with them, and the loop's thread waits 2 % of the time or "
     "more for a core.",
     "Fewer workers, one thread for mathematics in each."},
    {"preempted", "The loop's thread was ready to run, but other work had the cores.",
     "Its time in the run queue, from 2 % on.", "Leave a core to it."},
    {"steal", "The hypervisor gave the cores' time to other machines.",
     "Steal, from 1 % of the cores' time on.", "Cores of one's own."},
    {"cgroup-throttled", "The container's CPU limit stopped the training.",
     "Periods in which the limit was hit, from 1 % on.",
     "A higher limit, or fewer threads."},
    {"clock-drop",
     "Cores ran at a lower clock than at the start, or heat slowed them down.",
     "A fall of 5 % or more, or any event of heat.",
     "Cooling, power limits, the governor."},
    {"gpu-idle", "The GPU has nothing to do for a good part of the time.",
     "Its driver's utilisation, below 70 %.",
     "See what the host waits for; larger batches."},
    {"gpu-memory-full", "The GPU's memory is full.",
     "95 % of it was in use at some time.",
     "Smaller batches, smaller types, recomputing."},
    {"gpu-clocks-held", "The GPU's clock is held down.",
     "Below 90 % of its highest, with a reason other than idle.",
     "Cooling, power limit."},
    {"drift", "Steps become slower while the run goes on, slowly or at once.",
     "A trend over all steady steps, or a change of level, of 5 % or more that is still there in the last third; a "
     "warning from 10 % on. A change of level that other work on the machine may have made, or that nobody watched, is no "
     "warning.",
     "What grows with the steps: history that keeps its graph, logs written anew, caches, memory."},
    {"periodic-pause", "Every so many steps one takes much longer.",
     "Outliers at regular distances that add 2 % or more to the mean.",
     "Logging, saving or evaluating at that distance."},
    {"bimodal", "Steps have two speeds, and hardly any lies between them.",
     "The times of up to 512 steady steps, cut in two levels that are 10 % apart or more, with at least 15 % of the steps "
     "each and at most 5 % between them. Not said if one level follows the other: that is drift.",
     "Batches of like size, data that is always in the same cache, threads that stay on their core."},
    {"latency-tail", "A few predictions take much longer than most.",
     "p99 of predictions of 3 times the median or more, from 100 calls on.",
     "Warm-up calls, equal shapes."},
    {"compute-bound", "The step is spent computing, and nothing else holds it back.",
     "Forward, backward, optimizer and compute of at least 80 % of the step, the thread really running in 90 % "
     "of the looks at it, and no warning of anything else.",
     "Faster hardware, smaller types, a compiler, a smaller model."},
    {"too-few-steps", "There are too few steady steps to say what is typical.",
     "Fewer than 20 steady windows.", "Train for more steps."},
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
