#!/usr/bin/python3
"""The foreign scripts: trainings as people write them, with what is expected of each, and what is said.

    tests/diagnosis/foreign.py [--only PATTERN] [--folder FOLDER] [--write FILE]

STEPSCOPE_BIN is the command, STEPSCOPE_FRAMEWORKS_PYTHON an interpreter that has the frameworks.
Each script runs once recorded and once without. It may be interrupted: what has been run in FOLDER
already is not run again. --write puts the table into a file, between the lines that say so."""

import argparse
import datetime
import os
import sys
import tempfile
import textwrap

import foreign_cases
import foreign_runs
import foreign_score
from matrix import machine_text, put_between, say

BEGIN, END = "<!-- foreign: begin -->", "<!-- foreign: end -->"
WANTED = 23 / 25  # of the verdicts


def text_of(results, criteria):
    others = sorted(result["machine"]["others"] for _, result in results)
    head = ("%d scripts, run on %s (%s). Other processes had %.0f %% of the cores in the median run."
            % (len(results), datetime.date.today().isoformat(), machine_text(),
               100 * others[len(others) // 2]))
    lines = [textwrap.fill(head, 100), "", "| right | of %d |" % len(results), "|---|---|"]
    lines += ["| %s | %d |" % (one.text, one.good) for one in criteria]
    lines += ["", "| script | expected | said | steps | evaluations | largest stage | to be named | "
              "result |", "|---|---|---|---|---|---|---|---|"]
    lines += ["| %s |" % " | ".join(foreign_score.row(one, result)) for one, result in results]
    return "\n".join(lines) + "\n"


def results_of(chosen):
    cases = foreign_cases.only(chosen.only) if chosen.only else foreign_cases.CASES
    with tempfile.TemporaryDirectory(prefix="stepscope-foreign-") as fresh:
        folder = os.path.abspath(chosen.folder or fresh)
        if chosen.again:
            foreign_runs.report_again(folder, cases)
        if not chosen.score:
            try:
                foreign_runs.run_all(folder, cases, say)
            except KeyboardInterrupt:
                sys.exit("\nThe same command goes on from here." if chosen.folder else 1)
        results = foreign_runs.results(folder, cases)
    missing = {one.name for one in cases} - {one.name for one, _ in results}
    if missing:
        say("no result of %s" % ", ".join(sorted(missing)))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="PATTERN", action="append",
                        help="those that have this in their name, such as keras")
    parser.add_argument("--folder", help="where runs and results are; kept")
    parser.add_argument("--write", metavar="FILE", help="put the table into this file")
    parser.add_argument("--score", action="store_true", help="run nothing more")
    parser.add_argument("--again", action="store_true",
                        help="let the present program look at all runs that there are")
    chosen = parser.parse_args()
    if chosen.write and chosen.only:
        parser.error("the table is that of all scripts")
    results = results_of(chosen)
    if not results:
        parser.error("nothing was run")
    criteria = foreign_score.criteria_of(results)
    text = text_of(results, criteria)
    say("\n" + text)
    if chosen.write:
        put_between(chosen.write, BEGIN, END, text)
    verdicts = next(one for one in criteria if one.text == "verdict")
    return 0 if verdicts.good >= WANTED * verdicts.all else 1


if __name__ == "__main__":
    sys.exit(main())
