"""A supervisor that holds the memory of more processes than it was allowed descriptors at first, or
may ever have: none of them is disturbed, and the command keeps its own limit.
"""

import contextlib
import os
import resource
import signal
import subprocess
import time
import unittest

import recording
import test_faults

PROCESSES = 100
FEW = 64
TICKS = os.sysconf("SC_CLK_TCK")
# They record, wait until the pipe is closed, record again and end.
SCRIPT = """
i=0
while [ $i -lt $0 ]; do
    "$@" <"$GO" >/dev/null &
    i=$((i + 1))
done
wait
"""


class FileLimitTest(test_faults.FaultTest):
    def start_run(self, limits, *command, **options):
        run = subprocess.Popen(
            [recording.program("stepscope"), "run", "-q", "--no-pack", "--dir", self.folder, "--",
             *command],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
            env=recording.environment(None, GO=self.path("go")), text=True, **options)
        self.addCleanup(run.wait)
        self.addCleanup(run.terminate)
        return run

    def at_once(self, limits, count, *script):
        """This many processes, which all live when the first of them goes on. Returns the supervisor's
        share of a core while they wait."""
        self.run = self.path("latest")
        os.mkfifo(self.path("go"))
        supervisor = self.start_run(limits, "sh", "-c", SCRIPT, str(count),
                                    recording.program("fault_writer"), *script)
        go = os.open(self.path("go"), os.O_WRONLY)
        self.wait_for_spans(300 * count)
        before, start = self.cpu(supervisor.pid), time.monotonic()
        while time.monotonic() - start < 1:
            time.sleep(0.05)
        share = (self.cpu(supervisor.pid) - before) / (time.monotonic() - start)
        os.close(go)
        self.assertEqual(supervisor.wait(recording.PATIENCE_S), 0)
        return share

    def wait_for_spans(self, count):
        end = time.monotonic() + recording.PATIENCE_S
        while time.monotonic() < end:
            with contextlib.suppress(subprocess.CalledProcessError):  # there is no file yet
                if recording.info(self.run)["records"]["span"] >= count:
                    return
            time.sleep(0.1)
        raise AssertionError("not all processes record")

    def cpu(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def test_the_command_keeps_its_limit(self):
        limits = (FEW, 4 * PROCESSES)
        run = self.start_run(limits, "sh", "-c", "ulimit -Sn; ulimit -Hn", stdout=subprocess.PIPE)
        self.assertEqual(run.communicate(timeout=recording.PATIENCE_S)[0].split(),
                         [str(n) for n in limits])

    def test_all_that_are_killed_at_once_are_saved(self):
        self.at_once((FEW, 4 * PROCESSES), PROCESSES, "spans:300", "wait", "spans:600",
                     f"die:{signal.SIGKILL:d}")
        self.assertEqual(recording.info(self.run)["records"]["span"], 900 * PROCESSES)

    def test_those_beyond_the_hard_limit_record_too(self):
        share = self.at_once((FEW, FEW), PROCESSES, "spans:300", "wait", "spans:600")
        found = recording.info(self.run)
        dropped = sum(found["lost"]["dropped_spans"].values())  # where the machine is busy
        kept = found["records"]["span"] + dropped
        if found["whole"]:  # on a busy machine some end before their last spans are written
            self.assertEqual((kept, dropped), (900 * PROCESSES, 0))
        self.assertGreaterEqual(kept, 300 * PROCESSES)
        self.assertLess(share, 0.3, "the supervisor does not spin")


if __name__ == "__main__":
    unittest.main()
