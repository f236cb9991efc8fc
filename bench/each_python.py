"""For benchmarks that measure in every interpreter for which the build has an extension."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def measure_in_each(script, build, after=None, **variables):
    """Runs `script --measure` in each interpreter, with the package and these variables; then calls
    after(python, packages, environment)."""
    os.environ["STEPSCOPE_BUILD"] = build
    sys.path.insert(0, os.path.join(ROOT, "tests/python"))
    from interpreters import INTERPRETERS, PACKAGES, environment

    for python in INTERPRETERS:
        subprocess.run([python, os.path.abspath(script), "--measure"], check=True,
                       env=environment(PYTHONPATH=PACKAGES, **variables))
        if after:
            after(python, PACKAGES, environment)
