"""For benchmarks of frameworks: the interpreter that has them, which measures in a process of its own."""

import os
import subprocess
import sys


def run(script, *arguments, python="", **environment):
    """Starts `script --measure ARGUMENTS` with the package of BUILD, the first argument of this program.
    Without such an interpreter it says so: STEPSCOPE_FRAMEWORKS_PYTHON, or what tools/frameworks made."""
    build = os.path.abspath(sys.argv[1])
    made = os.path.join(os.path.dirname(build), "frameworks", "bin", "python")
    python = python or os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON", made)
    if not os.path.exists(python):
        print("%s is not there: tools/frameworks and tools/contenders make it" % python)
        return
    env = dict(os.environ, PYTHONPATH=os.path.join(build, "python"), **environment)
    subprocess.run([python, os.path.abspath(script), "--measure", *arguments], check=True, env=env)


def print_hooks(name, cost_ns):
    """What the hooks of a step take: median, low and high."""
    print("  hooks of a step: %.0f ns [%.0f, %.0f], %.3f %% of 1 ms" % (*cost_ns, cost_ns[0] / 1e4))
    print("RESULT %s_hooks_ns %.0f %.0f %.0f - -" % (name, *cost_ns))
