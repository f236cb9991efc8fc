#!/usr/bin/python3
"""The fault matrix: trains with faults of known size and says how often Stepscope names them.

    tests/diagnosis/matrix.py [--small] [--folder FOLDER] [--write FILE]

STEPSCOPE_BIN is the command, STEPSCOPE_FRAMEWORKS_PYTHON an interpreter that has the frameworks
(without it only the built-in trainer is used). What has been trained in FOLDER already is not trained
again. --write puts the tables into a file, between the lines that say so."""

import argparse
import datetime
import os
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
        part = one.good / one.all if one.all else float("nan")
        yield "| %s | %d | %d | %.1f %% | %.0f %% | %d |" % (
            one.text, one.good, one.all, 100 * part, 100 * one.wanted, one.left_out)


def confusion_lines(table):
    yield "| injected | runs | on top |"
    yield "|---|---|---|"
    for row in sorted(table, key=lambda row: (row.count("+"), row == "none", row)):
        found = ", ".join("%s %d" % pair for pair in table[row].most_common())
        yield "| %s | %d | %s |" % (row, sum(table[row].values()), found)


def text_of(results, criteria):
    kinds = {(result["case"]["trainer"], result["case"]["kind"]) for result in results
             if not result["case"]["faults"]}
    others = sorted(result["machine"]["others"] for result in results)
    when = datetime.date.today().isoformat()
    lines = ["%d trainings on %s (%s); healthy ones of %d kinds. Other processes had %.0f %% of the "
             "cores in the median run." % (len(results), when, machine_text(), len(kinds),
                                           100 * others[len(others) // 2]),
             "", *criteria_lines(criteria), "", *confusion_lines(matrix_score.confusion(results))]
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path, encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    after = rest.partition(END)[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + text + END + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="a few of each")
    parser.add_argument("--folder", help="where runs and results are; kept")
    parser.add_argument("--write", metavar="FILE", help="put the tables into this file")
    parser.add_argument("--score", action="store_true", help="train nothing more")
    chosen = parser.parse_args()
    cases = [case for case in matrix_cases.all_cases(chosen.small)
             if case.trainer == "demo" or matrix_runs.PYTHON]
    with tempfile.TemporaryDirectory(prefix="stepscope-matrix-") as fresh:
        folder = os.path.abspath(chosen.folder or fresh)
        if not chosen.score:
            matrix_runs.train_all(folder, cases, lambda text: print(text, flush=True))
        results = matrix_runs.results(folder, cases)
    criteria, bad = matrix_score.judge(results)
    text = text_of(results, criteria)
    print("\n".join(bad) + "\n\n" + text, flush=True)
    if chosen.write:
        write(chosen.write, text)
    return 0 if all(one.good >= one.wanted * one.all for one in criteria) else 1


if __name__ == "__main__":
    sys.exit(main())
