"""The checks of tests/lint find what they are there for, and say where."""

import os
import re
import runpy
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, text=""):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, done.stdout


class Tree(unittest.TestCase):
    """A source tree made of the files that a test writes."""

    def setUp(self):
        top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, top)
        self.root = os.path.join(top, "src", "project")  # a checkout may lie below any folder
        os.makedirs(self.root)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full


class Includes(Tree):
    def check(self):
        return run(f"{HERE}/check_includes.py", self.root)

    def setUp(self):
        super().setUp()
        self.write("include/stepscope/format.h", "")
        for folder in ("base", "record", "read", "stats", "model", "cli"):
            self.write(f"src/{folder}/{folder}.h", "")

    def test_allowed_directions_pass(self):
        self.write("src/record/a.c", '#include "record.h"\n#include "base/base.h"\n'
                   '#include "stepscope/format.h"\n#include <stdio.h>\n')
        self.write("src/cli/b.c", '#include "model/model.h"\n#include "read/read.h"\n')
        self.assertEqual(self.check(), (0, ""))

    def test_each_forbidden_direction_is_found(self):
        for here, there in (("record", "read"), ("read", "record"), ("base", "stats"),
                            ("read", "stats"), ("stats", "model"), ("model", "cli"),
                            ("cli", "record")):
            path = self.write(f"src/{here}/x.c", f'\n#include "{there}/{there}.h"\n')
            code, output = self.check()
            self.assertEqual(code, 1)
            self.assertIn(f"src/{here}/x.c:2: {here} must not include {there}", output)
            os.remove(path)

    def test_a_way_round_by_relative_path_is_found(self):
        self.write("src/record/x.c", '#  include "../read/read.h"\n')
        self.assertIn("record must not include read", self.check()[1])

    def test_public_headers_and_examples_see_public_headers_only(self):
        self.write("include/stepscope/x.h", '#include "base/base.h"\n')
        self.write("examples/x.c", '#include "base/base.h"\n#include "stepscope/format.h"\n')
        code, output = self.check()
        self.assertEqual((code, output.count("must not include base")), (1, 2))

    def test_an_unknown_folder_and_a_missing_header_are_found(self):
        self.write("src/extra/x.c", "")
        self.write("src/loose.c", "")
        self.write("src/base/x.c", '#include "nowhere.h"\n')
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("src/extra is not in the list", output)
        self.assertIn("src/loose.c is not in the list", output)
        self.assertIn('"nowhere.h" is not found', output)


class Pages(unittest.TestCase):
    """ARCHITECTURE.md says what is there."""

    ROOT = os.path.dirname(os.path.dirname(HERE))

    def setUp(self):
        with open(os.path.join(self.ROOT, "ARCHITECTURE.md"), encoding="utf-8") as file:
            self.text = file.read()

    def told(self):
        """The folders that each may include, as the lines with arrows have it."""
        left = {}
        for line in re.findall(r"^    (.* <- .*)$", self.text, re.MULTILINE):
            groups = [group.strip().split(", ") for group in line.split(" <- ")]
            for before, here in zip(groups, groups[1:]):
                for folder in here:
                    left.setdefault(folder, set()).update(before)

        def reach(folder):
            return set().union(*({name} | reach(name) for name in left.get(folder, ())))
        return {folder: reach(folder) for folder in left}

    def test_dependencies_are_those_that_are_checked(self):
        checked = runpy.run_path(f"{HERE}/check_includes.py")["MAY_INCLUDE"]
        told = self.told()
        self.assertEqual(set(told), set(checked) - {"public", "a program", "demo", "base"})
        for folder, names in told.items():
            if folder != "doctor":  # needs less than it might
                self.assertEqual(names, checked[folder], folder)
        self.assertLess(checked["doctor"], told["doctor"])

    def test_each_folder_is_named(self):
        for folder in os.listdir(os.path.join(self.ROOT, "src")):
            self.assertTrue(f"## src/{folder}/" in self.text, folder)
        for folder in next(os.walk(os.path.join(self.ROOT, "tests")))[1]:
            if not folder.startswith("_"):  # what Python makes
                self.assertTrue(f"`tests/{folder}`" in self.text, folder)


class Text(Tree):
    def check(self, **files):
        paths = []
        for path, text in files.items():
            path = path.replace("__", "/").replace("_DOT_", ".")
            self.write(path, text)
            paths.append(path)
        return run(f"{HERE}/check_text.py", self.root, text="\n".join(paths) + "\n")

    def test_clean_files_pass(self):
        code = 'int f(void)\n{\n    return puts("strcpy(x)"); /* not atoi(x) */\n}\n'
        self.assertEqual(self.check(src__base__a_DOT_c=code, Makefile="x:\n\ty\n"), (0, ""))

    def test_white_space_is_found(self):
        code, output = self.check(docs__x_DOT_md="a\tb\nc \nd")
        self.assertEqual(code, 1)
        for where in ("docs/x.md:1: tab", "docs/x.md:2: white space", "docs/x.md:3: no newline"):
            self.assertIn(where, output)

    def test_banned_functions_are_found_but_not_their_relatives(self):
        code, output = self.check(src__a_DOT_c="/* one\n two */ x = atoi (s);\n"
                                  "rand(); snprintf(); gmtime_r(); my_rand();\n")
        self.assertEqual(code, 1)
        self.assertIn("src/a.c:2: atoi() is banned", output)
        self.assertIn("src/a.c:3: rand() is banned", output)
        self.assertEqual(output.count("banned"), 2)

    def test_long_files_and_odd_names_are_found(self):
        code, output = self.check(src__base__a_DOT_c="\n" * 601, src__base__B_DOT_c="\n",
                                  tests__t_DOT_c="\n" * 601)
        self.assertEqual(code, 1)
        self.assertIn("src/base/a.c:600: longer than 600", output)
        self.assertIn("src/base/B.c:0: file names", output)
        self.assertNotIn("tests/t.c", output)

    def test_two_files_of_one_name_are_found(self):
        self.assertIn("has the same name",
                      self.check(src__base__a_DOT_c="\n", src__read__a_DOT_c="\n")[1])


@unittest.skipUnless(shutil.which("g++"), "g++ is not installed (tools/setup lint)")
class Headers(Tree):
    def check(self, text):
        self.write("include/stepscope/x.h", text)
        return run(f"{HERE}/check_headers", self.root)[0]

    def test_a_header_that_stands_alone_passes(self):
        self.assertEqual(self.check("#ifndef X\n#define X\n#include <stdint.h>\n"
                                    "uint8_t f(uint8_t a);\n#endif\n"), 0)

    def test_a_header_that_needs_another_fails(self):
        self.assertEqual(self.check("#ifndef X\n#define X\nuint8_t f(uint8_t a);\n#endif\n"), 1)

    def test_a_header_that_is_c_only_fails(self):
        self.assertEqual(self.check("#ifndef X\n#define X\nint f(int class);\n#endif\n"), 1)

    def test_a_header_that_is_newer_than_c99_fails(self):
        self.assertEqual(self.check('#ifndef X\n#define X\n_Static_assert(1, "");\n#endif\n'), 1)

    def test_a_header_without_guard_fails(self):
        self.assertEqual(self.check("struct x {\n    int a;\n};\n"), 1)


class Exports(Tree):
    GOOD = ('__attribute__((visibility("default"))) void ss_start(void) {}\n'
            '__attribute__((visibility("hidden"))) void lane_open(void) {}\n')

    def build(self, source, flags=("-Wl,-z,nodelete",)):
        path = self.write("x.c", source)
        for library in ("libstepscope.so", "libstepscope-read.so"):
            self.assertEqual(run("gcc", "-shared", "-fPIC", path, *flags, "-o",
                                 f"{self.root}/{library}")[0], 0)
        self.assertEqual(run("gcc", "-c", path, "-o", f"{self.root}/x.o")[0], 0)
        self.assertEqual(run("objcopy", "--localize-hidden", f"{self.root}/x.o")[0], 0)
        self.assertEqual(run("ar", "rcs", f"{self.root}/libstepscope.a", f"{self.root}/x.o")[0], 0)
        return run(f"{HERE}/check_exports", self.root)

    def test_prefixed_names_pass(self):
        self.assertEqual(self.build(self.GOOD), (0, ""))

    def test_a_stray_function_or_variable_is_found_in_each_library(self):
        code, output = self.build(self.GOOD + "void stray(void) {}\nint loose = 1;\n")
        self.assertEqual(code, 1)
        self.assertEqual((output.count("exports stray"), output.count("exports loose")), (3, 3))

    def test_a_library_without_the_recorder_is_found(self):
        self.assertIn("does not export ss_start", self.build("int ss_x;\n")[1])

    def test_a_library_that_can_be_unloaded_is_found(self):
        self.assertIn("can be unloaded", self.build(self.GOOD, flags=())[1])

    def test_another_needed_library_is_found(self):
        code, output = self.build(self.GOOD, flags=("-Wl,-z,nodelete", "-Wl,--no-as-needed", "-lm"))
        self.assertEqual(code, 1)
        self.assertIn("libm.so", output)

    def test_missing_libraries_are_found(self):
        self.assertIn("missing", run(f"{HERE}/check_exports", self.root)[1])


if __name__ == "__main__":
    unittest.main()
