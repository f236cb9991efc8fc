"""What docs/ say of findings and metrics is made from their descriptors, and is what they say now."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ["STEPSCOPE_BUILD"]
SCHEMA = "docs/report.schema.json"


def generate(root, *options):
    return subprocess.run([sys.executable, os.path.join(root, "tools", "generate-docs"), BUILD, *options],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


class Docs(unittest.TestCase):
    def test_they_are_what_the_descriptors_say(self):
        made = generate(ROOT, "--check")
        self.assertEqual(made.returncode, 0, made.stdout)

    def test_the_schema_has_what_explain_lists(self):
        listed = subprocess.run([os.environ["STEPSCOPE_BIN"], "explain"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout.splitlines()
        with open(os.path.join(ROOT, SCHEMA), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["$defs"]["finding_id"]["enum"],
                             [line.split()[0] for line in listed])
        for line in listed:
            self.assertRegex(line, r"\A\S+ +\w[^()]+\Z")

    def test_a_stale_table_is_found_and_put_right(self):
        for name, old, new in (("docs/diagnosis.md", "| bimodal | 6 %", "| bimodal | 7 %"),
                               ("docs/report.md", "| `p95_ns` | 95th percentile |\n", ""),
                               (SCHEMA, '"p90_ns": {"$ref": "#/$defs/positive"},', '"p91_ns": {},'),
                               (SCHEMA, '"p90_ns", "p95_ns"', '"p90_ns"'),
                               (SCHEMA, '"periodic-pause", ', "")):
            with self.subTest(name), tempfile.TemporaryDirectory() as root:
                for folder in ("docs", "tools"):
                    shutil.copytree(os.path.join(ROOT, folder), os.path.join(root, folder))
                path = os.path.join(root, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.assertIn(old, text)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new, 1))
                self.assertIn(f"stale: {name};", generate(root, "--check").stdout)
                generate(root)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), text)


if __name__ == "__main__":
    unittest.main()
