"""What the advice was worth: the gain that was measured, beside what had been printed.

A gain is 1 - (time after) / (time before), of turns of the same work. Its estimate is the ratio of
the sums, its interval a jackknife over the rounds. A criterion is missed only if the whole interval
is on the wrong side, as the machine is shared; trials whose interval is wider than UNSURE are left
out, and counted as such, but where nothing of it is on the right side of "not slower": that is a
miss, however wide."""

import collections
import math

Criterion = collections.namedtuple("Criterion", "text good all wanted left_out")
Gain = collections.namedtuple("Gain", "middle low high")

UNSURE = 0.3  # width of an interval
SLOWER, HALF = 0.02, 0.5
# Student's t, 97.5 %, by degrees of freedom.
STUDENT = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def gain_of(pairs):
    def ratio(some):
        return math.log(sum(after for _, after in some) / sum(before for before, _ in some))

    count = len(pairs)
    middle = ratio(pairs)
    without = [ratio(pairs[:at] + pairs[at + 1:]) for at in range(count)]
    mean = sum(without) / count
    error = math.sqrt((count - 1) / count * sum((one - mean) ** 2 for one in without))
    half = STUDENT[count - 1] * error
    return Gain(1 - math.exp(middle), 1 - math.exp(middle + half), 1 - math.exp(middle - half))


def finding_of(report, name):
    return next((one for one in report["findings"] if one["id"] == name), None)


def printed(result):
    """The finding with the advice that was followed; None: it was not found."""
    return finding_of(result["report"], result["pair"]["finding"])


def gain(result):
    """None: nothing was followed, or too little is known."""
    if not result["cure"]:
        return None
    found = gain_of(result["turns"]["pairs"])
    is_known = found.high - found.low <= UNSURE or is_surely_slower(result)
    return found if is_known else None


def is_surely_slower(result):
    return gain_of(result["turns"]["pairs"]).high < -SLOWER


def is_followed(result):
    return result["cure"] is not None


def saving_of(finding):
    """The one that is printed first: predicted for the advice, else if all goes. Where only its upper
    end is known there is none."""
    predicted = finding.get("predicted")
    return finding["saving"] if predicted is None else predicted


def is_not_above(result):
    most = printed(result)["gain_most"]
    return most is None or gain(result).low <= most


def is_worth_half(result):
    saving = saving_of(printed(result))
    return saving is None or gain(result).high >= HALF * saving


def is_not_slower(result):
    return gain(result).high >= -SLOWER


def is_gone(result):
    """No warning any more, or one that does not advise the same again."""
    after = finding_of(result["cured"], result["pair"]["finding"])
    return (after is None or after["severity"] == "info"
            or after["advice"] != printed(result)["advice"])


CRITERIA = (
    ("the gain is not above the printed bound", 0.95, is_not_above),
    ("the gain is at least half of the printed saving", 0.9, is_worth_half),
    ("not more than 2 % slower", 1.0, is_not_slower),
)


def judge(results):
    """Criteria, and lines about what missed one."""
    followed = [result for result in results if is_followed(result)]
    measured = [result for result in followed if gain(result)]
    bad = ["%s: %s" % (result["pair"]["name"], describe_missing(result))
           for result in results if not is_followed(result)]
    criteria = [Criterion("the finding is there, with advice that can be followed", len(followed),
                          len(results), 0.95, 0)]
    for text, wanted, is_met in CRITERIA:
        missed = [result for result in measured if not is_met(result)]
        bad += ["%s: not so: %s (%s)" % (result["pair"]["name"], text, numbers(result))
                for result in missed]
        criteria.append(Criterion(text, len(measured) - len(missed), len(measured), wanted,
                                  len(followed) - len(measured)))
    stays = [result for result in followed if not is_gone(result)]
    bad += ["%s: the finding stays as it was" % result["pair"]["name"] for result in stays]
    criteria.append(Criterion("the finding is gone, or says something else",
                              len(followed) - len(stays), len(followed), 0.9, 0))
    return criteria, bad


def describe_missing(result):
    finding = printed(result)
    if not finding:
        return "no %s, but %s" % (result["pair"]["finding"], result["report"]["verdict"])
    return "advice that the table does not know: %s" % finding["advice"]


def percent(value):
    return "-" if value is None else "%.0f %%" % (100 * value)


def numbers(result):
    finding, found = printed(result), gain_of(result["turns"]["pairs"])
    return "printed %s, at most %s; measured %s [%s, %s]" % (
        percent(saving_of(finding)), percent(finding["gain_most"]), percent(found.middle),
        percent(found.low), percent(found.high))


def row(result):
    """A line of the table."""
    pair, finding = result["pair"], printed(result)
    if not is_followed(result):
        return (pair["trainer"], pair["kind"], pair["finding"], "-", "-", "-", "-",
                describe_missing(result).partition(":")[0])
    found = gain_of(result["turns"]["pairs"])
    done = result["cure"]["is"] + "".join(
        " " + value for key, value in result["cure"].items() if key not in ("is", "set"))
    return (pair["trainer"], pair["kind"], pair["finding"], done, percent(saving_of(finding)),
            percent(finding["gain_most"]),
            "%s (%s to %s)" % tuple(map(percent, found)), "gone" if is_gone(result) else "stays")
