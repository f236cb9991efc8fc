"""`report --markdown` and `compare --markdown`: what a pull request shows, and what no name of a run can
make of it."""

import json
import os
import re
import stat
import subprocess
import unittest

import report_runs as runs
from report_support import ReportTest
from support import CHECK_FAILED, FINE, PROGRAM, TESTS, USAGE

HOSTILE = [b"](http://evil) [x", b"![](http://evil)", b"<img src=x>", b"@everyone", b"**bold** `code",
           b"a|b|c", b"</details>", b"#1 ~~x~~ &lt;"]


def tables(text):
    """Lists of rows of cells."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif rows:
            found.append(rows)
            rows = []
    return found


class Markdown(ReportTest):
    def markdown(self, made):
        self.make_run(p=made)
        return self.check(["report", "--markdown", "run"], FINE, stderr="").stdout.replace("\xa0", " ")

    def test_the_answer_comes_first(self):
        text = self.markdown(runs.full())
        lines = [line for line in text.splitlines() if line]
        self.assertEqual(lines[0], "stepscope: python train.py --epochs 3: 300 steps, took 3.51 s")
        self.assertRegex(lines[1], r"^\*\*input-bound: the loop waits for data 39\.6 % of the step \(.*\)\*\*$")
        self.assertRegex(lines[2], r"^- \*\*Saves\*\* 4\.00 of 10\.1 ms per step")
        self.assertTrue(lines[3].startswith("- **Try** "))
        self.assertLess(len(text[:text.index("<details>")].splitlines()), 35)
        self.assertEqual(text.count("<details>"), text.count("</details>"))

    def test_tables_have_as_many_cells_in_each_row(self):
        text = self.markdown(runs.full())
        report = json.loads(self.check(["report", "--json", "run"], FINE).stdout)
        stages = tables(text)[0]
        self.assertEqual(stages[0][:3], ["", "mean", "share"])
        self.assertEqual(stages[1], ["---", *["---:"] * (len(stages[0]) - 1)])
        self.assertEqual({row[0] for row in stages[2:]},
                         {name for name, stage in report["stages"].items() if stage} | {"step"})
        for rows in tables(text):
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})

    def test_no_name_is_more_than_text(self):
        for number, name in enumerate(HOSTILE):
            thread = runs.Thread()
            thread.loop(True)
            for i in range(100):
                thread.mark(runs.step, 1)
                thread.span(1, 2 * runs.MS)
                thread.span(2, runs.MS)
            thread.loop(False)
            made = runs.process(thread, names=[(1, b"next", b"", runs.DATA, 0, 0),
                                               (2, name, b"", runs.USER, 0, 0), (10, b"train", b"", 0, 0, 0)])
            at_command = bytes(made.data).index(b"python train.py --epochs 3")
            made.data[at_command:at_command + 26] = name.ljust(26)[:26]
            self.make_run(f"hostile{number}", p=made)
            text = self.check(["report", "--markdown", f"hostile{number}"], FINE, stderr="").stdout
            with self.subTest(name=name):
                plain = re.sub(r"\\.", "", text)
                for word in ("](", "<img", "@everyone", "**bold**", "a|b", "#1", "~~", "&lt;"):
                    self.assertNotIn(word, plain)
                self.assertEqual(plain.count("</details>"), plain.count("<details>"))
                for rows in tables(text):
                    self.assertEqual({len(row) for row in rows}, {len(rows[0])})

    def test_without_steps_it_says_what_to_do(self):
        self.assertIn("**no-steps: ", self.markdown(runs.process(runs.Thread())))

    def test_it_is_a_form_of_its_own(self):
        self.make_run(p=runs.full())
        for other in ("--json", "--hot", "--steps", "--epochs", "--html=x"):
            self.check(["report", "--markdown", other, "run"], USAGE, stdout="")
        self.check(["compare", "--markdown", "--json", "run", "run"], USAGE, stdout="")


class Recipe(ReportTest):
    """The script of docs/ci.md does what it says there."""

    def script(self):
        with open(os.path.join(os.path.dirname(TESTS), "docs/ci.md"), encoding="utf-8") as file:
            return re.search(r"```sh\n(set -u\n.*?)```", file.read(), re.DOTALL).group(1)

    def train(self, folder, data_ms):
        """A training with steps of a known length, as the script of a user."""
        os.makedirs(self.path(folder), exist_ok=True)
        path = self.path(folder, "train")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\nexec {PROGRAM} demo --steps 100 --fault slow-input={data_ms}ms\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def compare(self, new_ms, code):
        self.train("base", 5)
        self.train(".", new_ms)
        environment = {**os.environ, "PATH": os.path.dirname(PROGRAM) + os.pathsep + os.environ["PATH"],
                       "TRAIN": "./train"}
        done = self.run_shell(self.script(), environment)
        self.assertEqual(done.returncode, code, done.stderr)
        with open(self.path("speed/comment"), encoding="utf-8") as file:
            return file.read().replace("\xa0", " ")

    def run_shell(self, script, environment):
        return subprocess.run(["sh", "-c", script], cwd=self.folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, timeout=600)

    def test_a_change_that_is_slower_fails(self):
        comment = self.compare(40, CHECK_FAILED)  # so much that a busy machine hides nothing
        self.assertRegex(comment, r"^\*\*B is slower than A: ")
        self.assertRegex(comment, r"- \*\*Gate\*\* failed: .*5 %")
        self.assertRegex(comment, r"a test .*3.*3 runs, at 95 %")
        stages = tables(comment)[0]
        self.assertEqual(stages[0][1:4], ["A", "B", "change"])
        self.assertIn("data", [row[0] for row in stages])


if __name__ == "__main__":
    unittest.main()
