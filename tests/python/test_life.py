"""How Python processes, threads and spans end, and what stays of them in the run."""

import signal
import unittest

from interpreters import PythonTest

STEPS = """
import os, signal, sys, threading
import stepscope
for _ in range(10):
    stepscope.step()
    with stepscope.span("work"):
        pass
"""


class Endings(PythonTest):
    def check_end(self, end, expect):
        for python in self.each():
            self.hooked(python, STEPS + end, expect=expect)
            self.assertEqual(self.spans()["work"], 10)

    def test_end_of_the_script(self):
        self.check_end("", 0)

    def test_sys_exit(self):
        self.check_end("sys.exit(3)", 3)

    def test_os_exit(self):
        self.check_end("os._exit(4)", 4)

    def test_kill(self):
        self.check_end("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL)

    def test_keyboard_interrupt(self):
        self.check_end("raise KeyboardInterrupt", -signal.SIGINT)

    def test_uncaught_error_in_a_span(self):
        for python in self.each():
            done = self.hooked(python, STEPS + "with stepscope.span('bad'):\n    1 / 0", expect=1)
            self.assertIn("ZeroDivisionError", done.stderr)
            self.assertEqual(self.spans(), {"work": 10, "bad": 1})

    def test_exit_inside_of_spans_keeps_them(self):
        for python in self.each():
            self.hooked(python, STEPS + "with stepscope.span('open'):\n    os._exit(0)")
            self.assertEqual(self.spans(), {"work": 10, "open": 1})


class Spans(PythonTest):
    def test_an_exception_marks_the_span_and_passes(self):
        script = STEPS + """
for kind in (KeyError, KeyboardInterrupt, SystemExit):
    try:
        with stepscope.span("failing"):
            raise kind("x")
    except BaseException as error:
        assert type(error) is kind and error.__context__ is None
"""
        for python in self.each():
            self.hooked(python, script)
            failing, = [s for s in self.report()["spans"] if s["name"] == "failing"]
            self.assertEqual((failing["count"], failing["failed"]), (3, 3))

    def test_generators_never_finished_leave_the_rest_in_order(self):
        script = STEPS + """
def left():
    with stepscope.span("left"):
        yield 1
kept = []
for _ in range(5):
    with stepscope.span("outer"):
        kept.append(left())
        next(kept[-1])
    with stepscope.span("after"):
        pass
for generator in kept:
    generator.close()       # ends spans that were ended long ago
with stepscope.span("last"):
    pass
"""
        for python in self.each():
            self.hooked(python, script)
            self.assertEqual(self.spans(),
                             {"work": 10, "left": 5, "outer": 5, "after": 5, "last": 1})
            self.assertEqual(self.depths(), {"work": {0}, "left": {1}, "outer": {0}, "after": {0},
                                             "last": {0}})

    def test_deeper_than_the_stack_goes_on(self):
        script = STEPS + """
@stepscope.timed
def down(n):
    return down(n - 1) if n else 0
down(200)
with stepscope.span("after"):
    pass
"""
        for python in self.each():
            self.hooked(python, script)
            self.assertEqual(self.spans()["after"], 1)


class Threads(PythonTest):
    def test_ten_thousand_short_threads(self):
        script = STEPS + """
def once():
    with stepscope.span("short"):
        pass
for _ in range(2500):
    threads = [threading.Thread(target=once) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""
        for python in self.each():
            self.hooked(python, script)
            lost = self.report()["lost"]
            self.assertEqual(self.spans()["short"], 10000, lost)
            self.assertEqual(len(self.files()), 1)

    def test_fork_in_the_middle_without_a_warning(self):
        script = STEPS + """
with stepscope.span("around"):
    child = os.fork()
    if child == 0:
        with stepscope.span("of the child"):
            pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
with stepscope.span("later"):
    pass
"""
        for python in self.each():
            done = self.hooked(python, script, "-X", "dev", "-W", "error")
            self.assertNotIn("Warning", done.stderr)
            self.assertEqual(self.spans(), {"work": 10, "around": 1, "of the child": 1, "later": 1})
            self.assertEqual(len(self.files()), 2)


if __name__ == "__main__":
    unittest.main()
