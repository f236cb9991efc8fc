#!/usr/bin/python3
"""Checks that texts which people read use the words of docs/glossary.md.

    tests/lint/check_wording.py [ROOT] <LIST     (the files, one a line, as tools/sources text gives)

Searched are documents and man pages, the string literals of C that is not a test, the comments of headers,
and Python that is not a test, as a whole. A text that is broken into lines or literals is searched as one:
a space of a rule stands for any white space. Lines of wording.txt that start with "all:" are searched for
everywhere.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = ("docs/glossary.md", "tests/lint/")
# For developers; their rules are cited by number, and change with the code.
RULES = ("docs/step-model.md", "docs/format.md", "docs/hooks.md")
PROGRAMS = ("src/", "demo/", "include/", "python/")
TESTS = ("tests/", "fuzz/")
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SAME_LITERAL = re.compile(r"\s*(?:[A-Z_][A-Z0-9_]*\s*)?")  # with a macro such as PRIu64 between two
APART = "\0"  # no white space
MARGIN = re.compile(r"\n[ \t]*(?:\*(?!/)|#+:?|>|--?)?[ \t]*")


def rules():
    """(everywhere, pattern, what to write) for each line of wording.txt."""
    with open(os.path.join(HERE, "wording.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line and not line.startswith("#"):
                pattern, better = line.split(" => ")
                everywhere = pattern.startswith("all:")
                pattern = pattern.removeprefix("all:").replace(" ", r"\s+")
                yield everywhere, re.compile(pattern, re.IGNORECASE), better


def blank(match):
    """As long, and on as many lines."""
    return re.sub(r"[^\n]", " ", match.group())


def only(pattern, text):
    """What is between the two characters at both ends of each match, where it was."""
    kept, at = [], 0
    for match in pattern.finditer(text):
        gap = text[at:match.start()]
        end = " " if SAME_LITERAL.fullmatch(gap) else APART
        kept += [re.sub(r"[^\n]", " ", gap), end, match.group()[1:-1], " "]
        at = match.end()
    return "".join(kept)


def joined(text):
    """With margins of comments as spaces, so that sentences are whole."""
    return MARGIN.sub(lambda match: "\n" + " " * (len(match.group()) - 1), text)


def read_by_people(path, text):
    """The texts of a file, at their places."""
    if path.endswith((".md", ".scd")):
        return [] if path in RULES or path.startswith(TESTS) else [joined(text)]
    if path.startswith((*PROGRAMS, "bench/")) and path.endswith((".c", ".h")):
        code = re.sub(r"^#include.*", blank, text, flags=re.MULTILINE)
        comments = [joined(only(COMMENT, code))] if path.endswith(".h") else []
        return [joined(only(LITERAL, COMMENT.sub(blank, code))), *comments]
    if path.startswith(("python/", "bench/")) and path.endswith((".py", ".pyi")):
        return [joined(text)]
    return []


def check_file(path, text, all_rules):
    """Yields (line, sentence) for each banned wording in a file."""
    shown = read_by_people(path, text)
    found = set()
    for everywhere, pattern, better in all_rules:
        for searched in [joined(text), *shown] if everywhere else shown:
            for match in pattern.finditer(searched):
                said = " ".join(match.group().split())
                line = 1 + searched.count("\n", 0, match.start())
                found.add((line, f"'{said}': write '{better}' (docs/glossary.md)"))
    return sorted(found)


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{HERE}/../..")
    all_rules = list(rules())
    complaints = []
    for path in sys.stdin.read().split("\n"):
        if not path or path.startswith(OWN):
            continue
        with open(os.path.join(root, path), encoding="utf-8", newline="") as file:
            text = file.read()
        complaints += [f"{path}:{line}: {what}" for line, what in check_file(path, text, all_rules)]
    print("".join(f"{line}\n" for line in complaints), end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
