"""Text, page and JSON of the recorded runs say the same of savings and of changes over time, and each of
them the same in all its places."""

import html
import json
import os
import re
import subprocess
import tempfile
import unittest

import corpus

PROGRAM = os.path.join(os.environ["STEPSCOPE_BUILD"], "stepscope")
SAVES = re.compile(r"(about |at most |up to )?([\d.]+) of ([\d.]+) ([\w ]+?) (?:per step|of the loop|of the run) "
                   r"\((?:([\d.,]+)x as fast|([\d.]+) %)\)(, as predicted for this advice| if all of it goes)")
CHANGE = r"([\d.,]+ % (?:longer|shorter)|[\d.,]+x as long)"
CLAIM = re.compile(r"steps are %s from step ([\d,]+) on" % CHANGE)
TREND = re.compile(r"from step ([\d,]+) on, the median is [^(]*\(%s\)" % CHANGE)
DRIFT = re.compile(r"steps become (?:slower|faster): %s from first to last" % CHANGE)


def words(text):
    return " ".join(text.split())


def without_tags(page):
    page = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return words(html.unescape(re.sub(r"<[^>]*>", " ", page)))


class Consistency(unittest.TestCase):
    def ask(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=corpus.environment(COLUMNS="80"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=corpus.TIMEOUT_S, check=False)
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def check_findings(self, run, report, text, page):
        for found in report["findings"]:
            blocks = re.findall(r"(?ms)^%s \(%s\): .*?(?=^\S|\Z)" % (found["id"], found["severity"]), text)
            own = [words(block) for block in blocks if words(found["claim"]) in words(block)]
            for said in SAVES.finditer(own[0]) if len(own) == 1 else ():
                saving = (found["predicted"] if "predicted" in said[7]
                          else found["saving_ci"][1] if found["share_kind"] == "bound" else found["saving"])
                self.savings += 1
                self.assertAlmostEqual(float(said[2]) / float(said[3]), saving, delta=0.02, msg=(run, said[0]))
                if said[6]:
                    self.assertAlmostEqual(float(said[6]), 100 * saving, delta=0.51, msg=(run, said[0]))
                self.assertIn(said[0], page, run)

    def check_changes(self, run, report, text, page):
        for said in (text, page):
            trends = dict(TREND.findall(said))
            for change, step in CLAIM.findall(said):
                self.shifts += 1
                self.assertEqual(trends.get(step), change, (run, step))
        drifts = set(DRIFT.findall(text) + DRIFT.findall(page))
        self.shifts += len(drifts)
        self.assertLessEqual(len(drifts), 1, (run, drifts))

    def test_savings_and_changes(self):
        self.savings = self.shifts = 0
        with tempfile.TemporaryDirectory(prefix="stepscope-corpus-") as self.folder:
            for run in corpus.unpack(self.folder):
                made = self.ask("report", "--json", run)
                text = self.ask("report", run)
                self.ask("report", "--html", "page.html", run)
                path = os.path.join(self.folder, "page.html")
                if not made or not text or not os.path.exists(path):
                    continue
                with open(path, encoding="utf-8") as file:
                    page = without_tags(file.read())
                os.remove(path)
                with self.subTest(run):
                    self.check_findings(run, json.loads(made), text, page)
                    self.check_changes(run, json.loads(made), words(text), page)
        self.assertGreater(self.savings, 20)
        self.assertGreater(self.shifts, 3)


if __name__ == "__main__":
    unittest.main()
