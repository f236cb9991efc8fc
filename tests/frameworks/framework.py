"""What the tests of all frameworks share: a script run with and without us, and what was recorded.

STEPSCOPE_FRAMEWORKS_PYTHON is an interpreter that has the frameworks (tools/frameworks makes one)."""

import json
import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["STEPSCOPE_BUILD"]
PROGRAM = os.environ.get("STEPSCOPE_BIN", os.path.join(BUILD, "stepscope"))
PYTHON = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON", "")
HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 1800  # for what takes a minute alone, beside eight busy processes


@unittest.skipUnless(PYTHON, "STEPSCOPE_FRAMEWORKS_PYTHON does not say which Python has frameworks")
class FrameworkTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-frameworks-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.runs = None
        self.run_count = 0

    def execute(self, command, expect=0, **more_environment):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("STEPSCOPE_", "PYTHON"))}
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        env.update(more_environment)
        done = subprocess.run(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def command(self, script, *arguments):
        """That runs a script of this folder."""
        return [PYTHON, os.path.join(HERE, script), *arguments]

    def recording(self, command):
        """The same, recorded into a folder of its own."""
        self.run_count += 1
        self.runs = os.path.join(self.folder, "runs-%d" % self.run_count)
        return [PROGRAM, "run", "--quiet", "--dir", self.runs, *command]

    def plain(self, script, *arguments, expect=0, **more_environment):
        return self.execute(self.command(script, *arguments), expect, **more_environment)

    def hooked(self, script, *arguments, expect=0, **more_environment):
        return self.execute(self.recording(self.command(script, *arguments)), expect,
                            **more_environment)

    def report(self):
        return json.loads(self.execute([PROGRAM, "report", "--json", self.runs + "/latest"]).stdout)

    def records(self):
        dump = self.execute([PROGRAM, "dump", "--json", self.runs + "/latest"]).stdout
        return [json.loads(line) for line in dump.splitlines()]

    def assert_all_hooked(self):
        self.assertEqual([(record["target"], record["reason"]) for record in self.records()
                          if record["kind"] == "hook" and record.get("reason")], [])

    def assert_closed(self, books):
        """Segments are all the time, to the nanosecond."""
        segments = [ns for name, ns in books.items() if name != "wall_ns"]
        self.assertEqual(sum(segments), books["wall_ns"])
        self.assertGreaterEqual(min(segments), 0, books)

    def assert_near(self, found, true, part, most, text):
        """Within a part of the truth, or this many nanoseconds."""
        self.assertLessEqual(abs(found - true), max(part * true, most), (text, found, true))


def last_line(done):
    """The JSON that a script prints at its end."""
    return json.loads(done.stdout.splitlines()[-1])


def spans_of(report):
    """By object and name."""
    return {(span["object"], span["name"]): span for span in report["spans"]}


def counts_of(report):
    return {key: span["count"] for key, span in spans_of(report).items()}
