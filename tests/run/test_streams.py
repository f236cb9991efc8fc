"""Standard input, output and error, the working directory and the arguments are the command's own."""

import os
import select
import shutil
import signal
import subprocess
import tempfile
import unittest

from running import (BUILD, PATIENCE_S, PROGRAM, PYTHON, TRAINER, RunTest, environment,
                     read_until, wait_until)

SUMMARY = b"stepscope: "


class Streams(RunTest):
    def test_bytes_go_through_unchanged(self):
        data = os.urandom(3 << 20) + bytes(range(256))
        done = self.run_it("--", "cat", input=data)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout == data)

    def test_standard_error_has_the_commands_words_before_ours(self):
        done = self.run_it("--", "sh", "-c", "printf 'mine\\377\\n' >&2; printf out")
        self.assertEqual(done.stdout, b"out")
        self.assertTrue(done.stderr.startswith(b"mine\xff\n" + SUMMARY), done.stderr)

    def test_nothing_is_said_before_the_end(self):
        run = self.start("--", TRAINER)
        run.tell("steps 100")
        run.expect(b"100 steps\n")
        self.assertEqual(select.select([run.process.stderr], [], [], 0)[0], [])
        self.assertTrue(run.finish()[2].startswith("stepscope: "))

    def test_arguments_arrive_as_they_are(self):
        words = ["", " ", "a b", "'", '"', "\\", "\n", "--", "--quiet", "-h", "*", "$HOME", "é"]
        show = "import sys; sys.stdout.buffer.write(repr(sys.argv[1:]).encode())"
        for before in (["--"], []):
            done = self.run_it("--quiet", *before, PYTHON, "-c", show, *words)
            self.assertEqual(done.stdout.decode(), repr(words))

    def test_working_directory_and_environment(self):
        os.makedirs(self.path("deep/er"))
        show = "import os; print(os.getcwd(), sorted(os.environ.items()))"
        env = environment(MINE="1")
        done = self.run_it("--", PYTHON, "-c", show, cwd=self.path("deep/er"), env=env)
        run = os.path.realpath(self.path("deep/er/stepscope-runs/latest"))
        env["STEPSCOPE_RUN"] = run
        boot = os.path.join(BUILD, "python", "stepscope", "_boot")
        if os.path.exists(boot):
            env["PYTHONPATH"] = ":".join([boot] + [p for p in [env.get("PYTHONPATH")] if p])
        plain = subprocess.run([PYTHON, "-c", show], cwd=self.path("deep/er"), check=True,
                               env=env, stdout=subprocess.PIPE)
        self.assertEqual(done.stdout, plain.stdout)

    def test_a_reader_that_does_not_read_standard_error_holds_up_no_signal(self):
        run = self.start("--", TRAINER)
        run.tell("steps 100")
        run.expect(b"100 steps\n")
        err = os.open(f"/proc/self/fd/{run.process.stderr.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, err)
        with self.assertRaises(BlockingIOError):  # full, to the last byte
            while os.write(err, bytes(1)):
                pass
        run.process.stdin.close()
        wait_until(lambda: "exit_code" in self.facts("outcome"), "an end of the command")
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.process.wait(PATIENCE_S), 0)

    def test_the_package_is_found_below_a_folder_of_any_name(self):
        for name in ("we[i]rd", "st*r", "wh?t", "a b", "back\\slash"):
            with self.subTest(folder=name):
                boot = self.path(name, "python/stepscope/_boot")
                os.makedirs(boot)
                shutil.copy(PROGRAM, self.path(name, "stepscope"))
                done = subprocess.run(
                    [self.path(name, "stepscope"), "run", "--quiet", "sh", "-c",
                     "echo \"$PYTHONPATH\""],
                    cwd=self.folder, env=environment(), stdout=subprocess.PIPE, check=True)
                self.assertEqual(done.stdout.decode().split(":")[0].strip(), boot)

    def test_the_package_is_found_where_pip_puts_it(self):
        for place in ("lib/python3.12/site-packages", "lib64/python3.12/site-packages",
                      "lib/python3/dist-packages", "local/lib/python3.12/dist-packages", ""):
            with self.subTest(place=place), tempfile.TemporaryDirectory(dir=self.folder) as prefix:
                prefix = os.path.realpath(prefix)
                boot = os.path.normpath(os.path.join(prefix, place, "stepscope/_boot"))
                os.makedirs(boot)
                os.mkdir(os.path.join(prefix, "bin"))
                program = shutil.copy(PROGRAM, os.path.join(prefix, "bin/stepscope"))
                done = subprocess.run([program, "run", "--quiet", "sh", "-c", "echo \"$PYTHONPATH\""],
                                      cwd=self.folder, env=environment(), stdout=subprocess.PIPE,
                                      check=True)
                self.assertEqual(done.stdout.decode().split(":")[0].strip(), boot)

    def test_a_command_that_closes_standard_error(self):
        done = self.run_it("--", "sh", "-c", "exec 2>&-; echo out; exit 3")
        self.assertEqual((done.returncode, done.stdout), (3, b"out\n"))
        self.assertTrue(done.stderr.startswith(SUMMARY))

    def test_descriptors_that_are_closed_stay_closed(self):
        show = ("import os, sys\nfor fd in (0, 1, 2):\n try: os.fstat(fd)\n"
                " except OSError: open('closed', 'a').write(str(fd))\n"
                "else: open('closed', 'a').write('.')")
        script = f'"$0" run -- {PYTHON} -c "$1" <&- >&- 2>&-'
        done = subprocess.run(["sh", "-c", script, PROGRAM, show], cwd=self.folder,
                              env=environment(), check=False, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0)
        with open(self.path("closed"), encoding="ascii") as file:
            self.assertEqual(file.read(), "012.")

    def test_no_descriptor_of_ours_reaches_the_command(self):
        show = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
        done = self.run_it("--quiet", "--", PYTHON, "-c", show)
        self.assertEqual(done.stdout, b"[0, 1, 2, 3]\n")  # 3 is that of the list

    def test_a_reader_sees_the_end_when_the_command_closes_its_output(self):
        run = self.start("--", "sh", "-c", "echo out; exec >&-; echo closed >&2; read x")
        self.assertEqual(read_until(run.process.stderr.fileno(), b"closed\n"), b"closed\n")
        self.assertEqual(run.process.stdout.read(), b"out\n")
        self.assertIsNone(run.process.poll())

    def test_a_writer_sees_that_the_command_closed_its_input(self):
        run = self.start("--", "sh", "-c", "exec <&-; echo closed; exec sleep 1000")
        run.expect(b"closed\n")
        command = self.command_of(run.pid)  # by now the supervisor has let go of it, too
        with self.assertRaises(BrokenPipeError):
            os.write(run.process.stdin.fileno(), b"x")
        os.kill(command, 9)

    def test_an_inherited_pipe_ends_when_the_command_closes_it(self):
        end, inherited = os.pipe()
        self.addCleanup(os.close, end)
        run = self.start("--", "sh", "-c",
                         f"printf got >&{inherited}; exec {inherited}>&-; echo closed; read x",
                         pass_fds=[inherited])
        os.close(inherited)
        run.expect(b"closed\n")
        self.assertEqual((os.read(end, 100), os.read(end, 100)), (b"got", b""))
        self.assertIsNone(run.process.poll())

    def test_standard_error_that_cannot_be_written(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        run = subprocess.Popen([PROGRAM, "run", "--", "sh", "-c", "exit 5"], cwd=self.folder,
                               env=environment(), stderr=write_end)
        os.close(write_end)
        self.assertEqual(run.wait(PATIENCE_S), 5)


class Quiet(RunTest):
    def check_silent(self, done, code):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, b"", b""))

    def test_a_run_with_steps(self):
        done = self.run_it("--quiet", "--every", "1ms", "--", "sh", "-c",
                           f"'{TRAINER}' >/dev/null", input=b"steps 500\n")
        self.check_silent(done, 0)

    def test_a_run_without_steps(self):
        self.check_silent(self.run_it("-q", "--", "true"), 0)

    def test_a_command_that_cannot_be_run(self):
        self.check_silent(self.run_it("-q", "--", "no-such-command"), 127)

    def test_a_run_that_is_not_recorded(self):
        self.write("file", "")
        self.check_silent(self.run_it("-q", "--dir", "file/x", "--", "sh", "-c", "exit 4"), 4)
        self.check_silent(self.run_it("-q", "--strict", "--dir", "file/x", "--", "true"), 3)

    def test_in_a_terminal(self):
        terminal = self.terminal("-q", "--", "sh", "-c", "kill -KILL $$")
        self.assertEqual(terminal.event(), "killed 9")
        self.assertEqual(terminal.rest(), b"")


if __name__ == "__main__":
    unittest.main()
