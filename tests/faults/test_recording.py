"""What records, and what it records for, whatever call fails: the command prints and returns the same,
each of its spans is in the run or counted as lost, and the run can be read. Calls of the recorder
fail in the process that records itself, those of the supervisor in `stepscope run`."""

import glob
import json
import os
import re
import subprocess
import unittest

import injection
from injection import BUILD, PROGRAM, Injection

WRITER = os.path.join(BUILD, "fault_writer")
EXIT_CODE = 7
SPANS = 6000
SCRIPT = ("spans:3000", "child:100", "paced:3000", "status")
STATUS = re.compile(rb"^status: .*\n", re.MULTILINE)
# Calls that are not the recorder's alone: those of the program itself that change what it prints.
OF_THE_PROGRAM = ("fflush", "write", "fork", "waitpid", "printf", "puts")


def look(folder):
    """What `info` says of the run: (exit code, spans read, spans lost, whole, error)."""
    runs = [path for path in glob.glob(os.path.join(folder, "runs", "2*")) + [folder + "/run"]
            if os.path.isdir(path) and glob.glob(os.path.join(path, "p-*.ssp"))]
    if not runs:
        return None
    done = subprocess.run([PROGRAM, "info", "--json", runs[0]], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=injection.PATIENCE_S)
    if done.returncode != 0:
        return {"code": done.returncode, "said": done.stderr.decode()}
    known = json.loads(done.stdout)
    stages = ("data", "forward", "backward")
    read = sum(known["stages"].get(stage, {"spans": 0})["spans"] for stage in stages)
    lost = sum(known["lost"][kind].get(stage, 0) for stage in stages
               for kind in ("dropped_spans", "reused_spans"))
    return {"code": 0, "read": read, "lost": lost, "whole": known["whole"],
            "errors": [process["error"] for process in known["processes"]]}


def judge(outcome, undisturbed):
    if outcome.code == "hang":
        return "it hangs"
    if outcome.code != undisturbed.code:
        return f"exit code {outcome.code}: {outcome.err.decode(errors='replace')[-300:]}"
    if STATUS.sub(b"", outcome.out) != STATUS.sub(b"", undisturbed.out):
        return f"printed {outcome.out!r}"
    return judge_run(outcome)


def judge_run(outcome):
    """A child has a file of its own: it may be without one."""
    run, status = outcome.files, b" ".join(STATUS.findall(outcome.out))
    if run is None:
        says_why = b"off: " in status or outcome.err.startswith(b"stepscope")
        return None if says_why else f"no run, and no reason: {status!r}"
    if run["code"] != 0:
        return f"a run that cannot be read: {run}"
    made = SPANS + 100
    there = run["read"] + run["lost"]
    if there > made:
        return f"invented: {run}"
    if there < made and run["whole"] and b"off: " not in status and b"losses" not in status:
        return f"lost without a word: {run}, {status!r}"
    return None


class Recording(injection.InjectionTest):
    def prepare(self, folder):
        pass

    def test_the_recorder_alone(self):
        os.environ.pop("STEPSCOPE_RUN", None)
        words = ["/usr/bin/env", "STEPSCOPE_RUN=run", WRITER, *SCRIPT]
        self.check(self.of_recorder(words), judge, is_steady=False)

    def test_the_recorder_below_the_supervisor(self):
        words = [PROGRAM, "run", "-q", "--dir", "runs", "--", WRITER, *SCRIPT]
        self.check(self.of_recorder(words), judge, is_steady=False)

    def of_recorder(self, words):
        found = Injection(words, self.prepare, look, victim="fault_writer")
        found.left_out = OF_THE_PROGRAM
        return found

    def test_the_supervisor(self):
        """It may fail to start the command, if it says so; nothing else changes."""
        def judge_run_of(outcome, undisturbed):
            if outcome.code in (126, 127, 3) and outcome.err.startswith(b"stepscope"):
                return None if not outcome.out else "it ran, and that is not what is said"
            return judge(outcome, undisturbed)
        words = [PROGRAM, "run", "--dir", "runs", "--", WRITER, *SCRIPT]
        self.check(Injection(words, self.prepare, look), judge_run_of, is_steady=False)


if __name__ == "__main__":
    unittest.main()
