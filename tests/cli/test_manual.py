"""The manual pages say the same as --help, and name every key of the JSON forms."""

import json
import os
import re
import subprocess
import unittest

import sample_runs
from support import FINE, TESTS, CommandTest, builder, stepscope

PAGES = os.path.join(os.path.dirname(TESTS), "docs", "man")


def one_line(text):
    return " ".join(text.split())


def sections(page):
    """The sections of a page by their titles, without the marks for bold, underlined, verbatim and escaped."""
    with open(os.path.join(PAGES, page + ".1.scd"), encoding="utf-8") as file:
        text = file.read()
    plain = re.sub(r"(?<!\\)\*([^*\n]+)\*", r"\1", text).replace("\\*", "*")
    plain = re.sub(r"(?<!\w)_([A-Z]+)_(?!\w)", r"\1", plain)
    plain = re.sub(r"^```\n", "", plain, flags=re.MULTILINE)
    parts = re.split(r"^# (.*)\n", plain, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def items(section):
    """The items of a list: what stands before the first colon, and the rest."""
    found = re.split(r"^- ", section, flags=re.MULTILINE)[1:]
    return dict(one_line(item.partition("\n\n")[0]).split(": ", 1) for item in found)


def commands():
    listed = stepscope("help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
    return dict(line.split(None, 1) for line in listed.splitlines())


class ManualPages(CommandTest):
    def test_every_command_has_a_page_that_says_what_its_help_says(self):
        for command, summary in commands().items():
            if command == "help":
                continue
            page = sections("stepscope-" + command)
            usage, details, options = re.fullmatch(
                r"Usage: ([^\n]*)\n\n(.*)\nOptions:\n(.*)", stepscope(command, "--help").stdout,
                re.DOTALL).groups()
            self.assertEqual(one_line(page["NAME"]), f"stepscope-{command} - {summary}")
            self.assertEqual(one_line(page["SYNOPSIS"]), usage)
            self.assertIn(f"stepscope {command}", page["EXAMPLES"])
            self.assertIn(one_line(details), one_line(page["DESCRIPTION"].replace("```", "")))
            self.assertEqual(items(page["OPTIONS"]),
                             dict(re.split(r"\s{2,}", line.strip(), maxsplit=1)
                                  for line in options.splitlines()))

    def test_the_page_of_the_tool_lists_all_commands(self):
        listed = items(sections("stepscope")["COMMANDS"])
        self.assertEqual({name: text.partition(";")[0] for name, text in listed.items()}, commands())

    def test_every_key_of_dump_is_named(self):
        made, at_ms = sample_runs.training(), sample_runs.at_ms
        made.block(2, builder.frame(7, 120, b"train", b"train.py"),
                   builder.sample(at_ms(1), 42, [7, 8]),
                   builder.span(at_ms(0), at_ms(2), 1, builder.PERTURBED),
                   builder.span(at_ms(3), at_ms(4), 17, builder.LOST))
        self.make_run(p=made)
        lines = self.check(["dump", "--json", "run"], FINE, stderr="").stdout.splitlines()
        found = {}
        for record in map(json.loads, lines):
            found.setdefault(record["kind"], set()).update(record)
        page = sections("stepscope-dump")["JSON"]
        common = set("kind time_ns process lane tid owner".split())
        place = set("depth nest flags".split())
        for key in common | place:
            self.assertIn(key, page)
        named = {kind: set(re.sub(r" \(.*?\)", "", text).split(", "))
                 for kind, text in items(page).items()}
        for kind, keys in found.items():
            extra = common if kind in ("name", "info", "frame", "calibration") else common | place
            self.assertEqual(keys - extra, named.pop(kind, set()), kind)
        self.assertEqual(named, {})

    def test_every_key_of_info_is_named(self):
        self.make_run(p=sample_runs.killed())
        found = json.loads(self.check(["info", "--json", "run"], FINE).stdout)
        page = items(sections("stepscope-info")["JSON"])
        self.assertEqual({key for keys in page for key in keys.split(", ")}, set(found))
        for key, inner in (("hooks", found["hooks"]), ("lost", found["lost"]),
                           ("processes", found["processes"][0]), ("lanes", found["lanes"][1]),
                           ("lanes", found["lanes"][1]["open"][0])):
            for name in inner:
                self.assertRegex(page[key], rf"\b{name}\b")

    def test_pages_are_well_formed(self):
        for page in sorted(name for name in os.listdir(PAGES) if name.endswith(".scd")):
            with open(os.path.join(PAGES, page), "rb") as source:
                try:
                    subprocess.run(["scdoc"], stdin=source, stdout=subprocess.DEVNULL, check=True)
                except FileNotFoundError:
                    self.skipTest("scdoc is not installed")


if __name__ == "__main__":
    unittest.main()
