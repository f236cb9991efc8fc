"""What the tests of the supervisor's samples share: a program that makes load, and what is reported
of it."""

import glob
import json
import os
import shutil
import subprocess

from running import BUILD, PROGRAM, RunTest, environment, wait_until

LOAD = os.path.join(BUILD, "load_maker")
NVML = os.path.join(BUILD, "fake_nvml.so")
LATEST = "stepscope-runs/latest"
SAMPLE_S = 0.5  # until a new process is looked at ten times per second, and since its last look

# In front of a command: the cores are its own as far as the scheduler allows, whatever else runs. Only
# root may do so; others take their turn.
FIRST = ("setsid", "--wait", "/bin/sh", "-c",
         'echo -20 2>/dev/null >/proc/self/autogroup; exec nice -n -20 "$@"', "sh")


class SamplesTest(RunTest):
    def load(self, *words, before=(), after=(), options=("--quiet",), is_copied=False, **env):
        """Runs it; (what it said of itself, the report). `is_copied`: from a place that other users may
        enter, wherever the build is."""
        program, load = (shutil.copy(file, self.folder) for file in (PROGRAM, LOAD)) \
            if is_copied else (PROGRAM, LOAD)
        command = [*before, program, "run", *options, "--", *after, load, *words]
        done = subprocess.run(command, cwd=self.folder, env=environment(**env), check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=300)
        return json.loads(done.stdout), self.report()

    def load_script(self, script, *before):
        """Runs a script of the shell; the report."""
        subprocess.run([*before, PROGRAM, "run", "--quiet", "--", "/bin/sh", "-c", script],
                       check=True, cwd=self.folder, env=environment(), timeout=300)
        return self.report()

    def records(self):
        """System records of the run so far: (counter, time, value)."""
        done = self.stepscope("dump", "--json", LATEST)
        lines = map(json.loads, done.stdout.splitlines())
        return [(line["name"], line["time_ns"], line["value"]) for line in lines
                if line["kind"] == "system"]

    def sample_file(self):
        wait_until(lambda: glob.glob(self.path(LATEST, "s-*")), "a file of samples")
        return glob.glob(self.path(LATEST, "s-*"))[0]

    def need(self, *command):
        """Skips the test where this cannot be done."""
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest(f"{command[0]} cannot be used here")

    def report(self):
        done = subprocess.run([PROGRAM, "report", "--json", LATEST], check=True,
                              cwd=self.folder, env=environment(), stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def counter(self, report, name):
        """The only one, or the first."""
        found = [c for c in report["resources"]["counters"] if c["counter"] == name]
        self.assertTrue(found, name)
        return found[0]

    def stamp(self, report):
        return {item["id"]: item for item in report["validity"]["items"]}

    def assert_near(self, found, true, slack):
        self.assertLessEqual(abs(found - true), max(0.02 * true, slack), (found, true))
