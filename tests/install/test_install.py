"""What `make install` leaves behind can be used: by C and C++, shared and static, through pkg-config."""

import glob
import os
import shutil
import subprocess
import tempfile
import unittest

MESON = "/usr/bin/meson"
BUILD = os.environ.get("STEPSCOPE_BUILD", "build/release")

# Its own buf_init() and store_open() are there to meet those of a library that does not hide its own.
RECORDING = r"""
#include <stepscope/recorder.h>
#include <stdio.h>

int buf_init(void);
int store_open(void);
int buf_init(void) { return 1; }
int store_open(void) { return 2; }

int main(int argc, char **argv)
{
    struct ss_options options = {argc > 1 ? argv[1] : NULL, -1, 0, 0};
    if (ss_start(&options) != 0) {
        puts(ss_status());
        return 1;
    }
    {
        SS_SPAN(ss_intern("outer", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL));
        ss_step(32);
    }
    ss_stop();
    return buf_init() + store_open() - 3;
}
"""

READING = r"""
#include <stdio.h>
#include <stepscope/reader.h>

int main(int argc, char **argv)
{
    struct ss_error error;
    struct ss_run *run = ss_run_open(argv[argc - 1], &error);
    if (!run) {
        puts(error.message);
        return 1;
    }
    struct ss_cursor *cursor = ss_cursor_new(run, SS_ALL_LANES);
    struct ss_record record;
    while (cursor && ss_cursor_next(cursor, &record)) {
        if (record.kind == SS_KIND_SPAN || record.kind == SS_KIND_STEP)
            puts(ss_kind_text(record.kind));
    }
    ss_cursor_free(cursor);
    ss_run_close(run);
    return 0;
}
"""


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.root = os.path.join(cls.directory, "root")
        subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir",
                        cls.root], check=True, stdout=subprocess.PIPE)
        config, = glob.glob(f"{cls.root}/**/stepscope.pc", recursive=True)
        cls.libraries = os.path.dirname(os.path.dirname(config))
        cls.environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=cls.root,
                               PKG_CONFIG_PATH=os.path.dirname(config),
                               LD_LIBRARY_PATH=cls.libraries)

    def config(self, *arguments):
        done = subprocess.run(["pkg-config", *arguments], check=True, env=self.environment,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout.split()

    def compile(self, compiler, suffix, source, *flags):
        path = os.path.join(self.directory, "program" + suffix)
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        program = os.path.join(self.directory, "program")
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", path, "-o", program, *flags],
                       check=True)
        return program

    def record(self, program):
        run = tempfile.mkdtemp(dir=self.directory)
        done = subprocess.run([program, run], env=self.environment, stdout=subprocess.PIPE,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(len(glob.glob(f"{run}/p-*.ssp")), 1)
        return run

    def read(self, run):
        program = self.compile("gcc", ".c", READING, "-std=c99",
                               *self.config("--cflags", "--libs", "stepscope-read"))
        done = subprocess.run([program, run], env=self.environment, stdout=subprocess.PIPE,
                              text=True, check=True)
        return sorted(done.stdout.split())

    def test_a_c_program_records_with_the_shared_library(self):
        program = self.compile("gcc", ".c", RECORDING,
                               *self.config("--cflags", "--libs", "stepscope"))
        self.assertEqual(self.read(self.record(program)), ["span", "step"])

    def test_a_cpp_program_records_with_the_shared_library(self):
        program = self.compile("g++", ".cc", RECORDING,
                               *self.config("--cflags", "--libs", "stepscope"))
        self.assertEqual(self.read(self.record(program)), ["span", "step"])

    def test_the_static_library_does_not_meet_the_names_of_the_program(self):
        program = self.compile("gcc", ".c", RECORDING, "-static",
                               *self.config("--static", "--cflags", "--libs", "stepscope"))
        self.assertEqual(self.read(self.record(program)), ["span", "step"])

    def test_the_command_is_installed(self):
        command, = glob.glob(f"{self.root}/**/bin/stepscope", recursive=True)
        done = subprocess.run([command, "--version"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn(self.config("--modversion", "stepscope")[0], done.stdout)


if __name__ == "__main__":
    unittest.main()
