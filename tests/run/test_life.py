"""Who lives longer than whom: nested runs, daemons, kills, many processes. What was recorded is
there in each case."""

import json
import os
import signal
import subprocess
import unittest

from running import (PATIENCE_S, PROGRAM, PYTHON, TRAINER, RunTest, children_of, environment,
                     is_running, kill, steps_in, wait_until)


class Nested(RunTest):
    def test_a_run_inside_a_run_joins_it(self):
        done = self.run_it("--", "sh", "-c", '"$0" run --name inner -- "$1"', PROGRAM, TRAINER,
                           input=b"steps 40\n")
        self.assertEqual(done.stdout, b"ready\n40 steps\n")
        self.assertEqual(done.stderr.count(b"stepscope: "), 1, done.stderr)
        self.assertEqual(len(self.runs()), 1)
        self.assertEqual(self.info()["records"]["step"], 40)

    def test_its_exit_code_comes_through(self):
        for code in ("exit 3", "kill -TERM $$"):
            plain = self.run_it("--", "sh", "-c", code)
            nested = self.run_it("--", PROGRAM, "run", "--", "sh", "-c", code)
            self.assertEqual(nested.returncode, plain.returncode)
        done = self.run_it("--", PROGRAM, "run", "--", "no-such-command")
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"cannot run 'no-such-command'", done.stderr)

    def test_a_script_without_its_interpreter_gets_a_hint(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write("print(1)\n")
        for name in (self.path("train.py"), "./train.py", "train.py"):
            done = self.run_it("--", name)
            self.assertIn(b"Put python in front: stepscope run -- python " + name.encode(), done.stderr)

    def test_a_run_that_is_gone_is_not_joined(self):
        env = environment(STEPSCOPE_RUN=self.path("gone"))
        self.run_it("--", TRAINER, input=b"steps 3\n", env=env)
        self.assertEqual(self.info()["records"]["step"], 3)
        self.assertFalse(os.path.exists(self.path("gone")))


class Daemons(RunTest):
    def test_a_daemon_is_not_waited_for(self):
        done = self.run_it("--", "sh", "-c",
                           "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!")
        daemon = int(done.stdout)
        self.addCleanup(kill, daemon)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(is_running(daemon))

    def test_a_daemon_that_records_is_not_waited_for(self):
        os.mkfifo(self.path("orders"))
        script = "setsid \"$0\" <orders >said 2>&1 & echo $!; while [ ! -s said ]; do :; done"
        run = self.start("--", "sh", "-c", script, TRAINER)
        daemon = int(run.expect(b"\n"))
        self.addCleanup(kill, daemon)
        with open(self.path("orders"), "w", encoding="ascii") as orders:
            code, _, err = run.finish()
            self.assertEqual(code, 0)
            self.assertIn("stepscope: ", err)
            self.assertTrue(is_running(daemon))
            orders.write("steps 20\n")
            orders.flush()
            wait_until(lambda: "20 steps" in self.said(), "the steps of the daemon")
        wait_until(lambda: not is_running(daemon), "the end of the daemon")
        self.assertEqual(self.info()["records"]["step"], 20)

    def said(self):
        with open(self.path("said"), encoding="ascii") as file:
            return file.read()

    def test_the_last_steps_count_although_a_daemon_goes_on(self):
        """While a process lives, the newest records wait for slower ones."""
        os.mkfifo(self.path("orders"))
        script = ("setsid \"$0\" <orders >said 2>&1 & echo $!; exec 9>orders; echo steps 1 >&9; "
                  "while ! grep -q '1 steps' said; do :; done; \"$0\"")
        run = self.start("--", "sh", "-c", script, TRAINER)
        daemon = int(run.expect(b"\n"))
        self.addCleanup(kill, daemon)
        run.expect(b"ready\n")
        with open(self.path("orders"), "w", encoding="ascii"):
            run.tell("steps 777")
            run.expect(b"777 steps\n")
            code, _, err = run.finish()
            self.assertTrue(is_running(daemon))
        self.assertEqual(code, 0)
        self.assertEqual(steps_in(err), 777, err)


class Kills(RunTest):
    def has_latest(self):
        """The supervisor's child makes the link, beside the command."""
        return os.path.exists(os.path.join(self.folder, "stepscope-runs", "latest"))

    def steps(self):
        return self.info()["records"].get("step", 0)

    def report(self):
        done = self.stepscope("report", "--json", "stepscope-runs/latest")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def start_trainer(self):
        run = self.start("--", TRAINER)
        run.tell("steps 100")
        run.expect(b"100 steps\n")
        return run, self.command_of(run.pid)

    def test_the_supervisor_is_killed(self):
        run, command = self.start_trainer()
        helpers = set(children_of(run.pid)) - {command}
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait(PATIENCE_S)
        self.assertTrue(is_running(command))
        wait_until(lambda: self.steps() == 100, "the copy of what was recorded")
        self.assertTrue(self.info()["live"])
        run.tell("steps 50")
        run.expect(b"150 steps\n")
        run.process.stdin.close()
        wait_until(lambda: not is_running(command), "the end of the command")
        wait_until(lambda: not any(map(is_running, helpers)), "the end of its helpers")
        self.assertEqual(self.steps(), 150)
        self.assertEqual(self.report()["steps"]["count"], 150)
        self.assertNotIn("ended_ns", self.facts("outcome"))

    def test_the_process_that_sums_up_is_killed(self):
        """The command goes on and is recorded, and a line says what happened."""
        run, _ = self.start_trainer()
        latest = self.path("stepscope-runs/latest")
        wait_until(lambda: any(name.startswith("s-") for name in os.listdir(latest)), "samples")
        [worker] = [int(name.split("-")[1]) for name in os.listdir(latest)
                    if name.startswith("s-")]
        self.assertIn(worker, children_of(run.pid))
        os.kill(worker, signal.SIGKILL)
        run.tell("steps 50")
        run.expect(b"150 steps\n")
        code, _, said = run.finish()
        self.assertEqual(code, 0)
        self.assertIn("the process that sums up was ended by a signal (Killed). "
                      "'stepscope report' shows what was recorded.", " ".join(said.split()))
        self.assertEqual(self.report()["steps"]["count"], 150)

    def test_the_command_is_killed(self):
        run, command = self.start_trainer()
        os.kill(command, signal.SIGKILL)
        code, _, err = run.finish()
        self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual(steps_in(err), 100, err)
        self.assertEqual(self.steps(), 100)
        self.assertEqual(self.report()["steps"]["count"], 100)
        self.assertEqual(self.facts("outcome")["signal"], "9")

    def test_both_are_killed(self):
        """At the same time: what had been copied to the file stays, which takes a moment."""
        run, command = self.start_trainer()
        wait_until(lambda: self.has_latest() and self.steps() == 100, "the copy")
        os.kill(run.pid, signal.SIGKILL)
        os.kill(command, signal.SIGKILL)
        run.process.wait(PATIENCE_S)
        wait_until(lambda: not self.info()["live"], "the end of all threads of the command")
        self.assertEqual(self.steps(), 100)
        self.assertEqual(self.report()["steps"]["count"], 100)

    def test_the_whole_group_is_killed(self):
        run = self.start("--", TRAINER, start_new_session=True)
        run.tell("steps 100")
        run.expect(b"100 steps\n")
        wait_until(lambda: self.has_latest() and self.steps() == 100, "the copy")
        os.killpg(run.pid, signal.SIGKILL)
        run.process.wait(PATIENCE_S)
        self.assertEqual(self.steps(), 100)

    def test_a_span_that_is_open_when_the_command_is_killed_is_named(self):
        run, command = self.start_trainer()
        run.tell("open")
        run.expect(b"100 steps\n")
        os.kill(command, signal.SIGKILL)
        run.finish()
        self.assertEqual(self.info()["unfinished"], 1)


class Books(RunTest):
    def test_they_reach_from_the_fork_to_the_reaped_exit(self):
        done = self.run_it("--", "sh", "-c", "sleep 0.05; \"$0\"; code=$?; exit $code", TRAINER,
                           input=b"steps 100\n")
        self.assertEqual(done.returncode, 0)
        self.run_it("--", PYTHON, "-c", f"import os; os.execv('{TRAINER}', ['trainer'])",
                    input=b"steps 100\n")
        facts = self.facts("outcome")
        report = json.loads(self.stepscope("report", "--json", "stepscope-runs/latest").stdout)
        self.assertEqual(report["books"]["wall_ns"],
                         int(facts["ended_ns"]) - int(facts["started_ns"]))
        self.assertEqual(report["books"]["wall_ns"],
                         sum(value for key, value in report["books"].items()
                             if key.endswith("_ns") and key != "wall_ns"))

    def test_the_summary_and_a_later_report_agree(self):
        done = self.run_it("--", TRAINER, input=b"steps 2000\n")
        report = json.loads(self.stepscope("report", "--json", "stepscope-runs/latest").stdout)
        self.assertEqual(report["steps"]["count"], steps_in(done.stderr.decode()))
        self.assertIn(f"{report['steps']['steady']['count']:,} steady steps",
                      done.stderr.decode().replace("\u00a0", " "))

    def reused(self):
        """0, too, as long as the recorder's own thread has not written the beginning of the file."""
        done = self.stepscope("info", "--json", "stepscope-runs/latest")
        return json.loads(done.stdout)["lost"]["reused"] if done.returncode == 0 else 0

    def train_past_the_cap(self, *options):
        """A little at a time, until some of it was given up: (steps that were made, standard error)."""
        run = self.start(*options, "--", TRAINER, env=environment(STEPSCOPE_CAP="500K"))
        run.expect(b"ready\n")
        made = 0
        while made == 0 or self.reused() == 0:
            self.assertLess(made, 1_000_000, "the cap took nothing")
            made += 200
            run.tell("steps 200")
            run.expect(b"%d steps\n" % made)
        code, _, err = run.finish()
        self.assertEqual(code, 0)
        return made, err

    def test_what_the_cap_took_is_still_known(self):
        made, err = self.train_past_the_cap()
        seen = steps_in(err)
        text = self.stepscope("report", "stepscope-runs/latest").stdout
        self.assertIn("\nThe whole run, as summarised when it ended\nstepscope: ", text)
        self.assertIn(f"{seen:,} steps", text.partition("The part that is kept")[0])
        report = json.loads(self.stepscope("report", "--json", "stepscope-runs/latest").stdout)
        self.assertLess(report["steps"]["count"], made)
        whole = self.run_it("--", TRAINER, input=b"steps 600\n")
        self.assertEqual(whole.returncode, 0)
        self.assertNotIn("The whole run", self.stepscope("report").stdout)

    def test_a_quiet_run_keeps_the_same(self):
        _, err = self.train_past_the_cap("--quiet")
        self.assertEqual(err, "")
        text = self.stepscope("report", "stepscope-runs/latest").stdout
        self.assertIn("\nThe whole run, as summarised when it ended\nstepscope: ", text)


class Many(RunTest):
    def test_a_thousand_short_lived_grandchildren(self):
        script = "i=0; while [ $i -lt 1000 ]; do /bin/true & i=$((i + 1)); done; wait; exit 8"
        done = self.run_it("--", "sh", "-c", script)
        self.assertEqual(done.returncode, 8)

    def test_a_command_that_forks_all_the_time(self):
        run = self.start("--", TRAINER)
        run.tell("steps 10")
        run.tell("workers 300")
        run.tell("steps 10")
        run.expect(b"20 steps\n")
        wait_until(lambda: len(os.listdir(self.path("stepscope-runs/latest"))) > 300, "the files")
        wait_until(lambda: len(os.listdir(f"/proc/{run.pid}/fd")) < 200,
                   "descriptors of workers that have ended to be closed")
        code, _, err = run.finish()
        self.assertEqual(code, 0)
        self.assertEqual(steps_in(err), 20, err)
        training = [p for p in self.info()["processes"] if p["kind"] == "training"]
        self.assertEqual(len(training), 301)


class Stopped(RunTest):
    def test_a_command_that_was_stopped_is_not_taken_for_dead(self):
        run = self.start("--", TRAINER, start_new_session=True)
        run.tell("open")
        run.expect(b"0 steps\n")
        command = self.command_of(run.pid)
        os.kill(command, signal.SIGSTOP)
        wait_until(lambda: self.info()["live"], "a live run")
        os.kill(command, signal.SIGCONT)
        run.tell("steps 50")
        run.expect(b"50 steps\n")
        self.assertEqual(run.finish()[0], 0)
        self.assertEqual(self.info()["unfinished"], 1)


if __name__ == "__main__":
    unittest.main()
