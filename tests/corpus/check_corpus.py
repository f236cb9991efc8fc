#!/usr/bin/python3
"""Checks that the command says the same about the corpus as before, to the byte.

    tests/corpus/check_corpus.py [--binary NEW] [--only PATTERN]...                 against expected.txt
    tests/corpus/check_corpus.py --against OLD [--binary NEW] [--only PATTERN]...   against another build
    tests/corpus/check_corpus.py --update [--binary NEW]                            writes expected.txt

NEW is STEPSCOPE_BIN or build/release/stepscope unless it is given. PATTERN is one of the shell, matched
with "run output", such as "demo/* report.txt". Against another build, and for the outputs that are kept
as text, differences are shown.
"""

import argparse
import concurrent.futures
import difflib
import fnmatch
import os
import sys
import tempfile

import corpus

WORKERS = 2
MOST_LINES = 40  # of one difference
MOST_SHOWN = 12  # differences


def lines_of(made):
    """Lines to compare; long ones, such as JSON, in pieces."""
    text = made.decode("utf-8", "backslashreplace")
    if text.count("\n") * 2000 < len(text):
        text = text.replace(",", ",\n").replace("><", ">\n<")
    return text.splitlines()


def difference(old, new, what):
    found = list(difflib.unified_diff(lines_of(old), lines_of(new), "old " + what, "new " + what,
                                      lineterm="", n=1))
    if len(found) > MOST_LINES:
        found[MOST_LINES:] = [f"... and {len(found) - MOST_LINES} lines more"]
    return "\n".join(found)


def text_path(run, output):
    return os.path.join(corpus.TEXTS, run.replace("/", "-") + "." + output)


class Check:
    """One build, or two, asked about the whole corpus or a part of it."""

    def __init__(self, folder, new, old=None, only=()):
        self.folder = folder
        self.new, self.old, self.only = new, old, only
        self.subjects = corpus.subjects(corpus.unpack(folder))
        with_script = [corpus.Program(binary, folder, folder).has_script()
                       for binary in (new, old) if binary]
        self.pages = all(with_script)

    def wanted(self, run, output):
        if output == "page.html" and not self.pages:
            return False
        return not self.only or any(fnmatch.fnmatch(f"{run} {output}", f"*{pattern}*")
                                    for pattern in self.only)

    def _program(self, binary, scratch, name):
        place = os.path.join(scratch, name)
        os.makedirs(place)
        return corpus.Program(binary, self.folder, place)

    def _ask(self, run):
        """[(run, output, old bytes or None, new bytes)]"""
        with tempfile.TemporaryDirectory(prefix="stepscope-corpus-out-") as scratch:
            new = dict(self._program(self.new, scratch, "new").outputs(run))
            old = dict(self._program(self.old, scratch, "old").outputs(run)) if self.old else {}
            return [(run, name, old[name]() if name in old else None,
                     new[name]() if name in new else b"")
                    for name in sorted({*new, *old}) if self.wanted(run, name)]

    def results(self):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for found in pool.map(self._ask, self.subjects):
                yield from found


def differences(check):
    """What is not as it was: a text for each; and how many outputs there were."""
    expected = {} if check.old else corpus.read_expected()
    seen, count, found = set(), 0, []
    for run, output, old, new in check.results():
        what = f"{run} {output}"
        count += 1
        seen.add((run, output))
        if check.old:
            if old != new:
                found.append(difference(old or b"", new, what))
        elif expected.get((run, output)) != corpus.digest(new):
            kept = text_path(run, output)
            if os.path.exists(kept):
                with open(kept, "rb") as file:
                    found.append(difference(file.read(), new, what))
            else:
                found.append(f"{what}: {expected.get((run, output), 'not there')} before, "
                             f"{corpus.digest(new)} now")
    found += [f"{run} {output}: no longer there" for run, output in sorted(set(expected) - seen)
              if check.wanted(run, output)]
    return found, count


def update(check):
    os.makedirs(corpus.TEXTS, exist_ok=True)
    for left in os.listdir(corpus.TEXTS):
        os.remove(os.path.join(corpus.TEXTS, left))
    lines = []
    for run, output, _, new in check.results():
        lines.append(f"{corpus.digest(new)}  {run}  {output}\n")
        if (run, output) in corpus.READABLE:
            with open(text_path(run, output), "wb") as file:
                file.write(new)
    with open(corpus.EXPECTED, "w", encoding="ascii") as file:
        file.writelines(sorted(lines, key=lambda line: line.split()[1:]))
    print(f"{len(lines)} outputs of {len(check.subjects)} runs and comparisons")


def main():
    root = os.path.dirname(os.path.dirname(corpus.HERE))
    usual = os.environ.get("STEPSCOPE_BIN", os.path.join(root, "build", "release", "stepscope"))
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--binary", default=usual)
    parser.add_argument("--against", default=os.environ.get("STEPSCOPE_CORPUS_AGAINST"))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--update", action="store_true")
    wish = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stepscope-corpus-") as folder:
        if wish.update:
            check = Check(folder, wish.binary)
            if not check.pages:
                return "this build has no script for its pages (tools/web): what they are is not known"
            return update(check)
        check = Check(folder, wish.binary, wish.against, wish.only)
        found, count = differences(check)
    for text in found[:MOST_SHOWN]:
        print(text)
    print(f"{count} outputs, {len(found)} differ" + ("" if check.pages else "; pages not compared"))
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
