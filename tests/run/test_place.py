"""Where runs are kept, and what happens when they cannot be."""

import json
import os
import re
import resource
import stat
import subprocess
import unittest

from running import PATIENCE_S, PROGRAM, PYTHON, TRAINER, RunTest, environment, wait_until

NAME = r"\d{8}-\d{6}-"


class Directories(RunTest):
    def test_a_run_is_named_by_time_and_command(self):
        self.write("train.py", "")
        for words, name in ((["/bin/true"], "true"),
                            ([PYTHON, "train.py", "x.py"], "train.py"),
                            ([PYTHON, "-u", "./train.py"], "train.py"),
                            ([PYTHON, "-m", "this"], "this"),
                            ([PYTHON, "-c", "0", "x"], os.path.basename(PYTHON)),
                            (["--name", "../my run\n", "true"], "..-my-run-"),
                            (["--name", "x" * 500, "true"], "x" * 64)):
            self.run_it(*words)
            latest = os.readlink(self.path("stepscope-runs/latest"))
            self.assertRegex(latest, f"\\A{NAME}{re.escape(name)}(-\\d)?\\Z")

    def test_no_run_is_overwritten(self):
        for i in range(12):
            self.run_it("--name", "x", "--", "sh", "-c", f"exit {i}")
        runs = self.runs()
        self.assertEqual(len(runs), 12)
        self.assertTrue([run for run in runs if run.endswith("-x-2")], runs)
        codes = sorted(int(self.facts("outcome", f"stepscope-runs/{run}")["exit_code"])
                       for run in runs)
        self.assertEqual(codes, list(range(12)))

    def test_nobody_else_may_read_a_run(self):
        os.umask(os.umask(0o000) & 0)
        self.addCleanup(os.umask, 0o022)
        self.run_it("--", TRAINER, input=b"steps 3\n")
        run = self.path("stepscope-runs/latest")
        self.assertEqual(stat.S_IMODE(os.stat(run).st_mode), 0o700)
        for name in os.listdir(run):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(run, name)).st_mode), 0o600, name)

    def test_nobody_else_may_read_what_is_made_of_a_run(self):
        run = self.start("--html", "page.html", "--tensorboard", "board", "--", TRAINER)
        run.tell("steps 1000")
        run.expect(b"1000 steps\n")
        self.assertEqual(run.finish()[0], 0)
        self.stepscope("report", "--html", "second.html")
        self.stepscope("export", "tensorboard", "stepscope-runs/latest", "exported")
        files = ["page.html", "second.html"]
        for folder in ("board", "exported"):
            events = [os.path.join(at, name) for at, _, names in os.walk(self.path(folder))
                      for name in names]
            self.assertTrue(events, folder)
            files += events
        for path in files:
            self.assertEqual(stat.S_IMODE(os.stat(self.path(path)).st_mode), 0o600, path)
        os.chmod(self.path("stepscope-runs/latest"), 0o755)  # its owner shares it
        self.stepscope("report", "--html", "shared.html")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("shared.html")).st_mode) & 0o044, 0o044)

    def test_git_never_sees_a_run(self):
        self.run_it("--", "true")
        for folder in ("stepscope-runs", "stepscope-runs/latest"):
            with open(self.path(folder, ".gitignore"), encoding="ascii") as file:
                self.assertEqual(file.read(), "*\n")

    def test_a_folder_that_was_there_stays_as_it_is(self):
        os.mkdir(self.path("mine"))
        self.run_it("--dir", "mine", "--", "true")
        self.assertNotIn(".gitignore", os.listdir(self.path("mine")))
        self.assertEqual(len(self.runs("mine")), 1)

    def test_the_manifest_says_what_ran_where(self):
        self.run_it("--", "sh", "-c", ":", "two words", "--api-key", "hidden", "TOKEN=hidden")
        manifest = self.facts("manifest")
        self.assertEqual(manifest["command"], "sh -c : 'two words' --api-key *** TOKEN=***")
        self.assertEqual(manifest["cwd"], self.folder)
        self.assertEqual(manifest["host"], os.uname().nodename)
        self.assertEqual(manifest["format"], "1")
        self.assertRegex(manifest["created"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
        self.assertRegex(manifest["version"], r"\A\d+\.\d+\.\d+\Z")

    def test_the_folder_may_be_chosen(self):
        self.run_it("--dir", "a/b/c", "--", "true")
        self.assertEqual(len(self.runs("a/b/c")), 1)
        env = environment(STEPSCOPE_DIR=self.path("d"))
        self.run_it("--", "true", env=env)
        self.assertEqual(len(self.runs("d")), 1)
        self.run_it("--dir", "e", "--", "true", env=env)
        self.assertEqual((len(self.runs("d")), len(self.runs("e"))), (1, 1))
        self.assertFalse(os.path.exists(self.path("stepscope-runs")))

    def test_the_summary_names_the_folder_as_it_was_given(self):
        for given, shown in (("a", "a"), ("b//", "b"), ("./c/", "./c")):
            done = self.run_it("--dir", given, "--", TRAINER, input=b"steps 3\n")
            self.assertRegex(done.stderr.decode(), rf" {re.escape(shown)}/{NAME}steered_trainer\n")

    def test_latest_is_the_newest_run(self):
        for name in ("one", "two", "three"):
            self.run_it("--name", name, "--", "true")
            self.assertTrue(os.readlink(self.path("stepscope-runs/latest")).endswith(name))

    def test_a_run_that_recorded_nothing_does_not_become_latest(self):
        self.run_it("--name", "good", "--", TRAINER, input=b"steps 3\n")
        done = self.run_it("--name", "bad", "--", PYTHON, "-c", "import no_such_module")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(os.readlink(self.path("stepscope-runs/latest")).endswith("-good"))
        [bad] = [run for run in self.runs() if run.endswith("-bad")]
        self.assertEqual(self.facts("result", f"stepscope-runs/{bad}")["steps"], "0")
        self.run_it("--name", "better", "--", TRAINER, input=b"steps 3\n")
        self.assertTrue(os.readlink(self.path("stepscope-runs/latest")).endswith("-better"))

    def test_a_run_is_listed_with_its_name_and_its_result(self):
        self.run_it("--name", "my run", "--", TRAINER, input=b"steps 300\n")
        [run] = json.loads(self.stepscope("list", "--json").stdout)
        self.assertEqual((run["name"], run["steps"], run["state"]), ("my-run", 300, "ended"))
        self.assertEqual(run["path"], os.path.join("stepscope-runs", *self.runs()))
        report = json.loads(self.stepscope("report", "--json", "my-run").stdout)
        self.assertEqual(run["verdict"], report["verdict"])
        self.assertEqual(self.facts("manifest")["name"], "my-run")

    def test_a_directory_called_latest_is_left_alone(self):
        os.makedirs(self.path("stepscope-runs/latest/mine"))
        self.assertEqual(self.run_it("--", "true").returncode, 0)
        self.assertEqual(os.listdir(self.path("stepscope-runs/latest")), ["mine"])
        [run] = self.runs()
        self.assertNotIn("latest", os.listdir(self.path("stepscope-runs", run)))

    def test_what_lies_where_a_file_will_be_written_is_never_opened(self):
        run = self.start("--", TRAINER)
        run.tell("steps 100")
        run.expect(b"100 steps\n")
        wait_until(lambda: "pid" in self.facts("outcome"), "an outcome")
        os.mkfifo(self.path("stepscope-runs/latest/outcome.new"))
        self.assertEqual(run.finish()[0], 0)
        self.assertEqual(self.facts("outcome")["exit_code"], "0")

    def test_a_directory_that_is_replaced_gets_nothing(self):
        os.makedirs(self.path("theirs/runs"))
        os.chmod(self.path("theirs/runs"), 0o777)
        os.mkdir(self.path("victim"))
        self.write("victim/outcome", "mine")
        run = self.start("--dir", "theirs/runs", "--", TRAINER)
        run.tell("steps 100")
        run.expect(b"100 steps\n")
        wait_until(lambda: "pid" in self.facts("outcome", "theirs/runs/latest"), "an outcome")
        [name] = self.runs("theirs/runs")
        os.rename(self.path("theirs/runs", name), self.path("theirs/moved"))
        os.symlink(self.path("victim"), self.path("theirs/runs", name))
        code, _, err = run.finish()
        self.assertEqual(code, 0)
        self.assertEqual(os.listdir(self.path("victim")), ["outcome"])
        with open(self.path("victim/outcome"), encoding="ascii") as outcome:
            self.assertEqual(outcome.read(), "mine")
        self.assertEqual(self.facts("outcome", "theirs/moved")["exit_code"], "0")
        self.assertIn("other users could replace theirs/runs/", err)

    def test_a_directory_that_is_ours_or_sticky_is_not_warned_of(self):
        for name, mode in (("ours", 0o755), ("sticky", 0o1777)):
            os.mkdir(self.path(name))
            os.chmod(self.path(name), mode)
            self.assertNotIn(b"other users", self.run_it("--dir", name, "--", TRAINER).stderr)

    def test_latest_never_misses(self):
        """Replaced at once: a reader always finds a run."""
        self.run_it("--", "true")
        script = 'for i in 1 2 3 4 5 6 7 8 9 10; do "$0" run -q -- true; done; echo done'
        with subprocess.Popen(["sh", "-c", script, PROGRAM], cwd=self.folder, env=environment(),
                              stdout=subprocess.PIPE) as runs:
            while runs.poll() is None:
                os.readlink(self.path("stepscope-runs/latest"))
            self.assertEqual(runs.stdout.read(), b"done\n")
        self.assertEqual(len(self.runs()), 11)


class NoPlace(RunTest):
    """The command runs all the same, and one line says that it is not recorded."""

    SHOW = "import os; print(os.environ.get('STEPSCOPE_RUN'), os.getppid())"

    def check_unrecorded(self, done, why):
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertEqual(done.stdout, b"ran\n")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], rf"\Astepscope run: not recorded: .*{why}\. "
                                   r"The command still runs\.\Z")

    RUN = ["--", "sh", "-c", "test -z \"$STEPSCOPE_RUN\" && echo ran; exit 6"]

    def test_a_parent_that_is_a_file(self):
        self.write("file", "")
        self.check_unrecorded(self.run_it("--dir", "file", *self.RUN), "File exists|Not a directory")
        self.check_unrecorded(self.run_it("--dir", "file/x", *self.RUN), "Not a directory")
        self.check_unrecorded(self.run_it("--dir", "/proc/no/such", *self.RUN), "No such file.*")

    def test_strict_refuses(self):
        self.write("file", "")
        done = self.run_it("--strict", "--dir", "file/x", *self.RUN)
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertEqual(done.stderr, b"stepscope run: not run, because it cannot be recorded: "
                                      b"cannot make file/x: Not a directory.\n")

    def test_strict_runs_what_can_be_recorded(self):
        self.assertEqual(self.run_it("--strict", "--", "sh", "-c", "exit 6").returncode, 6)

    def mounted(self, options, *arguments, before="", **more):
        """Runs with a tmpfs on ./mounted, in a mount namespace of its own."""
        os.mkdir(self.path("mounted"))
        script = (f"mount -t tmpfs -o {options} none mounted || exit 77; {before}\n"
                  'exec "$@"')
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", PROGRAM, "run",
                               *arguments], cwd=self.folder, env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE_S, check=False, **more)
        if done.returncode in (1, 77) and b"stepscope" not in done.stderr:
            self.skipTest("no right to mount")
        return done

    def test_a_read_only_disk(self):
        done = self.mounted("ro", "--dir", "mounted/runs", *self.RUN)
        self.check_unrecorded(done, "Read-only file system")

    def test_a_full_disk(self):
        done = self.mounted("size=64k", "--dir", "mounted/runs", *self.RUN,
                            before="dd if=/dev/zero of=mounted/full bs=4k 2>/dev/null")
        self.check_unrecorded(done, "No space left on device")

    def test_a_disk_with_no_room_for_a_recording(self):
        done = self.mounted("size=512k", "--dir", "mounted/runs",
                            "--", "sh", "-c", "echo ran; ls -A mounted >&2; exit 6")
        self.assertEqual(done.stdout, b"ran\n")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_disk_that_becomes_full(self):
        script = f"'{TRAINER}' >/dev/null; echo ran $?; exit 6"
        done = self.mounted("size=3m", "--dir", "mounted/runs", "--", "sh", "-c", script,
                            input=b"steps 2\n" * 100_000)  # at once they end before much is written
        self.assertEqual((done.returncode, done.stdout), (6, b"ran 0\n"))
        self.assertIn(b"no space left on the device", done.stderr)

    def test_a_limit_on_the_size_of_files(self):
        done = self.run_it(*self.RUN, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)))
        self.check_unrecorded(done, "File too large")

    def test_nothing_is_left_behind(self):
        self.run_it(*self.RUN, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)))
        self.assertEqual(os.listdir(self.folder), [])


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OutOfReach(RunTest):
    """Commands that cannot write into the run any more."""

    def check(self, act, reason):
        run = self.start("--", PYTHON, "-c", f"import os, sys; {act}; print('ready', flush=True); "
                                             "sys.stdin.read()")
        run.expect(b"ready")
        wait_until(lambda: self.facts("unhooked-reach"), "a note")
        code, _, err = run.finish()
        self.assertEqual(code, 0, err)
        for text in (err, self.stepscope("report").stdout):
            self.assertIn(f"Hooks none: {reason}", " ".join(text.split()))

    def test_another_user(self):
        self.check("os.setuid(65534)", "it runs as user 65534, who cannot write to this run")

    def test_another_root(self):
        os.mkdir(self.path("root"))
        self.check("os.chroot('root')", "it has another root directory, from which this run cannot be reached")


class Usage(RunTest):
    def check(self, arguments, message):
        done = self.run_it(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(message, done.stderr.decode())
        self.assertEqual(os.listdir(self.folder), [])

    def test_mistakes(self):
        self.check([], "[--] COMMAND ... is missing.")
        self.check(["--"], "[--] COMMAND ... is missing.")
        self.check(["--quite", "--", "true"], "Did you mean '--quiet'?")
        self.check(["--name", "", "--", "true"], "--name is empty.")
        self.check(["--dir=", "--", "true"], "--dir is empty.")
        self.check(["--name"], "option '--name' needs a value")

    def test_times(self):
        for text in ("30", "s", "", "-1s", "1 s", "1x", "0s", "1e3s", ".5s", "1.s", "1h30m",
                     "999999999999d"):
            self.check([f"--every={text}", "--", "true"],
                       f"--every takes a time such as 30s, 5m or 1h, not '{text}'.")
            self.check([f"--deadline={text}", "--", "true"], "--deadline takes a time such as")


if __name__ == "__main__":
    unittest.main()
