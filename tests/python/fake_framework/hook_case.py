"""What the checks of hooks share: rows are laid in the fake framework, it is called, and the spans of
the run are looked at."""

import json
import os
import subprocess
import tempfile
import types
import unittest

from stepscope import _core, _hooks

PARTS = "fake_framework.parts:"


def lay(*rows):
    adapter = types.ModuleType("fake_framework")
    adapter.HOOKS = rows
    return _hooks.install(adapter)


class HookCase(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(_core.hooks_remove)

    def lay(self, *rows):
        self.assertEqual(lay(*rows), {})

    def records(self, run):
        done = subprocess.run([os.environ["STEPSCOPE_BIN"], "dump", "--json", run],
                              check=True, stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def record(self, work):
        """All records of a run of `work`."""
        _core.start(self.place.name, "hooks")
        self.addCleanup(_core.stop)
        work()
        _core.stop()
        return self.records(_core.directory())

    def spans(self, work):
        return [r for r in self.record(work) if r["kind"] == "span"]

    def names(self, work):
        return [span["name"] for span in self.spans(work)]
