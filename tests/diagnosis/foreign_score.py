"""Judges what was said about the foreign scripts, against what was written down before."""

import collections
import re

from foreign_cases import EVALUATES, OTHER_WORDS

# What the machine does to a training. Where counters that were read outside Stepscope confirm that
# others had as much of the cores, the verdict is what is said besides, as in the matrix.
DISTURBANCES = ("preempted", "steal", "cpu-oversubscribed", "cgroup-throttled", "clock-drop", "drift",
                "bimodal", "periodic-pause")
OTHERS, STEAL = 0.03, 0.005  # of all cores, as in matrix_score.py
Criterion = collections.namedtuple("Criterion", "text good all")


def loops_of_one_rank(report):
    return [loop for loop in report["loops"] if loop["rank"] in (None, 0)]


def steps_of(report):
    return sum(loop["steps"] for loop in loops_of_one_rank(report))


def evaluations_of(one, report):
    """How many there are, as far as that is known: 0 if none takes any time."""
    seen = report["evaluations"]
    calls = list(seen["calls"].values())
    counts = (*calls, sum(calls), seen["passes"])
    if one.evaluations in counts and one.evaluations:
        return one.evaluations
    seconds = report["books"]["eval_ns"] + sum(loop["books"]["eval_ns"] for loop in report["loops"])
    if not seconds:
        return 0
    return EVALUATES if one.evaluations == EVALUATES else max(counts)


def largest_of(report):
    means = {stage: row["mean_ns"] for stage, row in report["stages"].items()
             if row and row["mean_ns"]}
    return max(means, key=means.get) if means else "none"


def is_disturbed(result):
    """Others took the cores, by counters that Stepscope has no part in."""
    return result["machine"]["others"] >= OTHERS or result["machine"]["steal"] >= STEAL


def verdict_of(result):
    """What is said, beside a disturbance that is confirmed."""
    report = result["report"]
    if not is_disturbed(result) or report["verdict"] not in DISTURBANCES:
        return report["verdict"]
    names = [finding["id"] for finding in report["findings"]
             if finding["severity"] != "info" and finding["id"] not in DISTURBANCES]
    if names:
        return names[0]
    if any(finding["id"] == "compute-bound" for finding in report["findings"]):
        return "compute-bound"
    return "inconclusive" if report["unsure"] else "healthy"


def found_of(one, result):
    """The finding that is the verdict, if it is what was expected."""
    verdict = verdict_of(result)
    return next((finding for finding in result["report"]["findings"]
                 if finding["id"] == verdict and verdict in one.verdicts), None)


def without_times(printed):
    """Keras says how long an epoch took, Hugging Face how many samples a second there were."""
    printed = re.sub(r"\b[0-9.]+(s|ms|us)(/epoch|/step)?\b", "", printed)
    return re.sub(r"(runtime|per_second)': '[^']*'", "", printed)


def is_same_output(result):
    """As far as it ran without us."""
    return result["plain"] is None or without_times(result["plain"]) == without_times(result["printed"])


def is_named(one, result):
    found = found_of(one, result)
    text = found["claim"] + found["evidence"] if found else ""
    return not one.names or any(name in text for name in one.names)


def foreign_words(one, report):
    return [word for finding in report["findings"] for word in OTHER_WORDS[one.framework]
            if word in finding["advice"]]


def closes(books):
    parts = [ns for name, ns in books.items() if name != "wall_ns"]
    return sum(parts) == books["wall_ns"] and min(parts) >= 0


def books_close(report):
    return (closes(report["books"]) and all(closes(loop["books"]) for loop in report["loops"])
            and not any(loop["negative_ns"] for loop in report["loops"]))


def checks_of(one, result):
    """Each criterion, and whether it is met."""
    report = result["report"]
    return {
        "steps": steps_of(report) == one.steps,
        "evaluations": evaluations_of(one, report) == one.evaluations,
        "verdict": verdict_of(result) in one.verdicts,
        "largest stage": not one.largest or largest_of(report) in one.largest,
        "name": is_named(one, result),
        "advice of this framework": not foreign_words(one, report),
        "books close": books_close(report),
        "same output": is_same_output(result),
    }


def criteria_of(results):
    met = collections.Counter()
    for one, result in results:
        met.update(text for text, good in checks_of(one, result).items() if good)
    texts = checks_of(*results[0])
    return [Criterion(text, met[text], len(results)) for text in texts]


def missed(one, result):
    return [text for text, good in checks_of(one, result).items() if not good]


def number(expected, seen):
    if expected == seen:
        return "yes" if expected == EVALUATES else str(expected)
    shown = ["some" if value == EVALUATES else str(value) for value in (seen, expected)]
    return "%s, not %s" % tuple(shown)


def said(result):
    first, verdict = result["report"]["verdict"], verdict_of(result)
    return first if first == verdict else "%s, then %s" % (first, verdict)


def row(one, result):
    """Of the table: what was expected, what was said, and what of it missed."""
    report, misses = result["report"], missed(one, result)
    largest = largest_of(report)
    return (one.name, " or ".join(one.verdicts), said(result),
            number(one.steps, steps_of(report)),
            number(one.evaluations, evaluations_of(one, report)),
            "%s%s" % (largest, "" if "largest stage" not in misses
                      else ", not " + " or ".join(one.largest)),
            " or ".join(one.names), "miss: " + ", ".join(misses) if misses else "hit")
