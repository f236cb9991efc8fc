#!/usr/bin/python3
"""The HTML page without a browser: it says what the report says, is whole without a script, and no
name of a run can leave its place."""

import base64
import hashlib
import json
import math
import os
import re
import signal
import sys
import unittest

from page_support import FINE, TESTS, Page, PageTest, nanoseconds, report_runs as runs
from support import DATA, PROGRAM, USAGE, loaded

sys.path.insert(0, os.path.join(TESTS, "diagnosis"))

import test_report_own_code as own_code  # noqa: E402
import test_scripted_machine as machine  # noqa: E402

ATTACKS = [b"<script>window.hit=1</script>", b"</script><script>window.hit=2</script>",
           b"\"><img src=x onerror=window.hit=3>", b"' onmouseover='window.hit=4",
           b"</title></style>&lt;b&gt;", b"<!--", b"]]>", b"\x1b[31mred\x1b[0m",
           b"\xff\xfe\xc0", "\u202eltr\u202c".encode(),
           b"javascript:window.hit=5", "\u05d0\u05d1 \u524d".encode()]


def attack():
    """A run whose every text is an attack on a page."""
    stages = (runs.DATA, runs.FORWARD, runs.CALLBACK, runs.USER)
    names = [(i + 1, text, text[:20] + b"#2", stages[i % 4], 0, i % 7)
             for i, text in enumerate(ATTACKS)]
    thread = runs.Thread(text=ATTACKS[0])
    thread.mark(runs.hook, ATTACKS[1], ATTACKS[2], flags=runs.FAILED)
    for loop in (1, 2):
        thread.loop(True, loop)
        for i in range(40):
            thread.mark(runs.step, 1)
            for number in range(len(ATTACKS)):
                thread.span(number + 1, runs.MS * (10 if i == 30 else 1))
        thread.loop(False, loop)
    keys = (b"host", b"python", b"torch", b"cpu")
    extra = [runs.info(key, text) for key, text in zip(keys, ATTACKS)]
    made = runs.process(thread, names=names, control=extra)
    at_command = bytes(made.data).index(b"python train.py --epochs 3")
    made.data[at_command:at_command + 26] = b"</pre><script>x</script>!!"
    return made


def plain(text):
    """With spaces that may break."""
    return text.replace("\xa0", " ")


class Values(PageTest):
    def test_stages(self):
        page, report = self.page_of(runs.full())
        section = page.sections["stages"]
        unit = section.note.split(",")[0]
        titles, *rows = section.tables[0]
        seen = {row[0]: dict(zip(titles, row)) for row in rows}
        for stage, values in report["stages"].items():
            self.assertEqual(stage in seen, values is not None)
            if values:
                self.near(seen[stage]["mean"], values["mean_ns"], unit)
                self.share(seen[stage]["share"], values["share"])
                self.near(seen[stage]["p50"], values["p50_ns"], unit)
                self.near(seen[stage]["p99"], values["p99_ns"], unit)
        self.near(seen["step"]["mean"], report["steps"]["steady"]["mean_ns"], unit)

    def test_books(self):
        page, report = self.page_of(runs.full())
        section = page.sections["run"]
        unit = section.note.split()[0]
        rows = {row[0]: row for row in section.tables[0][1:]}
        for segment, ns in report["books"].items():
            if segment != "wall_ns" and ns != 0:
                self.near(rows[segment[:-3]][2], ns, unit)
        self.near(rows["sum"][2], report["books"]["wall_ns"], unit)

    def test_head(self):
        page, report = self.page_of(runs.full())
        head = page.sections["verdict"]
        self.assertEqual(report["verdict"], "input-bound")
        self.assertIn("input-bound", head.text)
        self.assertIn(report["findings"][0]["claim"], plain(head.text))
        text = plain(head.text)
        self.assertIn("Try first " + report["findings"][0]["advice"], text)
        said = re.search(r"Saves ([\d.]+) of ([\d.]+)\s(ms) per step \((\d+)\s%\) if all of it goes; "
                         r"possibly .*?([\d.]+)x as fast: ", text)
        found, step_ns = report["findings"][0], report["steps"]["steady"]["mean_ns"]
        self.near(said.group(1), step_ns * found["saving"], said.group(3))
        self.near(said.group(2), step_ns, said.group(3))
        self.assertAlmostEqual(int(said.group(4)), 100 * found["saving"], delta=0.51)
        self.assertAlmostEqual(float(said.group(5)), 1 / (1 - found["gain_most"]), delta=0.051)
        median = re.search(r"Median step ([\d.]+) (\w+) p95 ([\d.]+) (\w+)", text)
        steady = report["steps"]["steady"]
        self.near(median.group(1), steady["p50_ns"], median.group(2))
        self.near(median.group(3), steady["p95_ns"], median.group(4))
        speed = float(re.search(r"Speed ([\d.]+) steps/s", text).group(1))
        self.assertAlmostEqual(speed / report["throughput"]["steps_per_s"], 1, delta=0.01)
        self.assertRegex(text, r"Confidence (high|good|fair|low) [\d,]+ steady steps")

    def test_bars_add_up(self):
        page, _ = self.page_of(runs.full())
        parts = [float(attributes["width"][:-1]) for tag, attributes in page.elements
                 if tag == "rect" and attributes["class"].startswith("s-")
                 and attributes.get("x", "").endswith("%") and "y" not in attributes]
        self.assertGreater(len(parts), 1)
        self.assertAlmostEqual(sum(parts), 100, delta=0.01)

    def test_findings_and_callbacks(self):
        page, report = self.page_of(runs.full())
        text = plain(page.sections["findings"].text)
        for finding in report["findings"]:
            in_head = ("claim", "advice") if finding is report["findings"][0] else ()
            for key in ("claim", "evidence", "advice", "check", "unknown"):
                self.assertEqual(finding[key] in text, key not in in_head or not finding[key], key)
        section = page.sections["names"]
        total = re.search(r"self (\w+)", section.note).group(1)
        rows = {row[0]: row for row in section.tables[0][1:]}
        self.assertEqual(section.heading.strip(), "Callbacks")
        for span in report["spans"]:
            if span["stage"] == "callback":
                row = next(row for name, row in rows.items() if name.startswith(span["name"]))
                self.assertEqual(int(row[1]), span["count"])
                self.near(row[2], span["total_ns"], total)

    def test_nothing_is_said_twice(self):
        for name, made in (("full", runs.full), ("healthy", runs.healthy), ("killed", runs.killed),
                           ("too few", runs.too_few)):
            self.make_run(name, one=made())
            text, report = self.write_page(name)
            page = Page(text)
            text = plain(" ".join(section.text for section in page.sections.values()))
            for finding in report["findings"]:
                for key in ("claim", "advice"):
                    if finding[key]:
                        self.assertEqual(text.count(finding[key]), 1, (name, finding[key]))

    def test_slowest(self):
        page, report = self.page_of(runs.full())
        section = page.sections["slowest"]
        unit = section.note.split(",")[0]
        for row, slow in zip(section.tables[0][1:], report["slowest"]):
            self.assertEqual(int(row[0].replace(",", "")), slow["step"])
            self.near(row[1], slow["time_ns"], unit)
        first = report["slowest"][0]
        self.assertIn(f"Step {first['step']}", section.text)
        self.assertIn("longest: next batch", section.text)
        self.assertEqual(len(section.tables[0]) - 1, len(re.findall(r"Step \d+ ", section.text)))

    def test_spans_are_called_alike(self):
        """In the slowest steps as in the table of spans."""
        thread = runs.Thread()
        thread.loop(True)
        for i in range(100):
            thread.mark(runs.step, 1)
            thread.span(1, runs.MS)
            thread.span(4, runs.MS * (30 if i % 12 == 5 else 1))
        thread.loop(False)
        page, report = self.page_of(runs.process(thread, names=[
            (1, b"next batch", b"", runs.DATA, 0, 0), (4, b"step", b"Adam", runs.OPTIMIZER, 1, 0),
            (10, b"train", b"", 0, 0, 0)]))
        section = page.sections["slowest"]
        self.assertIn("longest: Adam.step 30.0 ms", section.text)
        self.assertEqual(len(report["slowest"]), 8)
        self.assertEqual(len(section.tables[0]) - 1, 8)

    def test_every_step_is_in_the_chart(self):
        """The longest step is not smoothed away, and sums are those of the steps."""
        page, _ = self.page_of(runs.process(runs.steady(
            steps=5000, slow=lambda i: 90 * runs.MS if i == 3333 else 0)))
        lines = self.check(["report", "--steps", "--json", "run"], FINE).stdout.splitlines()
        steps = [json.loads(line) for line in lines]
        longest = max(step["time_ns"] for step in steps)
        top = page.sections["steps"].paths[0]
        self.assertEqual(top[0], "envelope")
        highest = min(float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)H", top[1]))
        self.assertLess(highest, 180 * 0.2)
        data = self.script_data(page)["steps"]
        self.assertLessEqual(len(data["start"]), 2000)
        self.assertEqual(sum(data["steps"]), len(steps))
        self.assertAlmostEqual(max(data["max"]), longest / 1e6, delta=0.001)
        shortest = min(step["time_ns"] for step in steps)
        self.assertAlmostEqual(min(data["min"]), shortest / 1e6, delta=0.001)
        self.assertIn(3333, data["slowest"])
        for stage in data["stages"]:
            total = sum(mean * count for mean, count in zip(stage["mean"], data["steps"]))
            exact = sum(step["stages_ns"].get(stage["name"], 0) for step in steps) / 1e6
            self.assertAlmostEqual(total, exact, delta=exact * 1e-5 + 0.01)

    def test_a_slow_step_does_not_flatten_the_others(self):
        thread = runs.Thread()
        thread.loop(True)
        for i in range(200):
            thread.mark(runs.step, 1)
            thread.span(1, runs.MS * (700 if i == 0 else 10))
        thread.loop(False)
        page, report = self.page_of(runs.process(thread, names=[
            (1, b"next batch", b"", runs.DATA, 0, 0), (10, b"train", b"", 0, 0, 0)]))
        data = self.script_data(page)["steps"]
        self.assertTrue(12 <= data["top"] <= 20, data["top"])
        self.assertGreaterEqual(data["log_top"], 700)
        said = plain(page.sections["steps"].text)
        self.assertIn("the longest, step 0, took 700 ms", said)
        marks = [attributes for tag, attributes in page.elements
                 if tag == "text" and "beyond" in attributes.get("class", "")]
        self.assertEqual(len(marks), 1)
        self.assertEqual(report["steps"]["count"], 200)

    def test_no_step_is_marked_where_all_are_alike(self):
        page, _ = self.page_of(runs.healthy())
        data = self.script_data(page)["steps"]
        self.assertGreaterEqual(data["top"], max(data["max"]))
        self.assertNotIn("▲", page.sections["steps"].text)

    def test_each_stage_has_a_colour_of_its_own(self):
        self.make_run(one=runs.full())
        text, report = self.write_page()
        style = re.search(r"<style>(.*?)</style>", text, re.DOTALL).group(1)
        light = dict(re.findall(r"--(\w+): (#\w+)", style[:style.index("@media")]))
        stages = [*report["stages"], "eval", "infer", "checkpoint", "produce", "user"]
        self.assertEqual(len({light[stage] for stage in stages}), len(stages))
        for stage in stages:
            self.assertIn(f".s-{stage} {{ fill: var(--{stage}); }}", style)

    def test_the_slowest_steps_are_drawn_by_stage(self):
        page, report = self.page_of(runs.full())
        bars = {}
        for tag, attributes in page.elements:
            if tag == "rect" and attributes.get("y") == "0" and attributes["height"] == "18":
                bars.setdefault(attributes["class"], []).append(float(attributes["width"][:-1]))
        first = report["slowest"][0]
        share = 100 * first["stages_ns"]["data"] / first["time_ns"]
        self.assertAlmostEqual(bars["s-data"][0], share, delta=0.01)
        drawn = len(page.sections["slowest"].tables[0]) - 1
        self.assertAlmostEqual(sum(map(sum, bars.values())), 100 * drawn, delta=0.1)

    def test_histogram(self):
        page, report = self.page_of(runs.changing("spikes"))
        (kind, path), = [p for p in page.sections["spread"].paths]
        self.assertEqual(kind, "histogram")
        begins = [float(x) for x in re.findall(r"M([\d.]+) ", path)]
        self.assertGreaterEqual(len(begins), 3)  # the bulk, and the spikes far to the right
        self.assertLess(begins[0], 100)
        self.assertGreater(begins[-1], 900)
        highest = min(float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)H", path))
        self.assertGreater(highest, 10 + 2 * 13)  # where the last of the quantiles has its name
        self.assertEqual(report["steps"]["steady"]["count"], 600)

    def test_quantiles_of_the_spread(self):
        """Each says its value, and stands where the axis, which is logarithmic, has it."""
        page, report = self.page_of(runs.changing("spikes"))
        labels = page.sections["spread"].labels
        ticks = [(float(x[:-1]), math.log(nanoseconds(text)[0])) for kind, x, text in labels
                 if kind == "x"]
        (x1, log1), (x2, log2) = ticks[0], ticks[-1]
        seen = {text.split(" ", 1)[0]: (float(x[:-1]), text.split(" ", 1)[1])
                for kind, x, text in labels if kind == "quantile"}
        self.assertEqual(list(seen), ["p50", "p95", "p99"])
        for key, (percent, text) in seen.items():
            ns = report["steps"]["steady"][key + "_ns"]
            self.near(text, ns)
            place = x1 + (x2 - x1) * (math.log(ns) - log1) / (log2 - log1)
            self.assertAlmostEqual(percent, place, delta=0.05)

    def test_ranks(self):
        page, report = self.page_of(runs.rank(0), two=runs.rank(1))
        section = page.sections["loops"]
        self.assertEqual(len(section.tables[0]) - 1, len(report["loops"]))
        wanted = [f"loop {i}, rank {loop['rank']}" for i, loop in enumerate(report["loops"])]
        self.assertEqual([row[0] for row in section.tables[1]], wanted)

    def test_many_ranks(self):
        """Of more loops than there are strips the first one still has all its steps."""
        ranks = {f"r{i}": runs.rank(i, world=140, steps=40) for i in range(140)}
        page, report = self.page_of(ranks.pop("r0"), **ranks)
        self.assertEqual(len(report["loops"]), 140)
        self.assertIn("steps", page.sections)
        self.assertNotIn("are drawn", page.sections["steps"].text)
        self.assertIn("and 124 more", page.sections["loops"].text)
        data = self.script_data(page)["steps"]
        self.assertEqual(sum(data["steps"]), report["steps"]["count"])

    def test_command_and_method(self):
        page, report = self.page_of(runs.full())
        self.assertIn("python train.py --epochs 3", page.sections["command"].text)
        self.assertIn("2025-11-15 09:46:40 UTC on box", page.sections["command"].text)
        self.assertIn(f"{report['run']['spans']:,} spans", page.sections["method"].text)

    def test_embedded_report(self):
        page, report = self.page_of(runs.full())
        self.script_data(page)
        self.assertEqual(json.loads(page.scripts["report"]), report)


# What a machine did: its supervisor's samples.
SAMPLES = machine.CORES + machine.QUIET[:-3] + [
    ("tree.rss", 0, lambda s: machine.GB * (1 + s / 10)),
    ("thread.cpu", machine.LOOP_THREAD, lambda s: 0.7e9 * s + 1e8 * math.sin(s)),
    ("net.received", 0, machine.total(3 << 20)), ("tree.write", 0, lambda s: s * s * (1 << 18)),
    ("gpu.busy", 0, machine.gauge(0.2, 0.4, 0.9)), ("gpu.power", 0, machine.gauge(250, 300))]


class Beside(PageTest):
    """What samples say: of the machine, of the lines that ran, of what disturbed the run."""

    # Label: counter, what it is divided by, and its unit.
    ROWS = {"loop thread": ("thread.cpu", 1e9, "cores"), "command": ("tree.cpu", 1e9, "cores"),
            "machine": ("cpu.busy", 1e9, "cores"), "memory": ("tree.rss", machine.GB, "GB"),
            "memory left": ("memory.available", machine.GB, "GB"),
            "network in": ("net.received", 1 << 20, "MB/s"), "writes": ("tree.write", 1 << 20, "MB/s"),
            "GPU 0 busy": ("gpu.busy", 0.01, "%"), "GPU 0 power": ("gpu.power", 1, "W")}

    def test_machine(self):
        page, report = self.page_of(machine.train(), samples=machine.samples(SAMPLES))
        section = page.sections["machine"]
        counters = {row["counter"]: row for row in report["resources"]["counters"]
                    if row["counter"] != "cpu.busy" or row["subject"] is None}
        rows = [row for titles, *rows in section.tables for row in rows]
        for titles, *_ in section.tables:
            self.assertEqual(titles[1:3], ["mean", "most"])
        lines = [path for kind, path in section.paths if kind.startswith("line l") and path != "M0 6H22"]
        self.assertEqual({row[0].strip() for row in rows}, set(self.ROWS))
        self.assertEqual(len(lines), len(rows))
        for (label, mean, most, unit, _), path in zip(rows, lines):
            counter, size, wanted = self.ROWS[label.strip()]
            values = counters[counter]
            self.assertEqual(unit, wanted)
            self.number(mean, values.get("per_s", values.get("mean")) / size)
            self.number(most, values["max"] / size)
            self.check_course(path, values["course"], 70 if unit == "%" else None)

    def check_course(self, path, course, scale=None):
        """A line has each part of the time, and all of it on one scale, that of percent up to 100."""
        heights = [70 - float(y) for y in re.findall(r"(?:M[\d.]+ |V)([\d.]+)", path)]
        known = [value for value in course if value is not None]
        self.assertEqual(len(heights), len(known))
        scale = scale or max(heights) / max(known)
        for height, value in zip(heights, known):
            self.assertAlmostEqual(height, value * scale, delta=0.2)

    def test_machine_for_the_script(self):
        page, report = self.page_of(machine.train(), samples=machine.samples(SAMPLES))
        rows = self.script_data(page)["machine"]["rows"]
        counters = {row["counter"]: row["course"] for row in report["resources"]["counters"]
                    if row["counter"] != "cpu.busy" or row["subject"] is None}
        self.assertEqual({row["label"] for row in rows}, set(self.ROWS))
        for row in rows:
            counter, size, _ = self.ROWS[row["label"]]
            for seen, value in zip(row["values"], counters[counter], strict=True):
                self.assertEqual(seen is None, value is None)
                if value is not None:
                    self.assertAlmostEqual(seen, value / size, delta=abs(value / size) * 1e-5)

    def test_hot_lines(self):
        stacks = [("own", "main")] * 3 + [("line 1", "main"), ("library", "line 2", "main")]
        page, report = self.page_of(own_code.train(*stacks))
        section = page.sections["hot"]
        self.assertIn(f"from {report['hot']['samples']} stack samples", section.text)
        tables = iter(section.tables)
        for stage in dict.fromkeys(line["stage"] for line in report["hot"]["lines"]):
            lines = [line for line in report["hot"]["lines"] if line["stage"] == stage]
            total = sum(line["count"] for line in lines)
            self.assertIn(f"{stage.capitalize()} {total} samples", plain(section.text))
            rows = iter(next(tables)[1:])
            for line in lines:
                self.check_line(next(rows), line)
                if line["leaf"]["line"] != line["line"]:
                    called = line["leaf"]
                    self.assertEqual(next(rows)[:2], ["  in " + self.place(called), str(called["count"])])
            self.assertIsNone(next(rows, None))
        self.assertIsNone(next(tables, None))

    @staticmethod
    def place(line):
        return f"{os.path.basename(line['file'])}:{line['line']} {line['function']}"

    def check_line(self, row, line):
        self.assertEqual(row[0], self.place(line))
        self.assertEqual(int(row[1]), line["count"])
        self.share(row[2], line["share"])
        for text, share in zip(row[3].split(" to "), line["share_ci"], strict=True):
            self.share(text, share)

    def test_validity(self):
        """Each thing that may disturb a run is in the field of its level, whole."""
        bad = [("cpu.steal", 0, machine.total(0.1e9)), ("swap.in", 0, machine.total(4 << 20)),
               ("thread.wait", machine.LOOP_THREAD, machine.total(0.3e9)),
               ("cpu.throttles", 0, machine.total(0.5)), ("cgroup.periods", 0, machine.total(10)),
               ("cgroup.throttled_periods", 0, machine.total(4))]
        for name, lines in (("few", SAMPLES), ("many", machine.CORES + bad)):
            self.make_run(name, one=machine.train(), samples=machine.samples(lines))
            text, report = self.write_page(name)
            fields = Page(text).sections["validity"].fields
            labels = {"warn": "Disturbed", "note": "Minor", "ok": "OK", "unseen": "No data"}
            for level, label in labels.items():
                items = [item for item in report["validity"]["items"] if item["level"] == level]
                said = ", ".join(item["id"] for item in items) if level == "ok" else \
                    "; ".join(item["text"] for item in items)
                self.assertEqual(plain(fields.get(label, "")), said)
            self.assertEqual(report["validity"]["level"] == "warn", name == "many")


class Whole(PageTest):
    def test_every_kind_of_run(self):
        for kind in ("healthy", "full", "too_few", "untrained", "two_models", "killed", "live",
                     "damaged", "overlapping", "extremes", "hostile"):
            with self.subTest(kind=kind):
                self.make_run(kind, one=getattr(runs, kind)())
                text, report = self.write_page(kind, kind + ".html")
                page = Page(text)
                self.assertIn(report["verdict"], page.sections["verdict"].text)
                self.assertNotIn("nan", page.sections["verdict"].text)
                if "steps" in page.sections:
                    self.assertNotIn("are drawn", page.sections["steps"].text)
                for tag, attributes in page.elements:
                    for value in attributes.values():
                        self.assertNotRegex(value or "", r"\b(nan|inf)\b", (tag, attributes))

    def test_nothing_recorded(self):
        """A command that trained nothing has a page too."""
        self.check(["run", "--html", "page.html", "true"], FINE)
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = Page(file.read())
        self.assertIn("nothing was recorded", page.sections["verdict"].text)

    def test_policy(self):
        """Nothing is allowed but the style and the script that are there, by their hashes."""
        self.make_run(one=runs.healthy())
        page = Page(self.write_page()[0])
        policy, = [a["content"] for tag, a in page.elements
                   if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

        def name(text):
            return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        self.assertEqual(rules["default-src"], "'none'")
        self.assertEqual(rules["style-src"], name(page.style))
        script = page.scripts.get("")
        self.assertEqual(rules["script-src"], name(script) if script else "'none'")
        for tag, attributes in page.elements:
            forbidden = {"style", "src", "onclick", "onload"} & set(attributes)
            self.assertFalse(forbidden, (tag, attributes))

    def test_hostile(self):
        self.make_run(one=attack())
        text, report = self.write_page()
        page = Page(text)
        allowed = set("""html head meta title style body svg defs pattern rect path header section
            nav a footer h1 h2 h3 small p dl dt dd span b i ul li figure figcaption div table thead
            tbody tr th td text line g pre code script""".split())
        self.assertLessEqual({tag for tag, _ in page.elements}, allowed)
        scripts = [a for tag, a in page.elements if tag == "script"]
        self.assertLessEqual(len(scripts), 3)
        self.assertIn("</pre><script>x</script>!!", page.sections["command"].text)
        self.assertIn(ATTACKS[0].decode(), page.sections["names"].text)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", re.sub(r"<script.*", "", text, flags=re.DOTALL))
        self.assertIn("\u05d0\u05d1", text)
        self.assertEqual(len(report["loops"]), 2)

    def test_as_large_as_it_gets(self):
        """All stages, all different in every step; many loops; long names."""
        random = runs.noise(3)
        stages = [*range(1, 10), 13, 14, 15]
        long = "\u00e9".encode() * 100
        names = [(i + 1, b"%d" % i + long, b"", stage, int(stage == runs.OPTIMIZER), 0)
                 for i, stage in enumerate(stages)]
        threads = [runs.Thread(runs.PID + i, runs.START + i) for i in range(17)]
        for thread, steps in zip(threads, [3999] + 16 * [200]):
            for _ in range(steps):
                thread.mark(runs.step, 1)
                for number in range(len(stages) if thread is threads[0] else 1):
                    thread.span(number + 1, runs.MS * (2 + 1.9 * next(random)))
        self.make_run(**{f"p{i}": runs.process(*threads[i:i + 5], names=names, pid=runs.PID + i)
                         for i in range(0, 17, 5)})
        text, report = self.write_page()
        self.assertEqual(len(report["loops"]), 17)
        self.assertEqual(sum(values is not None for values in report["stages"].values()), 13)
        self.assertGreater(len(text), 100_000)

    def test_names_that_grow(self):
        """Neither names of characters that JSON escapes nor of spaces that must not break make a
        page of more than 1 MB."""
        stages = [*range(1, 10), 13, 14, 15]
        for kind, character in (("less", b"<"), ("spaces", "\u00a0".encode())):
            size = 580 // len(character)
            names = [runs.name(i + 1, b"%d" % i + character * size, b"", stage=stages[i % 12])
                     for i in range(300)]
            thread = runs.Thread()
            thread.loop(True, 1)
            for i in range(40):
                thread.mark(runs.step, 1)
                for number in range(len(names)):
                    thread.span(number + 1, runs.MS * (9 if i % 10 == 3 else 1))
            thread.loop(False, 1)
            made = runs.process(thread, names=[])
            for i in range(0, len(names), 50):
                made.records(0, 1 + i // 50, *names[i:i + 50])
            self.make_run(kind, one=made)
            self.write_page(kind)

    def test_long_names(self):
        """A name is cut where it is too much for a table."""
        names = [(i + 1, b"name %d " % i + b"n" * 1200, b"", runs.USER, 0, 0) for i in range(3)]
        thread = runs.Thread()
        for _ in range(30):
            thread.mark(runs.step, 1)
            for number in range(3):
                thread.span(number + 1, runs.MS)
        self.make_run(one=runs.process(thread, names=names))
        text, _ = self.write_page()
        self.assertIn("name 0 ", text)
        self.assertNotIn("n" * 700, text.partition("<script")[0])


class Files(PageTest):
    def test_refuses_to_overwrite(self):
        self.make_run(one=runs.healthy())
        with open(self.path("page.html"), "w", encoding="ascii") as file:
            file.write("mine")
        done = self.check(["report", "--html", "page.html", "run"], USAGE, stdout="")
        self.assertIn("--force", done.stderr)
        with open(self.path("page.html"), encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")
        done = self.check(["run", "--html", "page.html", "touch", "ran"], USAGE)
        self.assertFalse(os.path.exists(self.path("ran")), "a command ran that should not")
        self.check(["report", "--html", "page.html", "--force", "run"], FINE)

    def test_places(self):
        self.make_run(one=runs.healthy())
        self.check(["report", "--html", "no/page.html", "run"], DATA)
        self.check(["report", "--html", "", "run"], USAGE)
        self.check(["report", "--html", "x", "--json", "run"], USAGE)
        self.check(["run", "--html", "-", "true"], USAGE)
        done = self.check(["report", "--html", "-", "run"], FINE)
        Page(done.stdout)
        self.assertEqual(sorted(os.listdir(self.folder)), ["run"])

    def test_run_wants_a_file(self):
        """What would make `run` wait or fail after hours is refused before anything starts."""
        os.mkfifo(self.path("pipe"))
        os.symlink("nowhere", self.path("link"))
        for name in ("pipe", "link", "/dev/null", "."):
            with self.subTest(name=name):
                done = self.check(["run", "--html", name, "--force", "touch", "ran"], USAGE)
                self.assertIn("not a regular file", done.stderr)
                self.assertFalse(os.path.exists(self.path("ran")))
        os.symlink("page.html", self.path("good"))
        with open(self.path("page.html"), "w", encoding="ascii") as file:
            file.write("old")
        self.check(["run", "--html", "good", "--force", "true"], FINE)
        self.assertTrue(os.path.islink(self.path("good")))

    def test_full_disk(self):
        self.make_run(one=runs.healthy())
        self.check(["report", "--html", "/dev/full", "run"], DATA)

    def test_run(self):
        """The same page as afterwards; the last line says where; the exit code is the command's."""
        done = self.check(["run", "--html", "page.html", "--", os.environ["STEPSCOPE_BIN"], "demo",
                           "--steps", "60"], FINE)
        self.assertEqual(done.stderr.splitlines()[-1], "page    page.html")
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = Page(file.read())
        report = json.loads(self.check(["report", "--json"], FINE).stdout)
        self.assertIn(report["verdict"], page.sections["verdict"].text)
        self.assertIn("machine", page.sections)
        self.check(["report", "--html", "after.html"], FINE)
        pages = []
        for name in ("page.html", "after.html"):
            with open(self.path(name), "rb") as file:
                pages.append(file.read())
        # Of a run that goes on, the clock is known a nanosecond less well than afterwards.
        self.assertEqual(*(re.sub(rb"[0-9.]+", b"0", page) for page in pages))
        self.check(["run", "--html", "b.html", "--", "sh", "-c", "exit 7"], 7)
        self.assertTrue(os.path.exists(self.path("b.html")))
        self.check(["run", "--html", "d.html", "--", "sh", "-c", "kill -TERM $$"], -signal.SIGTERM)
        self.assertTrue(os.path.exists(self.path("d.html")))
        self.check(["run", "--quiet", "--html", "c.html", "--", "true"], FINE, stderr="")
        self.assertTrue(os.path.exists(self.path("c.html")))

    def test_signal_while_it_is_written(self):
        """Then there is no page; but what `run` ends with is still what the command ended with."""
        ends = (("exit 7", 7), ("kill -KILL $$", 128 + signal.SIGKILL))
        shell = ("-c", '"$0" "$@"; exit $?', PROGRAM)  # a parent of its own
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for to_us in ({}, {"END_PARENT": "1"}):
                for command, code in ends:
                    with self.subTest(number=number, to_us=to_us, command=command):
                        env = loaded("end_at", END_AT="fsync", END_WITH=str(int(number)), **to_us)
                        done = self.stepscope(
                            *shell, "run", "--no-pack", "--html", "page.html", "--", "sh", "-c", command,
                            program="sh", env=env)
                        self.assertEqual(done.returncode, code, done.stderr)
                        self.assertIn("page not written", done.stderr)
                        self.assertEqual(os.listdir(self.folder), ["stepscope-runs"])

    def test_fail_on(self):
        self.make_run(one=runs.full())
        done = self.stepscope("report", "--html", "page.html", "--fail-on", "input-bound", "run")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(os.path.exists(self.path("page.html")))


if __name__ == "__main__":
    unittest.main()
