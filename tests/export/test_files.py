"""The file that an export makes: whole or not there, never over another one, and what is said if it fails."""

import os
import pty
import re
import select
import signal
import stat
import subprocess
import unittest

from export_support import ExportTest, has_perfetto  # finds the others

import report_runs
import sample_runs
from support import DATA, FINE, NOBODY, PROGRAM, USAGE, loaded

FORMATS = ["csv", "csv-spans"] + (["perfetto"] if has_perfetto() else [])


class FileTest(ExportTest):
    def setUp(self):
        super().setUp()
        self.make_run(p=report_runs.healthy())

    def files(self):
        return sorted(set(os.listdir(self.folder)) - {"run"})

    def write(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()


class Places(FileTest):
    def test_a_file_is_what_standard_output_gets(self):
        for kind in FORMATS:
            with self.subTest(kind), open(self.path("piped"), "wb") as out:
                self.assertEqual(self.stepscope("export", kind, "run", "-", stdout=out).stderr, "")
                self.check(["export", kind, "run", "file", "--force"], FINE, "", "")
                self.assertEqual(self.read("file"), self.read("piped"))
                self.assertGreater(len(self.read("file")), 1000)
        self.assertEqual(self.files(), ["file", "piped"])

    def test_a_new_file_has_the_usual_mode(self):
        self.check(["export", "csv", "run", "out"], FINE, umask=0o027)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o640)

    def test_what_is_there_is_replaced_only_by_force(self):
        self.write("out", "precious")
        self.check(["export", "csv", "run", "out"], USAGE, "",
                   "stepscope export: 'out' already exists. Use --force to overwrite it, or give another "
                   "name.\n")
        self.assertEqual(self.read("out"), "precious")
        self.check(["export", "csv", "run", "out", "-f"], FINE, "", "")
        self.assertTrue(self.read("out").startswith("loop,"))
        self.assertEqual(self.files(), ["out"])

    def test_a_file_that_is_replaced_keeps_its_mode(self):
        self.write("out", "secret")
        os.chmod(self.path("out"), 0o600)
        self.check(["export", "csv", "run", "out", "-f"], FINE, umask=0o022)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o600)

    def test_a_link_that_leads_nowhere_is_there_already(self):
        os.symlink("nothing", self.path("link"))
        said = self.check(["export", "csv", "run", "link"], USAGE, "").stderr
        self.assertIn("'link' already exists", said)
        self.assertEqual(self.files(), ["link"])

    def test_a_link_stays_a_link(self):
        self.write("real", "old")
        os.symlink("real", self.path("link"))
        self.check(["export", "csv", "run", "link", "--force"], FINE, "", "")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertTrue(self.read("real").startswith("loop,"))

    def test_pipes_and_devices_are_written_as_they_are(self):
        self.check(["export", "csv", "run", "/dev/null"], FINE, "", "")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        os.mkfifo(self.path("fifo"))
        with subprocess.Popen(["cat", self.path("fifo")], stdout=subprocess.PIPE) as cat:
            self.check(["export", "csv", "run", "fifo"], FINE, "", "")
            self.assertTrue(cat.stdout.read().startswith(b"loop,"))

    def test_the_newest_run_and_runs_by_name(self):
        os.mkdir(self.path("stepscope-runs"))
        os.rename(self.path("run"), self.path("stepscope-runs", "tuesday"))
        os.symlink("tuesday", self.path("stepscope-runs", "latest"))
        self.assertEqual(self.export("csv", "latest"), self.export("csv", "tuesday"))

    def test_a_reader_that_has_seen_enough_is_no_error(self):
        with subprocess.Popen([PROGRAM, "export", "csv-spans", self.path("run"), "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as done:
            done.stdout.read(10)
            done.stdout.close()
            self.assertEqual(done.stderr.read(), b"")


class Mistakes(FileTest):
    def complaint(self, *arguments, code, **options):
        done = self.check(["export", *arguments], code, "", **options)
        self.assertRegex(done.stderr, r"\Astepscope export: [^\n]*\n\Z")
        return done.stderr.removeprefix("stepscope export: ").rstrip("\n")

    def test_an_unknown_format_lists_all(self):
        said = self.complaint("cvs", "run", "out", code=USAGE)
        self.assertRegex(said, r"\Aunknown format 'cvs'\. Available: csv, csv-spans.*\. "
                               r"Did you mean 'csv'\?\Z")
        self.assertNotIn("mean", self.complaint("xlsx\x1b[1m", "run", "out", code=USAGE))

    def test_arguments_that_are_missing_or_empty(self):
        self.assertIn("FORMAT RUN OUT is missing", self.complaint("csv", "run", code=USAGE))
        self.assertIn("OUT is empty", self.complaint("csv", "run", "", code=USAGE))
        self.assertIn("no run 'nothing'", self.complaint("csv", "nothing", "out", code=DATA))
        self.assertEqual(self.files(), [])

    def test_places_where_nothing_can_be_written(self):
        os.mkdir(self.path("folder"))
        for place, words in (("no/such/out", "No such file or directory. Create its directory first"),
                             ("folder", "Is a directory. Give the name of a file in it."),
                             ("run/p.ssp/out", "Not a directory. Create its directory first"),
                             ("x" * 255, "File name too long. Give another name."),
                             ("/dev/full", "No space left on device. Free some space, or")):
            said = self.complaint("csv", "run", place, code=DATA)
            self.assertTrue(said.startswith(f"cannot write '{place}': {words}"), said)
        self.assertEqual(self.files(), ["folder"])

    @unittest.skipIf(os.geteuid() != 0, "only root can change its user")
    def test_a_directory_of_somebody_else(self):
        said = self.complaint("csv", "run", "out", code=DATA, user=NOBODY, group=NOBODY)
        self.assertEqual(said, "cannot write 'out': Permission denied. Choose a place where you have "
                               "write permission.")

    def test_a_full_disk_leaves_nothing_and_keeps_what_was_there(self):
        os.mkdir(self.path("disk"))
        script = ('mount -t tmpfs -o size=16k none disk || exit 77; echo old >disk/out\n'
                  f'{PROGRAM} export "$0" run disk/out --force; echo $?; ls disk; cat disk/out')
        for kind in FORMATS:
            done = subprocess.run(["unshare", "--mount", "sh", "-c", script, kind], cwd=self.folder,
                                  capture_output=True, text=True, check=False)
            if done.returncode == 77 or "unshare" in done.stderr:
                self.skipTest("no file system can be mounted here")
            self.assertEqual(done.stdout, f"{DATA}\nout\nold\n")
            self.assertEqual(done.stderr, "stepscope export: cannot write 'disk/out': No space left on "
                                          "device. Free some space, or choose another disk.\n")

    def test_a_file_that_grows_too_large_is_said(self):
        """Also where standard output is that file."""
        self.make_run("long", p=report_runs.process(report_runs.steady(steps=2_000)))
        for out, after in (("out", []), ("-", ["piped"])):
            for kind in FORMATS:
                script = f'ulimit -f 1; exec "$0" export {kind} long {out}'
                with open(self.path("piped"), "wb") as piped:
                    done = subprocess.run(["/bin/sh", "-c", script, PROGRAM], cwd=self.folder,
                                          stdout=piped, stderr=subprocess.PIPE, text=True,
                                          check=False)
                if out != "-":
                    os.remove(self.path("piped"))
                self.assertEqual(done.returncode, DATA, done.stderr)
                self.assertEqual(done.stderr, f"stepscope export: cannot write '{out}': File too "
                                              "large. 'ulimit -f' says how large a file may be.\n")
                self.assertEqual(self.files(), ["long", *after])

    def test_a_run_of_which_something_is_missing_is_exported_and_said_to_be_so(self):
        for run, made in (("damaged", report_runs.damaged()), ("lossy", sample_runs.lossy())):
            self.make_run(run, p=made)
            for kind in FORMATS:
                self.check(["export", kind, run, f"{run}.{kind}"], FINE, "",
                           f"stepscope export: part of the run is missing: 'stepscope info {run}' shows "
                           "which.\n")

    def test_files_that_are_no_run(self):
        self.assertIn("is one file of a run", self.complaint("csv", "run/p.ssp", "out", code=DATA))
        os.mkdir(self.path("empty"))
        self.assertIn("not a run", self.complaint("csv", "empty", "out", code=DATA))
        self.assertEqual(self.files(), ["empty"])


class Endings(FileTest):
    def end(self, number, *options):
        """Exports, and sends this signal when all is written but not yet in place."""
        env = loaded("end_at", END_AT="fsync", END_WITH=str(int(number)))
        done = self.stepscope("export", "csv", "run", "out", *options, env=env)
        self.assertEqual(done.returncode, -number, done.stderr)
        return self.files()

    def test_a_signal_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            self.assertEqual(self.end(number), [])

    def test_a_signal_keeps_what_was_there(self):
        self.write("out", "old")
        self.assertEqual(self.end(signal.SIGINT, "--force"), ["out"])
        self.assertEqual(self.read("out"), "old")

    def test_a_kill_leaves_a_part_that_says_so_and_is_in_nobodys_way(self):
        self.write("out", "old")
        parts = self.end(signal.SIGKILL, "--force")
        self.assertRegex(" ".join(parts), r"\Aout out\.\d+\.part\Z")
        self.assertEqual(self.read("out"), "old")
        self.check(["export", "csv", "run", "out", "--force"], FINE, "", "")
        self.assertEqual(self.read("out"), self.export("csv", "run"))


class Terminals(FileTest):
    """Work is long when it takes more than half a second by a clock that is ours."""

    LATE, STANDS = loaded("step_clock", STEP_CLOCK_MS="1000"), loaded("step_clock", STEP_CLOCK_MS="0")

    def setUp(self):
        super().setUp()
        self.make_run("long", p=report_runs.process(report_runs.steady(steps=8_000)))

    def start(self, *arguments, env, **options):
        """The command, and the screen of its terminal."""
        master, slave = pty.openpty()
        screen = os.fdopen(master, "rb", buffering=0)
        self.addCleanup(screen.close)
        done = subprocess.Popen([PROGRAM, "export", *arguments], cwd=self.folder, env=env, stderr=slave,
                                stdout=slave if "-" in arguments else subprocess.DEVNULL)
        os.close(slave)
        return done, screen

    def on_terminal(self, *arguments, env=STANDS):
        """Its code, and what it shows."""
        done, screen = self.start(*arguments, env=env)
        shown = self.all_of(screen)
        return done.wait(), shown

    def all_of(self, screen):
        shown = b""
        try:
            while chunk := screen.read(4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        return shown.decode()

    @unittest.skipUnless(has_perfetto(), "built without nanopb")
    def test_bytes_are_nothing_for_a_terminal(self):
        code, shown = self.on_terminal("perfetto", "run", "-")
        self.assertEqual(code, USAGE)
        self.assertIn("refusing to write perfetto to a terminal", shown)

    def test_rows_on_a_terminal_have_no_bar_among_them(self):
        code, shown = self.on_terminal("csv-spans", "long", "-", env=self.LATE)
        self.assertEqual(code, FINE)
        self.assertEqual(shown.replace("\r\n", "\n"), self.export("csv-spans", "long"))

    def test_ctrl_c_takes_the_bar_away(self):
        os.mkfifo(self.path("slow"))
        pipe = os.open(self.path("slow"), os.O_RDWR)
        self.addCleanup(os.close, pipe)
        done, screen = self.start("csv-spans", "long", "slow", env=self.LATE)
        while screen not in select.select([screen, pipe], [], [], 60)[0]:
            os.read(pipe, 4096)
        done.send_signal(signal.SIGINT)
        self.assertEqual(done.wait(), -signal.SIGINT)
        self.assertTrue(self.all_of(screen).endswith("\r\x1b[K"))

    def test_long_work_shows_progress_and_takes_it_away(self):
        code, shown = self.on_terminal("csv-spans", "long", "out", env=self.LATE)
        self.assertEqual(code, FINE)
        self.assertRegex(shown, r"\A\rexporting .* +\d+ %")
        self.assertTrue(shown.endswith("\r\x1b[K"))
        self.assertEqual(re.sub(r"\r[^\r]*\x1b\[K", "", shown), "")

    def test_short_work_shows_nothing(self):
        self.assertEqual(self.on_terminal("csv-spans", "long", "out"), (FINE, ""))


if __name__ == "__main__":
    unittest.main()
