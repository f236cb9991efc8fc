"""pytest and IPython under us, coverage and debugpy beside us, whichever of the two comes first: each
does its own work."""

import json
import re
import unittest

from interpreters import INTERPRETERS, PACKAGES, PythonTest, ask, environment, ready_tools

TRACED = """
import stepscope

@stepscope.timed
def seen(number):
    return number + 1

def never():
    return 0

for i in range(5):
    stepscope.step()
    assert seen(i) == i + 1
"""
MISSED = TRACED.split("\n").index("    return 0") + 1

# The tool is started by a script in which we are at work already.
COVERED_LATE = """
import stepscope
stepscope.counter("early", 1)
import coverage
tool = coverage.Coverage(data_file=None, include="part.py")
tool.start()
import part
tool.stop()
print(*tool.analysis2("part.py")[3])
"""

DEBUGGED_LATE = """
import stepscope
stepscope.counter("early", 1)
import debugpy
debugpy.listen(("127.0.0.1", 0))
import part
"""


# In a test and in a cell.
USED = "import stepscope\nfor _ in range(5):\n    stepscope.step()\nwith stepscope.span('seen'): pass\n"


def having(module):
    """Interpreters for which we have an extension, and which have the module."""
    made = ready_tools()
    return [python for python in INTERPRETERS + ([made] if made else [])
            if ask(python, f"__import__('{module}').__name__") == module]


def without_times(text):
    return re.sub(r"\d+\.\d+s", "TIME", text)


class Tools(PythonTest):
    def with_tool(self, module):
        found = having(module)
        if not found:
            self.skipTest(f"no interpreter here has {module}")
        for number, python in enumerate(found):
            self.runs = self.path(f"runs-{number}")
            with self.subTest(python=python):
                yield python

    def check_recorded(self):
        self.assertEqual(self.spans(), {"seen": 5})
        self.assertGreaterEqual(self.report()["steps"]["count"], 4)  # the last one has no end

    def test_pytest(self):
        test = "def test_it():\n" + "".join(f"    {line}\n" for line in USED.splitlines())
        self.write("test_it.py", test)
        self.write("test_bad.py", test + "    assert 1 == 2\n")
        for python in self.with_tool("pytest"):
            command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            self.run_it(*command, "test_it.py")
            self.assertEqual(self.spans(), {"seen": 1})
            plain = self.execute([*command, "test_bad.py"], expect=1,
                                 env=environment(PYTHONPATH=PACKAGES))
            hooked = self.run_it(*command, "test_bad.py", expect=1)
            self.assertEqual(without_times(hooked.stdout), without_times(plain.stdout))
            self.assertEqual(self.spans(), {"seen": 1})

    def test_ipython(self):
        self.write("cell.ipy", USED + "%timeit -n1 -r1 stepscope.step()\n")
        for python in self.with_tool("IPython"):
            for arguments in (("-c", USED), ("cell.ipy",)):
                done = self.run_it(python, "-m", "IPython", "--no-banner", *arguments,
                                   IPYTHONDIR=self.path("ipython"))
                self.assertNotIn("Error", done.stdout)
                self.assertEqual(self.spans(), {"seen": 1})

    def lines_of(self, python):
        """Lines of the script that coverage saw, and those that it missed."""
        self.execute([python, "-m", "coverage", "json", "-q", "-o", "lines.json"])
        with open(self.path("lines.json"), encoding="utf-8") as file:
            (result,) = json.load(file)["files"].values()
        return result["executed_lines"], result["missing_lines"]

    def test_coverage_first(self):
        for python in self.with_tool("coverage"):
            script = self.write("script.py", TRACED)
            cover = [python, "-m", "coverage", "run", "--include", script]
            self.execute([*cover, script], env=environment(PYTHONPATH=PACKAGES))
            plain = self.lines_of(python)
            self.assertEqual(plain[1], [MISSED])
            self.run_it(*cover, script)
            self.assertEqual(self.lines_of(python), plain)
            self.check_recorded()

    def test_coverage_later(self):
        for python in self.with_tool("coverage"):
            self.write("part.py", TRACED)
            done = self.hooked(python, COVERED_LATE)
            self.assertEqual(done.stdout.split(), [str(MISSED)])
            self.check_recorded()

    def test_debugpy_first(self):
        for python in self.with_tool("debugpy"):
            script = self.write("script.py", TRACED)
            self.run_it(python, "-Xfrozen_modules=off", "-m", "debugpy", "--listen", "127.0.0.1:0", script)
            self.check_recorded()

    def test_debugpy_later(self):
        for python in self.with_tool("debugpy"):
            self.write("part.py", TRACED)
            self.hooked(python, DEBUGGED_LATE, "-Xfrozen_modules=off")
            self.check_recorded()


if __name__ == "__main__":
    unittest.main()
