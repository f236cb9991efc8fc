#!/usr/bin/python3
"""The fault matrix: trains with faults of known size and says how often Stepscope names them.

    tests/diagnosis/matrix.py [--small] [--only PATTERN] [--folder FOLDER] [--write FILE]

STEPSCOPE_BIN is the command, STEPSCOPE_FRAMEWORKS_PYTHON an interpreter that has the frameworks
(without it only the built-in trainer is used). It takes about half an hour, and the machine should
have nothing else to do. It may be interrupted: what has been trained in FOLDER already is not
trained again. --write puts the tables into a file, between the lines that say so."""

import argparse
import datetime
import os
import statistics
import sys
import tempfile

import matrix_cases
import matrix_runs
import matrix_score

BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"


def machine_text():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return "%d cores, %s" % (os.cpu_count(), models[0] if models else "unknown")


def criteria_lines(criteria):
    yield "| criterion | met | of | part | wanted | left out |"
    yield "|---|---|---|---|---|---|"
    for one in criteria:
        part = "%.1f %%" % (100 * one.good / one.all) if one.all else "-"
        yield "| %s | %d | %d | %s | %.0f %% | %d |" % (
            one.text, one.good, one.all, part, 100 * one.wanted, one.left_out)


def confusion_lines(table):
    yield "| injected | runs | on top | confirmed from outside |"
    yield "|---|---|---|---|"
    for faults in sorted(table, key=lambda faults: (faults.count("+"), faults == "none", faults)):
        row = table[faults]
        found = ", ".join("%s %d" % pair for pair in row.on_top.most_common())
        confirmed = ", ".join("%s %d" % pair for pair in row.confirmed.most_common())
        yield "| %s | %d | %s | %s |" % (faults, sum(row.on_top.values()), found, confirmed)


def head_lines(results):
    healthy = [result for result in results if not result["case"]["faults"]]
    kinds = {(result["case"]["trainer"], result["case"]["kind"]) for result in healthy}
    yield "%d trainings on %s (%s), of them %d healthy ones of %d kinds." % (
        len(results), datetime.date.today().isoformat(), machine_text(), len(healthy), len(kinds))
    quiet = [result for result in healthy if not matrix_score.is_confirmed(result)]
    yield ("Other processes had %.0f %% of the cores in the median run. In %d of the healthy runs "
           "no counter shows a disturbance, and %d of these got a warning." % (
               100 * statistics.median(result["machine"]["others"] for result in results),
               len(quiet), sum(bool(matrix_score.warned(result)) for result in quiet)))


def text_of(results, criteria):
    lines = [*head_lines(results), "", *criteria_lines(criteria), "",
             *confusion_lines(matrix_score.confusion(results))]
    return "\n".join(lines) + "\n"


def put_between(path, begin, end, text):
    with open(path, encoding="utf-8") as file:
        before, _, rest = file.read().partition(begin)
    after = rest.partition(end)[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n" + text + end + after)


def say(text):
    print(text, flush=True)


def results_of(chosen):
    cases = [case for case in matrix_cases.all_cases(chosen.small)
             if case.trainer == "demo" or matrix_runs.PYTHON]
    if chosen.only:
        cases = matrix_cases.only(cases, chosen.only)
    with tempfile.TemporaryDirectory(prefix="stepscope-matrix-") as fresh:
        folder = os.path.abspath(chosen.folder or fresh)
        if chosen.again:
            matrix_runs.report_again(folder, cases)
        if not chosen.score:
            try:
                matrix_runs.train_all(folder, cases, say)
            except KeyboardInterrupt:
                sys.exit("\nThe same command goes on from here." if chosen.folder else 1)
        results = matrix_runs.results(folder, cases)
    missing = {case.name for case in cases} - {result["case"]["name"] for result in results}
    if missing:
        say("no result of %s" % ", ".join(sorted(missing)))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few of each")
    parser.add_argument("--only", metavar="PATTERN", action="append",
                        help="those that have this in their name, such as torch-loader-sync")
    parser.add_argument("--folder", help="where runs and results are; kept")
    parser.add_argument("--write", metavar="FILE", help="put the tables into this file")
    parser.add_argument("--score", action="store_true", help="train nothing more")
    parser.add_argument("--again", action="store_true",
                        help="let the present program look at all runs that there are")
    chosen = parser.parse_args()
    if chosen.write and (chosen.only or chosen.small):
        parser.error("the tables are those of all trainings")
    results = results_of(chosen)
    if not results:
        parser.error("nothing was trained")
    criteria, bad = matrix_score.judge(results)
    text = text_of(results, criteria)
    say("\n".join(["", *bad, "", text]))
    if chosen.write:
        put_between(chosen.write, BEGIN, END, text)
    return 0 if all(one.good >= one.wanted * one.all for one in criteria) else 1


if __name__ == "__main__":
    sys.exit(main())
