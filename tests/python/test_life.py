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

    def check_end_inside(self, end, expect):
        """A span that the process ends in stays, and so does what was before."""
        for python in self.each():
            self.hooked(python, STEPS + "with stepscope.span('open'):\n    " + end, expect=expect)
            self.assertEqual(self.spans(), {"work": 10, "open": 1})

    def test_interrupted_in_a_span(self):
        # A shell that runs this in the background may ignore SIGINT.
        self.check_end_inside("signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                              "    os.kill(os.getpid(), signal.SIGINT)\n    signal.pause()",
                              -signal.SIGINT)

    def test_killed_in_a_span(self):
        self.check_end_inside("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL)

    def test_ended_in_a_span_of_another_thread(self):
        work = """
def stay():
    with stepscope.span("stays"):
        entered.set()
        threading.Event().wait()
entered = threading.Event()
threading.Thread(target=stay, daemon=True).start()
entered.wait()
"""
        for end, expect in (("", 0), ("os._exit(4)", 4), ("os.kill(os.getpid(), 9)", -9)):
            for python in self.each():
                self.hooked(python, STEPS + work + end, expect=expect)
                self.assertEqual(self.spans(), {"work": 10, "stays": 1})

    def test_uncaught_error_in_a_span(self):
        for python in self.each():
            done = self.hooked(python, STEPS + "with stepscope.span('bad'):\n    1 / 0", expect=1)
            self.assertIn("ZeroDivisionError", done.stderr)
            self.assertEqual(self.spans(), {"work": 10, "bad": 1})

    def test_an_interpreter_that_takes_long_to_end(self):
        """Its state is gone while functions of Py_AtExit run: here one that reads until a second has gone."""
        script = """
import ctypes, os, subprocess
import stepscope
reads, writes = os.pipe()
subprocess.Popen(["sleep", "1"], pass_fds=[writes], stdin=subprocess.DEVNULL).returncode = 0
os.close(writes)
os.dup2(reads, 0)
ctypes.pythonapi.Py_AtExit(ctypes.CDLL(None).getchar)
stepscope.start()
stepscope.step()
"""
        for python in self.each():
            self.python(python, script)
            self.assertEqual(len(self.files()), 1)

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

    def test_timed_generators_and_tasks_that_never_finish(self):
        script = STEPS + """
import asyncio

@stepscope.timed
def many():
    while True:
        yield 1

@stepscope.timed
async def forever():
    await asyncio.Event().wait()

async def main():
    task = asyncio.ensure_future(forever())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with stepscope.span("beside"):
        pass
    task.cancel()

kept = many()
next(kept)
with stepscope.span("between"):
    pass
del kept
left = many()
next(left)
asyncio.run(main())
with stepscope.span("last"):
    pass
"""
        for python in self.each():
            done = self.hooked(python, script, "-X", "dev", "-W", "error")
            self.assertNotIn("Error", done.stderr)
            counts = self.spans()
            self.assertLessEqual({"many": 2, "between": 1, "beside": 1, "last": 1}.items(),
                                 counts.items())
            self.assertEqual(counts["forever"], 2)  # begun, and cancelled
            self.assertEqual(set.union(*self.depths().values()), {0})

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

    def test_recursion_without_end_is_an_exception(self):
        script = STEPS + """
sys.setrecursionlimit(10 ** 6)
@stepscope.timed
def down(n):
    return down(n + 1)
for _ in range(2):
    try:
        down(0)
    except RecursionError:
        print("ended")
with stepscope.span("after"):
    pass
"""
        for python in self.each():
            self.assertEqual(self.hooked(python, script).stdout, "ended\n" * 2)
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
            missing = 10000 - self.spans()["short"]  # a late helper loses some, and says so
            self.assertGreaterEqual(missing, 0)
            self.assertLessEqual(missing, lost["dropped"] + lost["threads"], lost)
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
