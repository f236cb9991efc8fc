"""Input that is no run, or one that cannot be read: a clear sentence and exit code 3."""

import os
import shutil
import unittest

import sample_runs
from support import DATA, FINE, NOBODY, PROGRAM, CommandTest, stepscope

COMMANDS = (["info"], ["info", "--json"], ["dump"], ["dump", "--json"])


class BadInput(CommandTest):
    def check_all(self, run, sentence):
        for words in COMMANDS:
            self.check([*words, run], DATA, "", f"stepscope {words[0]}: {sentence}\n")

    def test_a_run_that_does_not_exist(self):
        for word in ("nowhere", "no/where"):
            self.check_all(word, f"there is no run '{word}', neither here nor in 'stepscope-runs'. "
                                 "'stepscope list' shows all runs.")

    def test_an_empty_name(self):
        for words in COMMANDS:
            self.check([*words, ""], DATA, "")

    def test_an_empty_directory(self):
        os.mkdir(self.path("empty"))
        self.check_all("empty", "cannot open empty: not a run: it holds no recording "
                                "(no .ssp file). Was anything recorded into it?")

    def test_a_directory_of_something_else(self):
        os.mkdir(self.path("photos"))
        with open(self.path("photos", "cat.jpg"), "wb") as file:
            file.write(bytes(100_000))
        self.check_all("photos", "cannot open photos: not a run: it holds no recording "
                                 "(no .ssp file). Was anything recorded into it?")

    def test_a_file_instead_of_a_directory(self):
        with open(self.path("notes.txt"), "wb") as file:
            file.write(b"hello\n")
        self.check_all("notes.txt", "'notes.txt' is a file. A run is a directory with *.ssp files.")

    def test_a_file_of_a_run_instead_of_the_run(self):
        self.make_run(p=sample_runs.training())
        self.check_all("run/p.ssp", "'run/p.ssp' is one file of a run. Give the directory: 'run'.")
        self.folder = self.path("run")
        self.check_all("p.ssp", "'p.ssp' is one file of a run. Give the directory: '.'.")

    def test_a_device_instead_of_a_directory(self):
        self.check_all("/dev/null",
                       "'/dev/null' is a file. A run is a directory with *.ssp files.")

    def test_a_newer_version(self):
        self.make_run(p=sample_runs.newer())
        self.check_all("run", "cannot open run/p.ssp: written by a newer version of stepscope. "
                              "Read it with the stepscope that wrote it, or a newer one.")

    def test_nothing_but_rubbish(self):
        self.make_run(p=b"rubbish" * 10_000)
        for words in COMMANDS:
            done = self.check([*words, "run"], DATA, "")
            self.assertRegex(done.stderr, rf"\Astepscope {words[0]}: cannot open run/p\.ssp: .*\n\Z")

    def test_hostile_paths_are_shown_safely(self):
        done = stepscope("info", b"\x1b[2J\n\xff")
        self.assertEqual(done.returncode, DATA)
        self.assertTrue(done.stderr.startswith("stepscope info: there is no run '\ufffd[2J \ufffd', "))
        self.assertEqual(done.stderr.count("\n"), 1)


class NoPermission(CommandTest):
    """Root may read everything, so that these run as another user."""

    def setUp(self):
        super().setUp()
        self.program = shutil.copy(PROGRAM, self.path("stepscope"))  # where any user may run it
        self.make_run(a=sample_runs.training(), b=sample_runs.training(pid=4712))

    def become_nobody(self):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    def as_nobody(self, *words):
        return stepscope(*words, program=self.program, cwd=self.folder,
                         preexec_fn=self.become_nobody)

    def test_a_directory_that_may_not_be_read(self):
        os.chmod(self.path("run"), 0)
        self.addCleanup(os.chmod, self.path("run"), 0o700)
        for words in COMMANDS:
            done = self.as_nobody(*words, "run")
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (DATA, "", f"stepscope {words[0]}: cannot open run: permission denied. "
                                        "A run belongs to the user who recorded it: "
                                        "try as that user.\n"))

    def test_files_that_may_not_be_read(self):
        os.chmod(self.path("run"), 0o755)
        for file in ("a.ssp", "b.ssp"):
            os.chmod(self.path("run", file), 0)
        for words in COMMANDS:
            done = self.as_nobody(*words, "run")
            self.assertEqual((done.returncode, done.stdout), (DATA, ""))
            self.assertIn("a.ssp: permission denied", done.stderr)

    def test_one_file_that_may_not_be_read(self):
        os.chmod(self.path("run"), 0o755)
        os.chmod(self.path("run", "a.ssp"), 0)
        os.chmod(self.path("run", "b.ssp"), 0o644)
        done = self.as_nobody("info", "run")
        self.assertEqual((done.returncode, done.stderr), (FINE, ""))
        self.assertIn("Whole     NO: see Lost below\n", done.stdout)
        self.assertIn("Lost      a.ssp", done.stdout)
        done = self.as_nobody("dump", "run")
        self.assertEqual(done.returncode, FINE)
        self.assertEqual(done.stderr, "stepscope dump: part of the run could not be read: "
                                      "'stepscope info' shows which.\n")


if __name__ == "__main__":
    unittest.main()
