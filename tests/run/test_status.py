"""What is printed: status lines while the command runs, the summary at its end."""

import fcntl
import json
import os
import select
import signal
import subprocess
import unittest

from running import (PATIENCE_S, PROGRAM, TRAINER, RunTest, environment, read_until,
                     wait_until)



class Status(RunTest):
    def test_a_line_comes_each_time(self):
        run = self.start("--every", "50ms", "--", "sh", "-c", "echo before; read x; exec \"$0\"",
                         TRAINER)
        err = run.process.stderr.fileno()
        seen = read_until(err, b"yet\n")
        self.assertRegex(seen.decode(), r"\Astepscope \S+ m?s: nothing recorded yet\n")
        run.tell("")
        run.tell("steps 500")
        run.expect(b"500 steps\n")
        seen = read_until(err, b"step 499,")
        seen = read_until(err, b"\n", seen)
        line = seen.decode().splitlines()[-1]
        self.assertRegex(line, r"\Astepscope \S+ m?s: step 499, \S+/s, median ")
        self.assertLessEqual(len(line), 80)
        self.assertEqual(run.finish()[0], 0)

    def test_a_reader_that_does_not_read_holds_nobody_up(self):
        """Standard error is full from the start: lines are left out, and signals are passed on."""
        end, full = os.pipe()
        self.addCleanup(os.close, end)
        fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
        os.write(full, b"x" * 4096)
        script = ("trap 'echo got' USR1; trap 'exit 3' TERM; echo ready; "
                  "while :; do read line; done 2>/dev/null")
        with subprocess.Popen([PROGRAM, "run", "--every", "1ms", "--", "sh", "-c", script],
                              cwd=self.folder, env=environment(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=full) as run:
            os.close(full)
            try:
                read_until(run.stdout.fileno(), b"ready\n")
                self.command_of(run.pid)
                for _ in range(20):
                    os.kill(run.pid, signal.SIGUSR1)
                    read_until(run.stdout.fileno(), b"got\n")
                os.kill(run.pid, signal.SIGTERM)
                wait_until(lambda: "exit_code" in self.facts("outcome"), "the end")
                read_until(end, b"stepscope: ")
                self.assertEqual(run.wait(PATIENCE_S), 3)
            finally:
                run.kill()

    def test_a_reader_that_comes_later_holds_nobody_up(self):
        """It has been given all that there is, but its pipe has no room for more."""
        end, full = os.pipe()
        self.addCleanup(os.close, end)
        fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
        run = subprocess.Popen([PROGRAM, "run", "--", "sh", "-c", "exit 5"], cwd=self.folder,
                               env=environment(), stdin=subprocess.DEVNULL, stderr=full)
        os.close(full)
        try:
            self.assertEqual(run.wait(PATIENCE_S), 5)
        finally:
            run.kill()
        self.assertIn(b"exited with 5", os.read(end, 4096))

    def test_without_the_option_there_is_none(self):
        done = self.run_it("--", TRAINER, input=b"steps 500\n")
        self.assertEqual(done.stderr.count(b"stepscope: "), 1)

    def test_a_command_that_records_nothing_says_so(self):
        done = self.run_it("--", "true")
        self.assertIn(b"nothing was recorded", done.stderr)

    def test_a_command_that_fails_before_its_first_step_gets_two_lines(self):
        done = self.run_it("--", "sh", "-c", "echo no module >&2; exit 1")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(lines[0], "no module")
        self.assertRegex(lines[1], r"\Astepscope: sh -c .*: exited with 1 after \S+ [mu]?s\Z")
        self.assertRegex(lines[2], r"\Amore    stepscope report")
        self.assertEqual(len(lines), 3)

    def test_a_command_that_records_nothing_is_summed_up(self):
        done = self.run_it("--deadline", "1h", "--", "sh", "-c", "exit 7")
        lines = done.stderr.decode().splitlines()
        self.assertRegex(lines[0], r"\Astepscope: sh -c 'exit 7': exited with 7 after \S+ m?s\Z")
        self.assertIn("finish  the run did not finish; its deadline was 1 h 00 min", lines)
        report = self.stepscope("report")
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        self.assertEqual(report.stdout.splitlines()[:3],
                         [lines[0].partition(": ")[2], *lines[1:3]])
        found = json.loads(self.stepscope("report", "--json").stdout)
        facts = self.facts("outcome")
        self.assertEqual(found["books"]["wall_ns"],
                         int(facts["ended_ns"]) - int(facts["started_ns"]))
        done = self.run_it("--", "sh", "-c", "kill -9 $$")
        self.assertIn(b": killed by signal 9 (Killed) after ", done.stderr)

    def test_a_line_is_about_now(self):
        """Not about what was known at the last look, which may be 30 s old. The first line that is
        written after the steps may have been begun before them; the second was not."""
        run = self.start("--every", "400ms", "--", TRAINER)
        err = run.process.stderr.fileno()
        for done in range(40, 240, 40):
            run.tell("steps 40")
            run.expect(f"{done} steps\n".encode())
            while select.select([err], [], [], 0)[0]:  # lines from before
                os.read(err, 65536)
            _, _, second = read_until(err, b"\n").partition(b"\n")
            second = read_until(err, b"\n", second)
            self.assertIn(f": step {done - 1},", second.decode().splitlines()[0])
        self.assertEqual(run.finish()[0], 0)

    def test_the_deadline_is_judged(self):
        run = self.start("--every", "50ms", "--deadline", "1h", "--", TRAINER)
        run.tell("steps 500")
        read_until(run.process.stderr.fileno(), b", deadline cannot be judged, ")
        run.expect(b"500 steps\n")
        code, _, err = run.finish()
        self.assertEqual(code, 0)
        self.assertIn("\nfinish  the deadline of 1 h 00 min held\n", err)

    def test_the_summary_fits(self):
        for text in (b"", b"steps 3\n", b"steps 100\n", b"steps 5000\n", b"open\nworkers 3\n"):
            done = self.run_it("--deadline", "1h", "--", TRAINER, input=text)
            lines = done.stderr.decode().splitlines()
            self.assertLessEqual(len(lines), 15)
            for line in lines:
                self.assertLessEqual(len(line), 80, line)

    def test_the_summary_names_the_run(self):
        done = self.run_it("--", TRAINER, input=b"steps 100\n")
        [run] = self.runs()
        self.assertIn("\nmore    stepscope report\n", done.stderr.decode())
        report = self.stepscope("report", "--json", f"stepscope-runs/{run}")
        self.assertEqual(json.loads(report.stdout)["steps"]["count"], 100)


if __name__ == "__main__":
    unittest.main()
