"""Launchers between `stepscope run` and the training: each worker is a process of the run, with its rank;
and those that keep us out: what the summary can say of them."""

import json
import os
import unittest

from interpreters import NEWEST, PROGRAM, PythonTest

WORKER = """
import os, sys
import stepscope
for _ in range(5):
    stepscope.step()
with stepscope.span("worker " + os.environ.get("RANK", "?")):
    pass
"""

# As torchrun does: the ranks are in the environment, and output and exit codes are waited for.
TORCHRUN = """
import os, subprocess, sys
world = 3
workers = []
for rank in range(world):
    env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world),
               MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
    workers.append(subprocess.Popen([sys.executable, "-u", *sys.argv[1:]], env=env))
sys.exit(max(worker.wait() for worker in workers))
"""

# As accelerate does with one process: the environment is set, and the script takes our place.
ACCELERATE = """
import os, sys
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

# Keeps what sudo keeps of an environment.
SUDO = """#!/bin/sh
exec env -i PATH="$PATH" TERM="$TERM" "$@"
"""

INSIDE = """
import subprocess, sys
sys.exit(subprocess.call([*sys.argv[1:]]))
"""


class Launchers(PythonTest):
    def processes(self):
        """Rank, number of ranks and end of each process but the supervisor's own."""
        done = self.execute([PROGRAM, "info", "--json", f"{self.runs}/latest"])
        return [(p["rank"], p["world"], p["end"]) for p in json.loads(done.stdout)["processes"]
                if p["kind"] != "supervisor"]

    def test_each_worker_of_a_launcher_is_a_process_with_its_rank(self):
        launcher, worker = self.write("launch.py", TORCHRUN), self.write("worker.py", WORKER)
        for python in self.each():
            for how in ((worker,), ("-m", "worker")):
                self.run_it(python, launcher, *how)
                self.assertEqual(sorted(self.processes()), [(r, 3, "exited") for r in range(3)])
                self.assertEqual(self.spans(), {f"worker {rank}": 1 for rank in range(3)})

    def test_a_worker_that_fails_takes_none_of_the_others_along(self):
        launcher = self.write("launch.py", TORCHRUN)
        worker = self.write("worker.py", WORKER + "if os.environ['RANK'] == '1': os._exit(7)\n")
        for python in self.each():
            self.run_it(python, launcher, worker, expect=7)
            self.assertEqual(len(self.processes()), 3)

    def test_a_launcher_that_becomes_the_script(self):
        launcher, worker = self.write("launch.py", ACCELERATE), self.write("worker.py", WORKER)
        recorded = self.write("recorded.py", "import stepscope\nstepscope.counter('early', 1)\n" + ACCELERATE)
        for python in self.each():
            self.run_it(python, launcher, worker)
            self.assertEqual([p[:2] for p in self.processes()], [(0, 1)])
            self.run_it(python, recorded, worker)  # what it was before is a process too
            self.assertEqual(sorted(p[0] for p in self.processes()), [-1, 0])
            self.assertEqual(self.spans(), {"worker 0": 1})

    def test_sudo_is_said(self):
        path = self.write("bin/sudo", SUDO)
        os.chmod(path, 0o755)
        worker = self.write("worker.py", "print('ran')")
        for python in self.each():
            done = self.run_it("sudo", python, worker,
                               PATH=self.path("bin") + os.pathsep + os.environ["PATH"])
            self.assertEqual(done.stdout, "ran\n")
            self.assertIn("sudo disables hooks: put it in front of stepscope instead", done.stderr)

    def test_a_python_deeper_down_that_keeps_us_out_runs_as_ever(self):
        launcher = self.write("inside.py", INSIDE)
        python = NEWEST
        for option in ("-I", "-E", "-S"):
            with self.subTest(option=option):
                self.runs = self.path("runs" + option)
                done = self.run_it(python, launcher, python, option, "-c", "print('ran')")
                self.assertEqual(done.stdout, "ran\n")
                self.assertIn("Hooks     none", done.stderr)


if __name__ == "__main__":
    unittest.main()
