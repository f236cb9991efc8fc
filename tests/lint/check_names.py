#!/usr/bin/python3
"""Checks that the files and functions that comments and documents name exist.

    tests/lint/check_names.py [ROOT]

Looked at are all documents and manual pages, and the comments of C, Python and shell scripts. A part of a name in capitals (the THING of cause_THING.c) or a star stands for any part. A function exists
if its name is in the code of the tree, comments aside: those of libraries that we call do, too.
"""

import io
import os
import re
import sys
import tokenize

FOLDERS = ("bench", "demo", "docs", "examples", "fuzz", "include", "proto", "python", "src",
           "tests", "tools", "web")
IGNORED = {".git", "build", "node_modules", "__pycache__"}
ENDINGS = "c|h|py|md|scd|ts|css|build|proto"
FILE = re.compile(rf"(?<![\w./*<>@-])((?:\.\./|[\w*-]+/)*[\w*.-]*[\w*]\.(?:{ENDINGS}))"
                  r"(?![\w/-]|\.\w)")
FOLDER = re.compile(rf"(?<![\w./*<>-])((?:{'|'.join(FOLDERS)})/[\w/*-]*)(?![\w/*-]|\.\w)")
FUNCTION = re.compile(r"(?<![\w-])(?:\w+\.)*([A-Za-z_]\w*)\(\)")
WORD = re.compile(r"\b((?:SS|STEPSCOPE)_[A-Z0-9_]+)\b")
TARGET = re.compile(r"`make ([\w-]+)")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
COMMENTED = ("bench/", "demo/", "examples/", "fuzz/", "include/", "python/", "src/", "tests/", "tools/")
SHELL_COMMENT = re.compile(r"(?m)^\s*#(?!!).*")
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
# Names that a document may give to what is not ours: a reader's files, functions of others.
EXAMPLES = re.compile(r"(?:.*[-/])?(?:train|lower_snake)\.(?:py|c)$|(?:cblas|pyconfig)\.h$")
MADE = {"web/node_modules"}  # by our own tools
FOREIGN = {"get_ipython", "lgamma", "SS_WORD"}


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def all_files(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - IGNORED)
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(files)]
    return found


class Tree:
    """What there is to be named."""

    def __init__(self, root):
        self.files = all_files(root)
        self.paths = set(self.files)
        for path in self.files:
            while path := os.path.dirname(path):
                self.paths.add(path)
        self.ends = {"/".join(path.split("/")[-k:]) for path in self.paths
                     for k in range(1, path.count("/") + 2)}
        self.code = set()
        for path in self.files:
            if path.endswith((".c", ".h")):
                self.code.update(re.findall(r"[A-Za-z_]\w*", COMMENT.sub(" ", read(root, path))))
            elif path.endswith((".py", ".ts", ".build")):
                self.code.update(re.findall(r"[A-Za-z_]\w*", read(root, path)))
        self.targets = set()
        if "Makefile" in self.paths:
            self.targets.update(re.findall(r"^([\w-]+):", read(root, "Makefile"), re.MULTILINE))

    def has_path(self, name, folder=""):
        """Whether a path of the tree ends like that; `../` begins at the folder of the document."""
        name = name.rstrip("/")
        if name.startswith("../"):
            return os.path.normpath(os.path.join(folder, name)) in self.paths
        if name in self.ends:
            return True
        if not re.search(r"\*|[A-Z]{3}", name):
            return False
        pattern = re.sub(r"[A-Z]{3,}", "[^/]+", re.escape(name).replace(r"\*", "[^/]*"))
        return any(re.fullmatch(pattern, end) for end in self.ends)

    def has_word(self, word):
        return word in self.code or any(other.startswith(f"{word.rstrip('_')}_")
                                        for other in self.code)


def check(tree, path, text):
    """Yields (place, sentence) for names in prose that there are none of."""
    for match in FILE.finditer(text):
        if not EXAMPLES.match(match.group(1)) and not tree.has_path(match.group(1),
                                                                    os.path.dirname(path)):
            yield match.start(), f"there is no file {match.group(1)}"
    for match in FOLDER.finditer(text):
        if match.group(1) not in MADE and not tree.has_path(match.group(1)):
            yield match.start(), f"there is no {match.group(1)}"
    for match in FUNCTION.finditer(text):
        if match.group(1) not in tree.code | FOREIGN:
            yield match.start(), f"there is no function {match.group(1)}()"
    for match in WORD.finditer(text):
        if match.group(1) not in FOREIGN and not tree.has_word(match.group(1)):
            yield match.start(), f"there is no {match.group(1)}"
    for match in TARGET.finditer(text):
        if match.group(1) not in tree.targets:
            yield match.start(), f"the Makefile has no target {match.group(1)}"


def language_of(path, text):
    """What its comments are like: "c", "py", "sh"; None: no source, or no program of ours."""
    if path.endswith((".c", ".h", ".py")):
        return "py" if path.endswith(".py") else "c"
    first = text.partition("\n")[0]
    if "." in os.path.basename(path) or not first.startswith("#!"):
        return None
    return "py" if "python" in first else "sh"


def c_comments(text):
    """Begin and end of each; a string may look like one."""
    code = STRING.sub(lambda match: " " * len(match.group()), text)
    return [match.span() for match in COMMENT.finditer(code)]


def shell_comments(text):
    return [match.span() for match in SHELL_COMMENT.finditer(text)]


def python_comments(text):
    """Comments, and strings that are statements: those that document."""
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_statement = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and is_statement):
            yield tuple(begins[line - 1] + column for line, column in (token.start, token.end))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def comments_of(language, text):
    """The same text with nothing but its comments, in their places."""
    kept = list(re.sub(r"[^\n]", " ", text))
    for begin, end in {"c": c_comments, "py": python_comments, "sh": shell_comments}[language](text):
        kept[begin:end] = text[begin:end]
    return "".join(kept)


def is_document(path):
    return path.endswith((".md", ".scd")) and "/data/" not in path


def main():
    here = os.path.dirname(__file__)
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{here}/../..")
    tree = Tree(root)
    complaints = []
    for path in tree.files:
        if not is_document(path) and not path.startswith(COMMENTED) or "/data/" in path:
            continue
        text = read(root, path)
        language = language_of(path, text)
        if language:
            text = comments_of(language, text)
        elif not is_document(path):
            continue
        complaints += [f"{path}:{text.count(chr(10), 0, place) + 1}: {what}"
                       for place, what in check(tree, path, text)]
    print("".join(f"{line}\n" for line in complaints), end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
