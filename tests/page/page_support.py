"""What the tests of the HTML page share: pages of runs of which every number is known, and a look
into them without a browser."""

import html.parser
import json
import os
import re
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "report"))

import report_runs  # noqa: E402,F401 (finds tests/cli)
from report_support import ENVIRONMENT  # noqa: E402
from support import FINE, CommandTest  # noqa: E402

MOST_BYTES = 1_000_000
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Section:
    """What a reader sees of one section, as text."""

    def __init__(self):
        self.heading = self.note = self.text = ""
        self.tables = []  # rows of cells, the titles first
        self.fields = {}  # label: text
        self.paths = []   # (class, d)
        self.labels = []  # (class, x, text) of what stands in a chart


class Page(html.parser.HTMLParser):
    """Takes a page apart. Nesting must be right: what is opened is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.sections = {}
        self.elements = []   # (tag, attributes) of all
        self.scripts = {}    # id or "": content
        self.style = ""
        self.open = []
        self.here = Section()
        self.label = None
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag in ("header", "section"):
            self.here = self.sections[attributes["id"]] = Section()
        elif tag == "table":
            self.here.tables.append([])
        elif tag == "tr":
            self.here.tables[-1].append([])
        elif tag in ("td", "th"):
            self.here.tables[-1][-1].append("")
        elif tag == "dt":
            self.label = ""
        elif tag == "dd":
            self.here.fields.setdefault(self.label, "")
        elif tag == "text":
            self.here.labels.append((attributes["class"], attributes["x"], ""))
        elif tag == "path":
            self.here.paths.append((attributes.get("class"), attributes.get("d")))
        if tag not in VOID:
            self.open.append((tag, attributes.get("id", "")))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            raise AssertionError(f"</{tag}> after {self.open[-3:]}")
        self.open.pop()

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        if tags and tags[-1] == "script":
            key = self.open[-1][1]
            self.scripts[key] = self.scripts.get(key, "") + data
            return
        if tags and tags[-1] == "style":
            self.style += data
            return
        here = self.here
        here.text += data
        if tags and tags[-1] == "text":
            kind, x, text = here.labels[-1]
            here.labels[-1] = (kind, x, text + data)
        if "small" in tags and "h2" in tags:
            here.note += data
        elif "h2" in tags:
            here.heading += data
        if "td" in tags or ("th" in tags and here.tables):
            here.tables[-1][-1][-1] += data
        elif "dt" in tags:
            self.label += data
        elif "dd" in tags:
            here.fields[self.label] += data


def shown(number):
    """(value, what half of its last digit is) of "1,084.0"."""
    decimals = len(number.partition(".")[2])
    return float(number.replace(",", "")), 0.5 * 10**-decimals


def nanoseconds(text):
    """The same of "84.0 ms"."""
    number, unit = re.fullmatch(r"<?([\d.,]+)\s*(\w+)", text.strip()).groups()
    value, half = shown(number)
    return value * UNITS[unit], half * UNITS[unit]


class PageTest(CommandTest):
    def stepscope(self, *arguments, **options):
        options["env"] = {**ENVIRONMENT, **options.pop("env", {})}
        return super().stepscope(*arguments, **options)

    def write_page(self, run="run", file="page.html", *options):
        """The page as text, and the report that it must agree with."""
        self.check(["report", "--html", file, "--force", *options, run], FINE, stdout="", stderr="")
        with open(self.path(file), encoding="utf-8") as page:
            text = page.read()
        self.assertLess(len(text.encode()), MOST_BYTES)
        return text, json.loads(self.check(["report", "--json", run], FINE).stdout)

    def page_of(self, made, **others):
        self.make_run(one=made, **others)
        text, report = self.write_page()
        return Page(text), report

    def script_data(self, page):
        """What the page gives to its script. A build without npm has none, and its pages no zoom; where
        everything must be tested that is a failure."""
        if "data" in page.scripts:
            return json.loads(page.scripts["data"])
        missing = "built without the script of the page: tools/web says why"
        if os.environ.get("CI"):
            self.fail(missing)
        self.skipTest(missing)

    def near(self, text, ns, unit=""):
        """A cell says this time, as far as its digits go."""
        value, half = nanoseconds(f"{text} {unit}")
        if text.strip().startswith("<"):
            self.assertLessEqual(ns, value)
        else:
            self.assertLessEqual(abs(value - ns), half * 1.01 + 1, (text, unit, ns))

    def number(self, text, value):
        """A cell says this number, as far as its digits go."""
        said, half = shown(text)
        self.assertLessEqual(abs(said - value), half * 1.01, (text, value))

    def share(self, text, share):
        """A cell says this share: "61.2 %"."""
        self.assertRegex(text, r"^<?[\d.]+ %$")
        delta = 0.1 if text.startswith("<") else 0.0501
        self.assertAlmostEqual(float(text.strip("<%")), 100 * share, delta=delta)
