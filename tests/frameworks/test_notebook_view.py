"""What a notebook shows: real notebooks, executed and turned into HTML as people do it."""

import html.parser
import os
import unittest

from framework import BUILD, FrameworkTest, last_line

class Balance(html.parser.HTMLParser):
    """That a piece of HTML closes what it opens; its tags and what it says."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.style = [], [], [], ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.text.append(data)


def selectors(style):
    """Of plain rules, also inside @media."""
    depth, text = 0, ""
    for character in style:
        if character == "{":
            if not text.strip().startswith("@"):
                yield from text.split(",")
            text, depth = "", depth + 1
        elif character == "}":
            text, depth = "", depth - 1
        else:
            text += character
    assert depth == 0


class NotebookView(FrameworkTest):
    def execute_notebook(self):
        done = self.plain("notebook_view.py", PYTHONPATH=os.path.join(BUILD, "python"),
                          JUPYTER_RUNTIME_DIR=os.path.join(self.folder, "runtime"),
                          IPYTHONDIR=os.path.join(self.folder, "ipython"), OMP_NUM_THREADS="1")
        return last_line(done)

    def test_cells_show_the_top_of_the_page(self):
        found = self.execute_notebook()
        self.check_html(found["magic"]["text/html"])
        self.check_text(found["magic"]["text/plain"])
        self.check_html(found["summary"]["text/html"])
        # A cell that fails does so once, and shows no summary of nothing.
        self.assertEqual(found["failed"], ["error", "error"])
        self.assertEqual(found["tracebacks"][1], "")
        self.assertRegex(found["tracebacks"][0], r"In\[%d\], line 2\b" % found["failed_number"])
        self.assertIn('class="stepscope"', found["page"])
        self.check_report(found["report"], found["slow_number"])

    def check_html(self, text):
        seen = Balance(text)
        self.assertEqual(seen.tags[0], ("div", {"class": "stepscope"}))
        self.assertNotIn("script", [tag for tag, _ in seen.tags])
        said = " ".join(" ".join(seen.text).split()).replace("\xa0", " ")
        for words in ("input-bound", "Saves", "Median step", "Speed", "Confidence", "Try first"):
            self.assertIn(words, said)
        bars = [attributes["width"] for tag, attributes in seen.tags
                if tag == "rect" and attributes["width"].endswith("%")]
        self.assertAlmostEqual(sum(float(width[:-1]) for width in bars), 100, delta=0.01)
        self.assertIn(".stepscope .verdict", seen.style)
        for selector in selectors(seen.style):
            self.assertIn(".stepscope", selector, "it would style the notebook around it")

    def check_text(self, text):
        self.assertIn("input-bound", text)
        self.assertNotIn("ipykernel_", text.replace("ipykernel_launcher", ""))

    def check_report(self, report, number):
        """The function was defined in another cell than the one that calls it."""
        files = {line["file"] for line in report["hot"]["lines"] if line["stage"] == "data"}
        self.assertIn("cell [2]", files)
        self.assertLessEqual(files, {"cell [2]", "cell [%d]" % number})
        self.assertRegex(report["findings"][0]["evidence"], r"of it at cell \[2\], line [23] \(decode\)")
        used = [one for one in report["resources"]["counters"] if one["counter"] == "tree.cpu"]
        self.assertGreater(used[0]["gained"], 0)


if __name__ == "__main__":
    unittest.main()
