#!/usr/bin/python3
"""Checks what a reviewer would forget: white space, file sizes, names of files, banned functions.

    tests/lint/check_text.py [ROOT] <LIST     (the files, one a line, as tools/sources text gives)
"""

import os
import re
import sys

MAX_LINES = 600  # of C that is shipped: past that it is two modules
MAX_COLUMNS = 100  # in documents; clang-format sees to C
BANNED = {
    "strcpy": "memcpy, or buf.h",
    "strcat": "buf.h",
    "sprintf": "snprintf, or buf.h",
    "vsprintf": "vsnprintf, or buf.h",
    "strtok": "strchr, or a loop",
    "gmtime": "gmtime_r",
    "localtime": "localtime_r",
    "atoi": "strtol",
    "rand": "getrandom, or a generator with its own state",
}
CALL = re.compile(r"\b(" + "|".join(BANNED) + r")\s*\(")
NOT_CODE = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(match):
    """Keeps the lines of a comment, so that numbers stay right."""
    return "\n" * match.group().count("\n") or " "


def check_white_space(path, text):
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line and os.path.basename(path) != "Makefile":
            yield number, "tab"
        if line != line.rstrip():
            yield number, "white space at the end of the line"


def check_columns(text):
    """Prose of a Markdown document: not tables, links that stand alone and what is shown as it is."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        in_code ^= line.startswith("```")
        prose = not in_code and not line.startswith(("|", "    ")) and " " in line.strip()
        if prose and len(line) > MAX_COLUMNS:
            yield number, f"longer than {MAX_COLUMNS} columns"


def check_banned(text):
    for number, line in enumerate(NOT_CODE.sub(blank, text).split("\n"), 1):
        for function in CALL.findall(line):
            yield number, f"{function}() is banned; use {BANNED[function]}"


def check_file(path, text):
    """Yields (line, sentence) for all that is wrong with one file."""
    yield from check_white_space(path, text)
    if path.endswith(".md"):
        yield from check_columns(text)
    if not path.endswith((".c", ".h")):
        return
    yield from check_banned(text)
    if path.startswith(("src/", "include/", "python/", "demo/")):
        if text.count("\n") > MAX_LINES:
            yield MAX_LINES, f"longer than {MAX_LINES} lines: make it two modules"
        if not re.fullmatch(r"[a-z0-9_]+\.[ch]", os.path.basename(path)):
            yield 0, "file names are lower_snake"


def main():
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{os.path.dirname(__file__)}/../..")
    complaints = []
    first = {}
    for path in sys.stdin.read().split("\n"):
        if not path:
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8", newline="") as file:
                text = file.read()
        except UnicodeDecodeError:
            complaints.append(f"{path}:0: not UTF-8; data belongs into a folder data/ or corpus/")
            continue
        complaints += [f"{path}:{line}: {what}" for line, what in check_file(path, text)]
        if path.startswith("src/") and path.endswith((".c", ".h")):
            name = os.path.basename(path)
            if name in first:
                complaints.append(f"{path}:0: {first[name]} has the same name")
            first.setdefault(name, path)
    print("".join(f"{line}\n" for line in complaints), end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
