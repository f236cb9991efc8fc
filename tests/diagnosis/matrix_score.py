"""Scores the results of the fault matrix: criteria with their counts, and the confusion table."""

import collections
import math
import statistics

from matrix_cases import ALSO_TRUE, NAMED_BY, WITHOUT_SHARE

LARGE = 0.10  # of the step or the loop: from here on the fault has to be on top
BATCHES = 10
ROUNDED = 0.0005  # shares are printed with one decimal of a percent

# What the machine can do to a healthy training. It does not count as a false alarm if counters that
# were read outside Stepscope confirm it: others had this part of the cores, the hypervisor took this
# part, or the loop thread was ready and waited for this part of the time.
DISTURBANCES = {"preempted", "steal", "cpu-oversubscribed", "drift", "bimodal", "periodic-pause",
                "input-bound"}
TAKEN = {"preempted", "steal", "cpu-oversubscribed"}
TAKERS = {"hog", "crowd", "limit"}  # faults that are such
OTHERS, STEAL, WAITED = 0.03, 0.005, 0.01  # about half of what is warned of: the loop is not all of the time

Criterion = collections.namedtuple("Criterion", "text good all wanted left_out")


def warned(result):
    return [finding for finding in result["report"]["findings"] if finding["severity"] != "info"]


def fault_share(result, fault):
    """Of the step, of the loop for what is cut out of steps, or of what the training says; None:
    it was not timed."""
    truth = result["truth"]
    if fault in truth["shares"]:
        return truth["shares"][fault]
    is_cut = fault in truth["cuts"]
    # The first and the last one hold what is done once in a loop, which is no part of a step.
    steps = truth["steps"]
    if not is_cut:
        steps = steps[max(1, result["report"]["steps"]["warmup"]):-1]
    spent = sum(step.get(fault, 0) for step in steps)
    every = sum(seconds for step in steps for name, seconds in step.items()
                if is_cut or name not in truth["cuts"])
    return spent / every if spent and every else None


def mean_of(seconds):
    """(mean, half of its 95 % interval), by ten batches of neighbours (t with 9 degrees)."""
    size = len(seconds) // BATCHES
    means = [statistics.fmean(seconds[i * size:(i + 1) * size]) for i in range(BATCHES)]
    return statistics.fmean(seconds), 2.26 * statistics.stdev(means) / math.sqrt(BATCHES)


def gain_without(result, is_cut):
    """(lowest, mean): part of the time that went with the fault, by the clock of the training itself;
    None: not tried. The interval is that of both means."""
    truth = result["truth"]
    first = max(1, result["report"]["steps"]["warmup"])
    steps = [sum(seconds for name, seconds in step.items() if is_cut or name not in truth["cuts"])
             for step in truth["steps"][first:-1]]
    without = truth["without"]
    if min(len(steps), len(without)) < 2 * BATCHES:
        return None
    (mean, unsure), (rest, rest_unsure) = mean_of(steps), mean_of(without)
    return 1 - (rest + rest_unsure) / max(mean - unsure, 1e-9), 1 - rest / mean


def is_confirmed(result):
    machine, truth = result["machine"], result["truth"]
    return (machine["others"] >= OTHERS or machine["steal"] >= STEAL or truth["waited"] >= WAITED)


def is_excused(result):
    """A healthy training that warns only of what the machine did to it."""
    return is_confirmed(result) and all(finding["id"] in DISTURBANCES for finding in warned(result))


def is_large(result, share):
    (fault,) = result["case"]["faults"]
    return fault in WITHOUT_SHARE or (share or 0) > LARGE


def is_named(fault, finding):
    return finding["id"] in NAMED_BY[fault]


def finding_of(result, fault):
    return next((f for f in result["report"]["findings"] if is_named(fault, f)), None)


def split(results):
    groups = {0: [], 1: [], 2: []}
    for result in results:
        groups[len(result["case"]["faults"])].append(result)
    return groups[0], groups[1], groups[2]


def injected(result):
    """Share of a single fault. Of hogs and limits it is what the steps lost."""
    (fault,) = result["case"]["faults"]
    share = fault_share(result, fault)
    if share is None:
        gain = gain_without(result, False)
        share = gain[1] if gain else None
    return share


def judge(results):
    """(criteria, bad ones as lines of text)."""
    healthy, single, paired = split(results)
    bad = []

    def count(text, wanted, checks, left_out=0):
        checks = list(checks)
        bad.extend("%s: %s: %s" % (text, result["case"]["name"], why)
                   for is_good, result, why in checks if not is_good)
        return Criterion(text, sum(check[0] for check in checks), len(checks), wanted, left_out)

    tops = [(result, injected(result)) for result in single]
    large = [(result, share) for result, share in tops if is_large(result, share)]
    alarms = [result for result in healthy if warned(result)]
    excused = [result for result in alarms if is_excused(result)]
    both = [result for result in paired if all((fault_share(result, fault) or 0) > LARGE
                                               for fault in result["case"]["faults"])]
    return [
        count("a single fault above 10 % is on top", 0.95,
              ((is_on_top(result, 1), result, describe(result, share)) for result, share in large),
              len(single) - len(large)),
        count("both of two faults above 10 % are the top two", 0.95,
              ((is_on_top(result, 2), result, describe(result, None)) for result in both),
              len(paired) - len(both)),
        count("healthy without a warning", 0.98,
              ((not warned(result), result, describe(result, None)) for result in healthy
               if result not in excused), len(excused)),
        count("the injected share is inside the interval", 0.90, shares(single + paired)),
        count("the gain is not above the bound", 0.95, gains(single)),
    ], bad


def top_of(result):
    """What warns, in order. Left out is what is true as well: another name of the fault, and what
    other programs took, where counters confirm it."""
    faults = result["case"]["faults"]
    also = {name for fault in faults for name in ALSO_TRUE.get(fault, ())}
    if TAKERS & set(faults):  # of which the counters are full
        also |= {"steal"} if result["machine"]["steal"] >= STEAL else set()
    elif is_confirmed(result):
        also |= TAKEN
    return [finding for finding in warned(result) if finding["id"] not in also]


def is_on_top(result, places):
    top = top_of(result)[:places]
    return all(any(is_named(fault, finding) for finding in top)
               for fault in result["case"]["faults"])


def describe(result, share):
    machine = result["machine"]
    found = ", ".join("%s %s %s" % (f["id"], f["severity"], percent(f["share"]))
                      for f in result["report"]["findings"][:4])
    return "injected %s; found %s; others %s, steal %s, waited %s" % (
        percent(share), found or "nothing", percent(machine["others"]), percent(machine["steal"]),
        percent(result["truth"]["waited"]))


def percent(share):
    return "-" if share is None else "%.1f %%" % (100 * share)


def shares(results):
    for result in results:
        for fault in result["case"]["faults"]:
            share, finding = fault_share(result, fault), finding_of(result, fault)
            if share is None or finding is None or finding["share"] is None:
                continue
            low, high = finding["share_ci"]
            is_in = low - ROUNDED <= share <= high + ROUNDED
            yield is_in, result, "%s: %s is not in %s to %s" % (
                fault, percent(share), percent(low), percent(high))


def gains(single):
    for result in single:
        (fault,) = result["case"]["faults"]
        finding = finding_of(result, fault)
        gain = gain_without(result, fault in result["truth"]["cuts"])
        if finding is None or finding["gain_most"] is None or gain is None:
            continue
        yield gain[0] <= finding["gain_most"], result, "%s: gains %s at least, said at most %s" % (
            fault, percent(gain[0]), percent(finding["gain_most"]))


Row = collections.namedtuple("Row", "on_top confirmed")


def confusion(results):
    """{faults: Row}: a Counter of what was printed on top, whatever excuses it; and of these, how
    often there is a disturbance in it that counters from outside confirm."""
    table = {}
    for result in results:
        faults = result["case"]["faults"]
        top = [finding["id"] for finding in warned(result)[:max(1, len(faults))]]
        text = " + ".join(sorted(top)) or "nothing"
        row = table.setdefault(" + ".join(faults) or "none",
                               Row(collections.Counter(), collections.Counter()))
        row.on_top[text] += 1
        if (TAKEN if faults else DISTURBANCES) & set(top) and is_confirmed(result):
            row.confirmed[text] += 1
    return table
