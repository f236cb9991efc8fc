"""Pauses of the garbage collector are spans, also after someone emptied gc.callbacks."""

import json
import os
import unittest

from interpreters import PACKAGES, PROGRAM, PythonTest, environment

PAUSES = """
import gc
from stepscope import _core

gc.collect()  # before anything is recorded: no span, and no recording because of it
_core.collector_start()
gc.collect()
_core.step()
for generation in (0, 1, 2):
    gc.collect(generation)
_core.collector_stop()
gc.collect()
assert gc.callbacks == []
"""

EMPTIED = """
import gc, time
from stepscope import _core

_core.step()
_core.collector_start()
_core.sampler_start(hz=100)
gc.collect()
gc.callbacks.clear()
end = time.monotonic() + 60
while not gc.callbacks and time.monotonic() < end:
    _core.step()  # any recorded event makes it look
    time.sleep(0.001)
assert len(gc.callbacks) == 1
gc.collect()
"""

# The collector closes a generator that was left suspended inside a span.
FREES = """
import gc
import stepscope
from stepscope import _core

def left():
    with stepscope.span("left"):
        yield 1

gc.disable()
_core.step()
_core.collector_start()
with stepscope.span("outer"):
    loop = [left()]
    next(loop[0])
    loop.append(loop)
    del loop
    assert gc.collect() > 0
    with stepscope.span("inner"):
        pass
with stepscope.span("after"):
    pass
"""


class Collector(PythonTest):
    with_extra = True

    def record(self, python, script):
        self.run_path = self.path("run-%d" % len(os.listdir(self.folder)))
        self.execute([python, "-X", "dev", "-W", "error", self.write("script.py", script)],
                     env=environment(PYTHONPATH=PACKAGES, STEPSCOPE_RUN=self.run_path))
        return json.loads(self.execute([PROGRAM, "report", "--json", self.run_path]).stdout)

    def test_each_generation_has_a_name(self):
        for python in self.each():
            spans = {span["name"]: span for span in self.record(python, PAUSES)["spans"]}
            for generation in (0, 1, 2):
                span = spans[f"gc generation {generation}"]
                self.assertEqual((span["stage"], span["count"]), ("gc", 1))

    def test_a_list_that_was_emptied_is_noticed(self):
        for python in self.each():
            report = self.record(python, EMPTIED)
            reasons = [hook["reason"] for hook in report["hooks"] if hook["target"] == "gc.callbacks"]
            self.assertTrue(any("put there again" in reason for reason in reasons), report["hooks"])
            spans = {span["name"]: span for span in report["spans"]}
            self.assertGreaterEqual(spans["gc generation 2"]["count"], 2)  # and maybe at exit

    def test_a_pause_that_frees_a_generator_ends_no_span_of_the_script(self):
        for python in self.each():
            self.record(python, FREES)
            lines = self.execute([PROGRAM, "dump", "--json", self.run_path]).stdout.splitlines()
            depths = {record["name"]: record["depth"] for record in map(json.loads, lines)
                      if record["kind"] == "span" and not record["name"].startswith("gc ")}
            self.assertEqual(depths, {"outer": 0, "left": 1, "inner": 1, "after": 0})


if __name__ == "__main__":
    unittest.main()
