"""Signals that a process sends, and how the end of the command becomes ours."""

import os
import resource
import signal
import subprocess
import unittest

from running import (PATIENCE_S, PROGRAM, PYTHON, TRAINER, RunTest, children_of, environment,
                     read_until, state_of, steps_in, wait_until)

# Says each signal that it gets, ends with its input.
COUNTER = """
import os, signal, sys
def got(number, frame):
    os.write(1, f"[{signal.Signals(number).name}]".encode())
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, got)
os.write(1, b"[ready]")
while os.read(0, 1):
    os.write(1, b"[asked]")
"""


def exit_of(returncode):
    return "exited" if returncode >= 0 else signal.Signals(-returncode).name


class Sent(RunTest):
    def start_counter(self, **options):
        run = self.start("--quiet", "--", PYTHON, self.write("counter.py", COUNTER), **options)
        run.expect(b"[ready]")
        return run

    def ask(self, run):
        """All that the command said since it was asked before; signals come before answers."""
        run.tell("")
        return run.expect(b"[asked]")

    def test_one_sent_to_us_alone_is_passed_on(self):
        run = self.start_counter()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP,
                       signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGABRT,
                       signal.SIGSEGV, signal.SIGWINCH, signal.SIGTSTP, signal.SIGXCPU,
                       signal.SIGPIPE, signal.SIGRTMIN):
            with self.subTest(signal=number):
                os.kill(run.pid, number)
                self.assertEqual(run.expect(b"[%s]" % number.name.encode()), b"")

    def test_one_sent_to_the_group_arrives_once(self):
        run = self.start_counter(start_new_session=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
            for _ in range(20):
                os.killpg(run.pid, number)
                self.assertEqual(run.expect(b"[%s]" % number.name.encode()), b"")
        os.kill(run.pid, signal.SIGUSR2)  # what we pass on comes after what we would have passed
        self.assertEqual(run.expect(b"[SIGUSR2]"), b"")

    def test_one_sent_to_a_group_that_the_command_left_is_passed_on(self):
        left = COUNTER.replace("import os", "import os; os.setpgid(0, 0); import os", 1)
        run = self.start("--quiet", "--", PYTHON, self.write("counter.py", left),
                         start_new_session=True)
        run.expect(b"[ready]")
        os.killpg(run.pid, signal.SIGINT)
        self.assertEqual(run.expect(b"[SIGINT]"), b"")

    def test_a_command_that_signals_its_group_gets_it_once(self):
        text = COUNTER.replace("[asked]\")", "[asked]\"); os.kill(0, signal.SIGUSR1)")
        run = self.start("--quiet", "--", PYTHON, self.write("counter.py", text),
                         start_new_session=True)
        run.expect(b"[ready]")
        run.tell("")
        run.expect(b"[asked]")
        self.assertEqual(run.expect(b"[SIGUSR1]"), b"")
        os.kill(run.pid, signal.SIGUSR2)
        self.assertNotIn(b"USR1]", run.expect(b"[SIGUSR2]").replace(b"[asked][SIGUSR1]", b""))

    def test_without_its_witness_terminal_and_process_are_told_apart(self):
        run = self.start_counter(start_new_session=True)
        command = self.command_of(run.pid)
        for pid in children_of(run.pid):
            if pid != command:
                os.kill(pid, signal.SIGKILL)
        os.kill(run.pid, signal.SIGTERM)
        self.assertEqual(run.expect(b"[SIGTERM]"), b"")

    def test_a_witness_that_stays_stopped_makes_nobody_deaf(self):
        run = self.start_counter(start_new_session=True)
        command = self.command_of(run.pid)
        os.killpg(run.pid, signal.SIGSTOP)
        wait_until(lambda: {state_of(pid) for pid in (run.pid, command)} == {"T"}, "a stop of both")
        for pid in (run.pid, command):  # not the group: the witness stays stopped
            os.kill(pid, signal.SIGCONT)
        run.expect(b"[SIGCONT]")
        os.kill(run.pid, signal.SIGTERM)
        run.expect(b"[SIGTERM]")
        os.killpg(run.pid, signal.SIGUSR1)
        run.expect(b"[SIGUSR1]")
        self.assertNotIn(b"SIGUSR1", self.ask(run))
        self.assertEqual(run.finish()[0], 0)

    def test_ignored_and_blocked_signals_are_handed_down(self):
        show = ("import signal; print(signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN, "
                "signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN, "
                "sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))")

        def change():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

        done = self.run_it("--quiet", "--", PYTHON, "-c", show, preexec_fn=change)
        self.assertEqual(done.stdout, b"True True [12]\n")
        done = self.run_it("--quiet", "--", PYTHON, "-c", show)
        self.assertEqual(done.stdout, b"False False []\n")

    def test_ignored_children_still_give_an_exit_code(self):
        done = self.run_it("--quiet", "--", "sh", "-c", "exit 5",
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 5)


class Ends(RunTest):
    def test_exit_codes_are_the_commands_own(self):
        for code in (0, 1, 2, 3, 126, 127, 200, 255):
            done = self.run_it("--", "sh", "-c", f"exit {code}")
            self.assertEqual(done.returncode, code)
            self.assertEqual(self.facts("outcome")["exit_code"], str(code))
            self.assertNotIn("signal", self.facts("outcome"))

    def test_death_by_a_signal_is_mirrored(self):
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGABRT,
                       signal.SIGINT, signal.SIGPIPE, signal.SIGUSR1):
            done = self.run_it("--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(exit_of(done.returncode), number.name)
            self.assertEqual(self.facts("outcome")["signal"], str(int(number)))
            self.assertNotIn("exit_code", self.facts("outcome"))

    def test_only_the_command_dumps_core(self):
        """Core files where they are, in the directory of the process: ours is another one's."""
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
            if file.read().strip() != "core":
                self.skipTest("core dumps go elsewhere")
        os.mkdir(self.path("inner"))
        unlimited = resource.getrlimit(resource.RLIMIT_CORE)[1]
        self.run_it("--", "sh", "-c", "cd inner && kill -SEGV $$",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE,
                                                          (unlimited, unlimited)))
        self.assertEqual([name for name in os.listdir(self.folder) if "core" in name], [])

    def test_the_shell_sees_no_core_dump_of_ours(self):
        run = self.start("--", "sh", "-c", "kill -SEGV $$")
        _, status = os.waitpid(run.pid, 0)
        run.process.returncode = 0
        self.assertEqual(os.WTERMSIG(status), signal.SIGSEGV)
        self.assertFalse(os.WCOREDUMP(status))

    def test_a_command_that_is_not_there(self):
        done = self.run_it("--", "no-such-command", "x")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            127, b"",
            b"stepscope run: cannot run 'no-such-command': No such file or directory.\n"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_command_that_cannot_be_run(self):
        self.write("plain", "echo x\n")
        for command, why in (("./plain", b"Permission denied"), ("/", b"Permission denied"),
                             ("./plain/x", b"Not a directory")):
            done = self.run_it("--", command)
            self.assertEqual(done.returncode, 126)
            self.assertIn(b": " + why + b".\n", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["plain"])

    def test_a_command_that_cannot_be_run_leaves_latest_alone(self):
        self.run_it("--", "true")
        before = os.readlink(self.path("stepscope-runs/latest"))
        self.assertEqual(self.run_it("--", "no-such-command").returncode, 127)
        self.assertEqual(os.readlink(self.path("stepscope-runs/latest")), before)
        self.assertEqual(self.runs(), [before])

    def test_a_script_without_interpreter_runs_as_in_a_shell(self):
        self.write("script", "echo from the script\nexit 4\n", 0o755)
        done = self.run_it("--quiet", "--", "./script")
        self.assertEqual((done.returncode, done.stdout), (4, b"from the script\n"))

    def test_what_the_command_used_is_kept(self):
        self.run_it("--", PYTHON, "-c", "x = bytearray(50_000_000); sum(range(300_000))")
        facts = {key: int(value) for key, value in self.facts("outcome").items()}
        self.assertGreater(facts["max_rss_bytes"], 50_000_000)
        self.assertGreater(facts["user_ns"] + facts["system_ns"], 0)
        self.assertGreater(facts["ended_ns"], facts["started_ns"])


class ProcessOne(RunTest):
    """As the first process of a container."""

    UNSHARE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

    def container(self, *arguments):
        probe = subprocess.run(self.UNSHARE + ["true"], stderr=subprocess.PIPE, check=False)
        if probe.returncode != 0:
            self.skipTest("no right to make a process namespace")
        run = subprocess.Popen([*self.UNSHARE, PROGRAM, "run", *arguments], cwd=self.folder,
                               env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        return run

    def finish(self, run, text=b""):
        out, err = run.communicate(text, timeout=PATIENCE_S)
        return run.returncode, out.decode(), err.decode()

    def test_it_is_process_one_and_the_exit_code_comes_through(self):
        run = self.container("-q", "--", "sh", "-c", "echo $PPID; exit 9")
        self.assertEqual(self.finish(run), (9, "1\n", ""))

    def test_it_reaps_orphans(self):
        script = """
for i in 1 2 3 4 5 6 7 8; do sh -c 'sh -c "echo gone" & exit' | cat; done
while true; do
    zombies=0
    for stat in /proc/[0-9]*/stat; do
        case $(cat $stat 2>/dev/null) in *') Z 1 '*) zombies=1;; esac
    done
    [ $zombies = 0 ] && break
done
echo no zombies
"""
        run = self.container("-q", "--", "sh", "-c", script)
        self.assertEqual(self.finish(run), (0, "gone\n" * 8 + "no zombies\n", ""))

    def test_a_death_by_signal_is_an_exit_code(self):
        run = self.container("-q", "--", "sh", "-c", "kill -KILL $$")
        self.assertEqual(self.finish(run), (128 + 9, "", ""))

    def test_it_passes_signals_on(self):
        run = self.container("-q", "--", "sh", "-c", "trap 'echo term; exit 6' TERM; echo ready; "
                             "while :; do read x; done")
        read_until(run.stdout.fileno(), b"ready\n")
        os.kill(children_of(run.pid)[0], signal.SIGTERM)
        self.assertEqual(self.finish(run), (6, "term\n", ""))

    def test_what_its_processes_record_is_followed(self):
        code, _, err = self.finish(self.container("--", TRAINER), b"steps 30\n")
        self.assertEqual((code, steps_in(err)), (0, 30), err)


if __name__ == "__main__":
    unittest.main()
