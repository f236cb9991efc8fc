#!/usr/bin/python3
"""The HTML page in Chromium: nothing leaves it, nothing fails in it, and zooming works. With
STEPSCOPE_SCREENSHOTS=DIR pictures of it are kept there, to be looked at."""

import json
import os
import re
import subprocess
import unittest

import browser
from page_support import Page, PageTest, report_runs as runs
from test_page_values import SAMPLES, attack, machine

WIDTHS = (360, 900, 1440)
OPEN_SECONDS = 2
ESCAPE = "\ue00c"
LONG_STEPS = 3_000_000
SOAK = os.environ.get("SOAK") == "1"


def setUpModule():
    if not (browser.DRIVER and browser.CHROMIUM):
        if os.environ.get("CI"):
            raise RuntimeError("chromium and chromedriver are missing: tools/setup browser")
        raise unittest.SkipTest("chromium and chromedriver are not installed")
    unittest.addModuleCleanup(lambda: BrowserTest.browser.close())
    BrowserTest.browser = browser.Browser()


class BrowserTest(PageTest):
    browser = None

    def open_page(self, made=None, fragment="", run="run", **others):
        """Opens the page of a run, and looks whether it asked for anything."""
        if made:
            self.make_run(run, one=made, **others)
        text, report = self.write_page(run)
        self.browser.look(1440)
        self.browser.open(self.path("page.html"), fragment)
        self.assertEqual(self.browser.log("browser"), [])
        self.assertEqual({url.partition("#")[0] for url in self.browser.requests()},
                         {f"file://{self.path('page.html')}"})
        return Page(text), report

    def js(self, script, *arguments):
        return self.browser.run(script, *arguments)

    def screenshot(self, name):
        folder = os.environ.get("STEPSCOPE_SCREENSHOTS")
        if folder:
            self.browser.screenshot(os.path.join(folder, name + ".png"))


def long_names():
    """A run whose names have no place to break at."""
    long = b"n" * 80
    names = [(1, b"a" + long, b"", runs.DATA, 0, 0), (2, b"b" + long, b"", runs.FORWARD, 0, 0),
             (5, b"c" + long, b"C" + long, runs.CALLBACK, 0, 2), (10, long, b"", 0, 0, 0)]
    thread = runs.Thread()
    thread.loop(True)
    for i in range(200):
        thread.mark(runs.step, 1)
        for number in (1, 2, 5):
            thread.span(number, runs.MS * (10 if i % 50 == 7 else 1))
    thread.loop(False)
    return runs.process(thread, names=names)


class Looks(BrowserTest):
    def test_widths(self):
        """At no width does the page reach over its edge, and no label of a bar lies on another."""
        self.open_page(runs.full())
        for width in WIDTHS:
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    self.browser.look(width, dark=dark)
                    wide = self.js("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width)
                    boxes = self.js("return [...document.querySelectorAll('svg.stack text')]"
                                    ".map(t => t.getBoundingClientRect())"
                                    ".filter(r => r.width > 0).map(r => [r.left, r.right, r.top])")
                    for row in {box[2] for box in boxes}:
                        ends = sorted(box[:2] for box in boxes if box[2] == row)
                        for (_, right), (left, _) in zip(ends, ends[1:]):
                            self.assertLessEqual(right, left)
                    self.screenshot(f"full-{width}-{'dark' if dark else 'light'}")

    def test_widths_with_a_machine(self):
        """The lines of its charts, with their numbers and notes, stay inside too."""
        self.open_page(machine.train(), samples=machine.samples(SAMPLES))
        for width in WIDTHS:
            self.browser.look(width)
            self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), width)
            self.screenshot(f"machine-{width}")

    def test_narrow_names(self):
        """Names of 80 characters without a space do not make a narrow page wider, and words of ours
        stay whole."""
        self.open_page(long_names())
        self.browser.look(360)
        self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 360)
        broken = self.js(
            "return [...document.querySelectorAll('td')].filter(td => {"
            " if (td.textContent !== 'forward') return false;"
            " const range = document.createRange(); range.selectNodeContents(td);"
            " return range.getClientRects().length > 1 }).length")
        self.assertEqual(broken, 0)

    def test_labels(self):
        """Charts and boxes that scroll have names for those who cannot see them."""
        self.open_page(runs.full())
        for selector in (".table", ".plot.live canvas", "svg.stack", "svg.spans"):
            unnamed = self.js("return [...document.querySelectorAll(arguments[0])].filter(e => "
                              "!e.getAttribute('role') || !e.getAttribute('aria-label')).length",
                              selector)
            self.assertEqual(unnamed, 0, selector)

    def test_contrast_of_bars(self):
        """So can what stands on the parts of the bars."""
        thread = runs.steady(steps=100)
        thread.wait(2000 * runs.MS)
        thread.span(8, 3 * runs.MS, 0)
        self.open_page(runs.process(thread))
        for dark in (False, True):
            self.browser.look(900, dark=dark)
            pairs = self.js(
                "const fill = e => getComputedStyle(e).fill;"
                "return [...document.querySelectorAll('svg.stack text')].map(t => "
                "[t.textContent, fill(t), fill(t.previousElementSibling)])"
                ".filter(p => p[2].startsWith('rgb'))")
            self.assertTrue(pairs)
            for text, ink, ground in pairs:
                self.assertGreaterEqual(contrast(ink, ground), 4.5, (text, dark))

    def test_contrast(self):
        """Text can be read on its ground, light and dark: 4.5 to 1 at least."""
        self.open_page(runs.full())
        for dark in (False, True):
            self.browser.look(900, dark=dark)
            for selector in ("p", "h1", "dt", "dd", "nav a", "td", "th", ".verdict", "small"):
                colours = self.js(
                    "const e = document.querySelector(arguments[0]); let ground = e;"
                    "while (ground && /, 0\\)$/.test(getComputedStyle(ground).backgroundColor))"
                    " ground = ground.parentElement;"
                    "return [getComputedStyle(e).color, getComputedStyle(ground || document.body)"
                    ".backgroundColor]", selector)
                self.assertGreaterEqual(contrast(*colours), 4.5, (selector, dark, colours))

    def test_keyboard(self):
        """Tab reaches the links, the tables that scroll and the buttons."""
        self.open_page(runs.full())
        reached = set()
        for _ in range(40):
            self.browser.press("\ue004")
            reached.add(self.js("const e = document.activeElement;"
                                "return e.tagName + '.' + e.className"))
        self.assertIn("A.", reached)
        self.assertIn("DIV.table", reached)

    def test_without_script(self):
        """All charts are there and visible, drawn by C alone."""
        self.make_run(one=runs.full())
        self.write_page()
        self.browser.look(1440)
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.open(self.path("page.html"))
            self.screenshot("without-script")
            root = self.browser.devtools("DOM.getDocument", depth=1)["root"]["nodeId"]
            frames = self.browser.devtools("DOM.querySelectorAll", nodeId=root,
                                           selector=".frame")["nodeIds"]
            self.assertGreaterEqual(len(frames), 3)
            for node in frames:
                box = self.browser.devtools("DOM.getBoxModel", nodeId=node)["model"]
                self.assertGreater(box["width"], 500)
                self.assertGreater(box["height"], 80)
            self.assertEqual(self.browser.devtools(
                "DOM.querySelectorAll", nodeId=root, selector=".uplot")["nodeIds"], [])
        finally:
            self.browser.devtools("Emulation.setScriptExecutionDisabled", value=False)

    def test_print(self):
        self.open_page(runs.full())
        self.browser.devtools("Emulation.setEmulatedMedia", media="print")
        try:
            shown = self.js("return [...document.querySelectorAll('.frame')].every(f => "
                            "f.getBoundingClientRect().height > 80)")
            self.assertTrue(shown)
            self.assertEqual(self.js("return getComputedStyle(document.querySelector('nav'))"
                                     ".display"), "none")
        finally:
            self.browser.devtools("Emulation.setEmulatedMedia", media="")


def contrast(one, other):
    """The ratio of WCAG of two colours as CSS writes them."""
    def light(colour):
        parts = [float(n) / 255 for n in re.findall(r"[\d.]+", colour)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


class Zoom(BrowserTest):
    def setUp(self):
        super().setUp()
        self.page, self.report = self.open_page(runs.full())
        self.data = self.script_data(self.page)

    def selected(self):
        """The stretch in the address; None: all of it."""
        found = re.search(r"#t=([\d.]+)-([\d.]+)$", self.js("return location.href"))
        return found and (float(found.group(1)), float(found.group(2)))

    def summary(self):
        return self.js("return document.querySelector('#brush output').textContent")

    def test_summary_is_the_report(self):
        """Without a selection it is about all steps."""
        self.assertIn(f"{self.report['steps']['count']} steps", self.summary())

    def test_brush(self):
        """What is dragged over in one chart is what all show, and what the address says."""
        self.browser.drag(self.browser.find(".plot[data-chart=steps] .u-over"), 0.25, 0.5)
        begin, end = self.data["begin"], self.data["end"]
        from_, to = self.selected()
        self.assertAlmostEqual((from_ - begin) / (end - begin), 0.25, delta=0.01)
        self.assertAlmostEqual((to - begin) / (end - begin), 0.5, delta=0.01)
        steps = self.data["steps"]
        inside = sum(n for start, end, n in zip(steps["start"], steps["end"], steps["steps"])
                     if end >= from_ and start <= to)
        self.assertIn(f": {inside} steps of ", self.summary())
        self.assertLess(inside, self.report["steps"]["count"])
        slow = self.js("return [...document.querySelectorAll('figure.step')].map(f => "
                       "[Number(f.dataset.start), f.classList.contains('outside')])")
        self.assertTrue(slow)
        for start, outside in slow:
            self.assertEqual(outside, not from_ <= start <= to)
        self.screenshot("zoomed")
        self.browser.press(ESCAPE)
        self.assertIsNone(self.selected())
        self.assertIn(f"{self.report['steps']['count']} steps", self.summary())
        self.assertEqual(self.browser.log("browser"), [])
        self.js("location.hash = '#stages'")
        self.browser.press(ESCAPE)  # nothing is selected: the address stays
        self.assertTrue(self.js("return location.href").endswith("#stages"))

    def test_address(self):
        """A page that is opened with a stretch in its address shows it."""
        middle = (self.data["begin"] + self.data["end"]) / 2
        self.open_page(fragment=f"#t=0-{middle:.3f}")
        self.assertNotIn(f"{self.report['steps']['count']} steps", self.summary())
        self.open_page(fragment="#t=9-1")
        self.assertIn(f"{self.report['steps']['count']} steps", self.summary())
        self.open_page(fragment="#stages")
        self.assertGreater(self.js("return window.scrollY"), 0)

    def test_buttons(self):
        press = "document.querySelector(`#brush button[title=${arguments[0]}]`).click()"
        self.js(press, "'zoom in'")
        first = self.selected()
        length = self.data["end"] - self.data["begin"]
        self.assertAlmostEqual(first[1] - first[0], length / 2, delta=0.001)
        self.js(press, "'later'")
        self.assertGreater(self.selected()[0], first[0])
        self.js(press, "'zoom out'")
        self.js(press, "'zoom out'")
        self.assertIsNone(self.selected())

    def test_hover(self):
        """The legend says which step is below the pointer, and how long it took."""
        self.browser.drag(self.browser.find(".plot[data-chart=stack] .u-over"), 0.5, 0.5)
        legend = self.js("return document.querySelector('.plot[data-chart=steps] .u-legend')"
                         ".textContent")
        self.assertRegex(legend, r"steps? \d+")
        self.assertRegex(legend, r"mean:?\s*[\d.]+ ms")

    def test_hover_over_the_machine(self):
        """The tables say what was at the pointer, in a column that has a title then."""
        self.open_page(machine.train(), run="other", samples=machine.samples(SAMPLES))
        cells = ("return [...document.querySelectorAll('.lines')].map(t => "
                 "[...t.querySelectorAll('.at')].map(c => c.textContent))")
        self.assertEqual({text for table in self.js(cells) for text in table}, {""})
        self.browser.drag(self.browser.find(".plot[data-chart=stack] .u-over"), 0.5, 0.5)
        self.assertIn(["here", "40"], self.js(cells))
        self.assertEqual({title for title, *_ in self.js(cells)}, {"here"})

    def test_colours_follow(self):
        self.browser.look(900, dark=True)
        count = "return document.querySelectorAll(arguments[0]).length"
        self.assertGreater(self.js(count, ".plot.live"), 1)
        self.assertEqual(self.js(count, ".plot.live"), self.js(count, ".plot.live .uplot"))
        self.assertEqual(self.browser.log("browser"), [])


class Hostile(BrowserTest):
    def test_names(self):
        """Nothing of a run is run, and it does not become an element."""
        page, _ = self.open_page(attack())
        self.assertIsNone(self.js("return window.hit"))
        self.assertEqual(self.js("return document.querySelectorAll('img').length"), 0)
        self.assertEqual(self.js("return document.scripts.length"), len(page.scripts))
        self.js("document.querySelectorAll('*')"
                ".forEach(e => e.dispatchEvent(new Event('mouseover')))")
        self.assertIsNone(self.js("return window.hit"))
        self.screenshot("hostile")

    def test_policy_holds(self):
        """What an attacker put into the page would not be run."""
        self.open_page(runs.healthy())
        self.js("const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
                "document.body.append(s)")
        self.assertIsNone(self.js("return window.hit"))
        self.assertTrue(any("Content Security Policy" in entry["message"]
                            for entry in self.browser.log("browser")))


class Long(BrowserTest):
    def test_long_run(self):
        """However many steps there were, the page is small, and there in a moment: `make soak` has
        ten million spans, and holds the browser to its two seconds."""
        steps = LONG_STEPS if SOAK else LONG_STEPS // 20
        subprocess.run([os.environ["STEPSCOPE_RECORD_PROGRAM"], self.path("run"), str(steps)],
                       check=True, stdout=subprocess.DEVNULL, timeout=600,
                       env={**os.environ, "STEPSCOPE_CAP": "4G"})
        page, report = self.open_page()
        self.assertGreater(report["run"]["spans"], steps)  # at full speed, some may be dropped
        took = self.js("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        self.assertGreater(took, 0)
        if SOAK:
            self.assertGreater(report["run"]["spans"], 10_000_000)
            self.assertLess(took, OPEN_SECONDS * 1000)
        data = self.script_data(page)["steps"]
        self.assertEqual(sum(data["steps"]), report["steps"]["count"])
        longest = report["steps"]["steady"]["max_ns"]
        self.assertGreaterEqual(max(data["max"]) * 1e6 + 1000, longest)


if __name__ == "__main__":
    unittest.main()
