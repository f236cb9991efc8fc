#!/usr/bin/python3
"""Checks that each section that code, documents and tests cite exists, in this repository.

    tests/lint/check_citations.py [ROOT] <LIST     (the files, as tools/sources text gives them)

"method 4.2" is section 4.2 of docs/method.md, "step model 3.1" is rule 1 of section 3 of
docs/step-model.md, "format 8.5" is item 5 of section 8 of docs/format.md; "method 4.1 to 4.3, 11.2
and 12" are several. Inside a document "section 4", "rule 4.9" and "(4.9)" are its own. All else
that looks like a citation cites what a reader does not have, or in a form that nothing checks.
"""

import os
import re
import sys

DOCUMENTS = {
    "method": "docs/method.md",
    "step model": "docs/step-model.md",
    "format": "docs/format.md",
}
NUMBER = r"\d+(?:\.\d+)*"
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?:\*|#)?[ \t]*)"  # a space, or a line of a comment that goes on
NUMBERS = rf"{NUMBER}(?:(?:,{GAP}and|,|{GAP}and|{GAP}to){GAP}{NUMBER})*"
CITATION = re.compile(rf"(?<![\w./-])(method|step{GAP}model|format){GAP}({NUMBERS})\b",
                      re.IGNORECASE)
OWN = re.compile(rf"\b(?:sections?|rules?){GAP}({NUMBERS})\b", re.IGNORECASE)
IN_BRACKETS = re.compile(rf"(?<!\w)\((\d+\.\d+(?:(?:,|{GAP}and|{GAP}to){GAP}{NUMBER})*)\)")
NOWHERE = re.compile(
    rf"\brule{GAP}?books?\b|\bdesign\.md\b|\bdesign{GAP}section\b"
    rf"|\.md\b[`)\]]*,?{GAP}(?:sections?{GAP})?\d", re.IGNORECASE)
HEADING = re.compile(rf"#+ ({NUMBER})\.? ")
ITEM = re.compile(r"(\d+)\. ")
SKIPPED = "tests/lint/"  # has examples of what is wrong


def sections_of(text):
    """Numbers of the sections of a document, and of the items of a numbered list in each."""
    found = set()
    section = None
    for line in text.split("\n"):
        heading = HEADING.match(line)
        item = ITEM.match(line)
        if heading:
            section = heading.group(1)
            found.add(section)
        elif line.startswith("#"):
            section = None
        elif item and section:
            found.add(f"{section}.{item.group(1)}")
    return found


def missing(numbers, sections):
    return [number for number in re.findall(NUMBER, numbers) if number not in sections]


def check_cited(text, sections):
    """Yields (place, sentence) for citations of other documents that do not exist."""
    for match in CITATION.finditer(text):
        name = re.sub(GAP, " ", match.group(1)).lower()
        for number in missing(match.group(2), sections[name]):
            yield match.start(), f"{DOCUMENTS[name]} has no section {number}"
    for match in NOWHERE.finditer(text):
        words = re.sub(GAP, " ", match.group())
        yield match.start(), f"'{words}' is no citation (CONTRIBUTING.md)"


def check_own(path, text, sections):
    """Yields (place, sentence) for sections of the document itself."""
    is_numbered = path in DOCUMENTS.values()
    for pattern in (OWN, IN_BRACKETS) if is_numbered else (OWN,):
        for match in pattern.finditer(text):
            for number in missing(match.group(1), sections):
                yield match.start(), f"there is no section {number} here"


def main():
    here = os.path.dirname(__file__)
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{here}/../..")
    texts = {}
    for path in sys.stdin.read().split("\n"):
        if path and not path.startswith(SKIPPED):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
    sections = {name: sections_of(texts.get(path, "")) for name, path in DOCUMENTS.items()}
    complaints = []
    for path, text in texts.items():
        found = list(check_cited(text, sections))
        found += check_own(path, text, sections_of(text) if path.endswith(".md") else set())
        complaints += [f"{path}:{text.count(chr(10), 0, place) + 1}: {what}"
                       for place, what in found]
    print("".join(f"{line}\n" for line in complaints), end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
