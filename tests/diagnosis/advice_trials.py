#!/usr/bin/python3
"""The advice trials: trains with a fault, follows the advice that is printed to the letter, and measures
what that gains, both by turns.

    tests/diagnosis/advice_trials.py [--only PATTERN] [--folder FOLDER] [--write FILE]

STEPSCOPE_BIN is the command, STEPSCOPE_FRAMEWORKS_PYTHON an interpreter that has the frameworks. It
may be interrupted: what has been tried in FOLDER already is not tried again. --write puts the
tables into a file, between the lines that say so."""

import argparse
import datetime
import os
import sys
import tempfile
import textwrap

import advice_pairs
import advice_runs
import advice_score
from matrix import criteria_lines, machine_text, put_between, say

BEGIN, END = "<!-- trials: begin -->", "<!-- trials: end -->"


def text_of(results, criteria):
    others = [result["turns"]["machine"]["others"] for result in results
              if result["cure"] and "machine" in result["turns"]]
    head = ("%d pairs of cause and framework, tried on %s (%s); other processes used %.0f %% of the cores "
             "in the median trial." % (len(results), datetime.date.today().isoformat(),
                                       machine_text(),
                                       100 * sorted(others)[len(others) // 2] if others else 0))
    lines = [textwrap.fill(head, 100),
             "", *criteria_lines(criteria), "",
             "| framework | fault | finding | advice followed | saves | at most | measured (95 %) | after |",
             "|---|---|---|---|---|---|---|---|"]
    lines += ["| %s |" % " | ".join(advice_score.row(result)) for result in results]
    return "\n".join(lines) + "\n"


def results_of(chosen):
    pairs = advice_pairs.all_pairs()
    if chosen.only:
        pairs = advice_pairs.only(pairs, chosen.only)
    with tempfile.TemporaryDirectory(prefix="stepscope-trials-") as fresh:
        folder = os.path.abspath(chosen.folder or fresh)
        if not chosen.score:
            try:
                advice_runs.train_all(folder, pairs, say)
            except KeyboardInterrupt:
                sys.exit("\nThe same command goes on from here." if chosen.folder else 1)
        results = advice_runs.results(folder, pairs)
    missing = {pair.name for pair in pairs} - {result["pair"]["name"] for result in results}
    if missing:
        say("no result of %s" % ", ".join(sorted(missing)))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="PATTERN", action="append",
                        help="those that have this in their name, such as torch-waiting")
    parser.add_argument("--folder", help="where runs and results are; kept")
    parser.add_argument("--write", metavar="FILE", help="put the tables into this file")
    parser.add_argument("--score", action="store_true", help="train nothing more")
    chosen = parser.parse_args()
    if chosen.write and chosen.only:
        parser.error("the tables are those of all pairs")
    results = results_of(chosen)
    if not results:
        parser.error("nothing was tried")
    criteria, bad = advice_score.judge(results)
    text = text_of(results, criteria)
    say("\n".join(["", *bad, "", text]))
    if chosen.write:
        put_between(chosen.write, BEGIN, END, text)
    return 0 if all(one.good >= one.wanted * one.all for one in criteria) else 1


if __name__ == "__main__":
    sys.exit(main())
