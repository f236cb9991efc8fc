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


class Stages(Tree):
    STAGES = ("tree", "jit", "phase", "step", "loop")

    def setUp(self):
        super().setUp()
        self.write("src/model/item.h", "")
        for stage, after in zip(self.STAGES, self.STAGES[1:] + (None,)):
            self.write(f"src/model/{stage}.h", '#include "model/item.h"\n')
            self.include(f"{stage}.c", stage, *([after] if after else []))

    def include(self, file, *others):
        self.write(f"src/model/{file}",
                   "".join(f'#include "model/{other}.h"\n' for other in others))

    def check(self):
        return run(f"{HERE}/check_stages.py", self.root)

    def test_a_pipe_passes(self):
        self.assertEqual(self.check(), (0, ""))

    def test_a_stage_that_sees_an_earlier_one_is_found(self):
        self.include("step.c", "step", "loop", "phase")
        self.assertEqual(self.check(), (1, "src/model/step.c: step must not see phase: model/phase.h\n"))

    def test_so_is_one_that_skips_a_stage(self):
        self.include("jit.c", "jit", "phase", "loop")
        self.assertEqual(self.check(), (1, "src/model/jit.c: jit must not see loop: model/loop.h\n"))

    def test_so_is_one_that_sees_it_through_another_header(self):
        self.include("shared.h", "tree")
        self.include("loop.c", "loop", "shared")
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("loop must not see tree: model/shared.h -> model/tree.h", output)

    def test_headers_of_stages_do_not_see_each_other(self):
        self.include("phase.h", "step")
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("src/model/phase.h: phase must not see step", output)
        self.assertIn("src/model/jit.c: jit must not see step: model/phase.h -> model/step.h", output)

    def test_so_is_one_that_sees_it_through_a_header_of_another_folder(self):
        self.write("src/load/feed.h", '#include "../model/tree.h"\n')
        self.write("src/model/step.c", '#include "model/step.h"\n#include "load/feed.h"\n')
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("step must not see tree: load/feed.h -> model/tree.h", output)

    def test_a_declaration_of_its_own_is_no_way_round(self):
        self.write("src/model/tree.h", "/* tree_gone() */\nvoid tree_add(int);\nextern int tree_count;\n"
                   "struct tree_stage { int depth; };\n")
        for text in ("void tree_add(int);\n", "extern int tree_count;\n", "struct tree_stage *before;\n"):
            self.write("src/model/step.c", '#include "model/step.h"\n' + text)
            code, output = self.check()
            self.assertEqual(code, 1, text)
            self.assertRegex(output, r"^src/model/step.c: step must not name tree_\w+ of tree\n$")

    def test_comments_and_names_that_only_look_alike_are_free(self):
        self.write("src/model/tree.h", "void tree_add(int);\n")
        self.write("src/model/step.c", '#include "model/step.h"\n/* tree_add() */\nint tree_add_all;\n')
        self.write("src/model/jit.c", '#include "model/jit.h"\nvoid phase_item(void);\n')
        self.assertEqual(self.check(), (0, ""))

    def test_a_stage_that_is_gone_is_found(self):
        os.remove(os.path.join(self.root, "src/model/jit.h"))
        self.assertEqual(self.check(), (1, "src/model: jit is a stage without a source or a header\n"))


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


class Users(Tree):
    """Headers that serve one file only."""

    def setUp(self):
        super().setUp()
        self.write("src/base/a.h", "")
        self.write("src/base/a.c", '#include "base/a.h"\n')
        self.write("src/base/b.c", '#include "base/a.h"\n')

    def check(self):
        return run(f"{HERE}/check_users.py", self.root)

    def test_a_header_of_one_file_is_found(self):
        self.assertEqual(self.check(), (1, "src/base/a.h: serves src/base/b.c only\n"))
        os.remove(os.path.join(self.root, "src/base/b.c"))
        self.assertEqual(self.check(), (1, "src/base/a.h: serves no file only\n"))

    def test_one_of_two_files_passes_by_whatever_path_they_include_it(self):
        for path, name in (("src/base/c.h", "a.h"), ("tests/unit/test_a.c", "base/a.h"),
                           ("fuzz/fuzz_a.c", "../src/base/a.h")):
            file = self.write(path, f'#include "{name}"\n')
            if path == "src/base/c.h":  # which serves others in turn
                self.write("src/base/d.c", '#include "base/c.h"\n')
                self.write("src/base/e.c", '#include "base/c.h"\n')
            self.assertEqual(self.check(), (0, ""), path)
            os.remove(file)

    def test_one_that_another_folder_includes_is_the_way_in(self):
        os.remove(os.path.join(self.root, "src/base/b.c"))
        self.write("src/read/b.c", '#include "base/a.h"\n')
        self.assertEqual(self.check(), (0, ""))

    def test_an_exception_must_hold(self):
        exceptions = runpy.run_path(f"{HERE}/check_users.py")["EXCEPTIONS"]
        path = next(iter(exceptions))
        self.write("src/base/c.c", '#include "base/a.h"\n')
        self.write(path, "")
        one, two = (os.path.join(os.path.dirname(path), f"{name}.c") for name in "xy")
        include = f'#include "{os.path.basename(path)}"\n'
        self.write(one, include)
        self.assertEqual(self.check(), (0, ""))
        self.write(two, include)
        self.assertEqual(self.check(), (1, f"{path}: is no exception any more\n"))

    def test_each_exception_is_there_and_has_a_reason(self):
        for path, reason in runpy.run_path(f"{HERE}/check_users.py")["EXCEPTIONS"].items():
            self.assertTrue(os.path.isfile(os.path.join(HERE, "../..", path)), path)
            self.assertGreater(len(reason), 10, path)


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
            self.assertRegex(self.text, rf"(?m)^## .*src/{folder}/")
        for folder in next(os.walk(os.path.join(self.ROOT, "tests")))[1]:
            if not folder.startswith("_"):  # what Python makes
                self.assertTrue(f"`tests/{folder}`" in self.text, folder)


class Citations(Tree):
    DOCUMENTS = {
        "docs/method.md": "# The method\n\n## 1. Steps\n\n### 1.1 Time\n\nAs in 1.2 (1.2).\n\n"
                          "### 1.2 Shares\n\nSee section 1.1.\n",
        "docs/step-model.md": "## 4. Steps\n\n1. A step.\n   goes on\n2. Another (4.1).\n",
        "docs/format.md": "## 8. How to read\n\n1. A file.\n\n## Not numbered\n\n1. None.\n",
    }

    def check(self, path, text):
        files = dict(self.DOCUMENTS, **{path: text})
        for name, content in files.items():
            self.write(name, content)
        return run(f"{HERE}/check_citations.py", self.root, text="\n".join(files))

    def expect(self, path, text, *complaints):
        code, output = self.check(path, text)
        self.assertEqual(output.splitlines(), [f"{path}:{complaint}" for complaint in complaints])
        self.assertEqual(code, 1 if complaints else 0)

    def test_sections_that_exist_may_be_cited_in_each_form(self):
        self.expect("src/a.c", "/* method 1; (method 1.1), method 1, 1.1 and 1.2.\n"
                    " * Step model 4.1 to 4.2, step\n * model 4 and format\n * 8.1 */\n")
        self.expect("tests/a.py", '"""Format 8.1, and clang-format 14 or 3 of 8."""\n')

    def test_a_section_that_does_not_exist_is_found_where_it_is_cited(self):
        self.expect("src/a.c", "\n/* (method 1.3) */", "2: docs/method.md has no section 1.3")
        self.expect("src/a.c", "/* step\n * model 4.3 */",
                    "1: docs/step-model.md has no section 4.3")
        self.expect("tests/a.py", "# format 8.2\n", "1: docs/format.md has no section 8.2")
        self.expect("docs/x.md", "As method 2 says.\n", "1: docs/method.md has no section 2")

    def test_each_number_of_a_list_is_looked_for(self):
        missing = "1: docs/method.md has no section"
        self.expect("src/a.c", "/* method 1.1, 7 */", f"{missing} 7")
        self.expect("src/a.c", "/* method 1.1 to 1.9 */", f"{missing} 1.9")
        self.expect("src/a.c", "/* method 1.8, 1.1,\n * and 1.9 */", f"{missing} 1.8",
                    f"{missing} 1.9")

    def test_items_of_a_section_without_a_number_are_none(self):
        self.expect("src/a.c", "/* format 8.3 */", "1: docs/format.md has no section 8.3")

    def test_what_a_reader_does_not_have_is_found(self):
        for text, what in (("rule book 8.2", "rule book"), ("rule\n * book", "rule book"),
                           ("see design.md", "design.md"), ("docs/format.md 8.1", ".md 8"),
                           ("docs/format.md section 8", ".md section 8")):
            code, output = self.check("src/a.c", f"/* {text} */")
            self.assertIn(f"src/a.c:1: '{what}' is no citation", output)
            self.assertEqual(code, 1)

    def test_a_rule_or_section_of_no_document_is_found(self):
        self.expect("src/a.c", "/* rule 9 */", "1: there is no section 9 here")
        self.expect("tests/a.py", "# Sections 3 and 4\n", "1: there is no section 3 here",
                    "1: there is no section 4 here")

    def test_a_document_cites_its_own_sections(self):
        self.expect("docs/format.md", "## 8. Files\n\nSee section 8, not rule 9.\n",
                    "3: there is no section 9 here")
        self.expect("docs/method.md", "## 1. Steps\n\nt(0.975, 9) is as said (1.7).\n",
                    "3: there is no section 1.7 here")


class Names(Tree):
    def setUp(self):
        super().setUp()
        self.write("src/base/base.c", "int base_open(void) { return SS_E_OK; }\n/* base_gone() */")
        self.write("src/base/cause_memory.c", "")
        self.write("python/stepscope/_boot.py", "def boot(): pass\n")
        self.write("docs/page.md", "")
        self.write("Makefile", "lint:\n\ttrue\n")

    def expect(self, path, text, *complaints):
        self.write(path, text)
        code, output = run(f"{HERE}/check_names.py", self.root)
        found = [line for line in output.splitlines() if line.startswith(f"{path}:")]
        self.assertEqual(found, [f"{path}:{complaint}" for complaint in complaints])
        self.assertEqual(code, 1 if complaints else 0)

    def test_what_exists_may_be_named(self):
        self.write("src/base/base.c", "int base_open(void) { return SS_E_OK; }\n")
        self.expect("README.md", "`src/base/base.c`, base.c, base/cause_THING.c, cause_*.c, "
                    "src/base/, [page](docs/page.md), `make lint`, base_open(), stepscope.boot(), "
                    "an SS_E code, `python train.py`.\n")
        self.expect("docs/page.md", "See ../README.md and ../src/base/base.c.\n")

    def test_a_file_or_folder_that_does_not_exist_is_found(self):
        self.write("src/base/base.c", "")
        for path in ("ARCHITECTURE.md", "docs/page.md", "bench/README.md", "docs/man/x.1.scd"):
            self.expect(path, "\nIn gone.c, src/gone/base.c, gone_*.c and src/nowhere/.\n",
                        "2: there is no file gone.c", "2: there is no file src/gone/base.c",
                        "2: there is no file gone_*.c", "2: there is no src/nowhere/")
            os.remove(os.path.join(self.root, path))

    def test_a_file_of_another_folder_is_not_the_one_named(self):
        self.write("src/base/base.c", "")
        self.expect("README.md", "model/base.c, ../base.c\n", "1: there is no file model/base.c",
                    "1: there is no file ../base.c")

    def test_a_function_that_is_in_comments_only_does_not_exist(self):
        self.expect("src/base/base.c", "/* base_gone() does it */\n"
                    "char *text = \"/* no_comment() */\";\n", "1: there is no function base_gone()")

    def test_comments_of_headers_and_of_the_package_are_looked_at(self):
        self.write("src/base/base.c", "")
        self.expect("include/stepscope/x.h", "int x; /* see gone.h,\n * SS_GONE */\n",
                    "1: there is no file gone.h", "2: there is no SS_GONE")
        os.remove(os.path.join(self.root, "include/stepscope/x.h"))
        self.expect("python/stepscope/_boot.py", 'x = "gone.py"\n"""As in gone.py."""  # gone.c\n',
                    "2: there is no file gone.py", "2: there is no file gone.c")

    def test_so_are_those_of_tests_and_tools_in_any_language(self):
        self.write("src/base/base.c", "")
        for path, text in (("tests/unit/test_a.c", "/* gone.c */\n"),
                           ("tests/cli/test_a.py", 'x = """gone.md"""  # gone.c\n'),
                           ("tools/a", "#!/bin/sh\necho gone.md # gone.c\n# gone.c\n"),
                           ("tests/lint/check_a", "#!/usr/bin/python3\n\"\"\"As in gone.c.\"\"\"\n")):
            self.expect(path, text, f"{1 + text[:text.rindex('gone.c')].count(chr(10))}: there is no file gone.c")
            os.remove(os.path.join(self.root, path))

    def test_what_only_looks_like_a_comment_is_none(self):
        self.write("src/base/base.c", "")
        self.expect("tests/cli/test_a.py", 'x = "# gone.c"\ny = [\n    """gone.c""",\n]\n')
        self.expect("tests/data/x.py", "# gone.c\n")

    def test_a_target_that_the_makefile_does_not_have_is_found(self):
        self.write("src/base/base.c", "")
        self.expect("CONTRIBUTING.md", "`make lint`, then `make gone`\n",
                    "1: the Makefile has no target gone")


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

    def test_long_lines_of_prose_are_found_but_not_those_of_tables_and_code(self):
        long = "a word " * 20 + "end\n"
        allowed = f"| {long}\n    {long}\n```\n{long}```\n" + "x" * 120 + "\n"
        self.assertEqual(self.check(docs__x_DOT_md=allowed), (0, ""))
        code, output = self.check(docs__x_DOT_md=f"short\n{long}")
        self.assertEqual(code, 1)
        self.assertIn("docs/x.md:2: longer than", output)

    def test_banned_functions_are_found_but_not_their_relatives(self):
        code, output = self.check(src__a_DOT_c="/* one\n two */ x = atoi (s);\n"
                                  "rand(); snprintf(); gmtime_r(); my_rand();\n")
        self.assertEqual(code, 1)
        self.assertIn("src/a.c:2: atoi() is banned", output)
        self.assertIn("src/a.c:3: rand() is banned", output)
        self.assertEqual(output.count("banned"), 2)

    def test_long_files_and_odd_names_are_found(self):
        code, output = self.check(src__base__a_DOT_c="\n" * 601, src__base__B_DOT_c="\n",
                                  python__core__p_DOT_c="\n" * 601, tests__t_DOT_c="\n" * 601)
        self.assertEqual(code, 1)
        self.assertIn("python/core/p.c:600: longer than 600", output)
        self.assertIn("src/base/a.c:600: longer than 600", output)
        self.assertIn("src/base/B.c:0: file names", output)
        self.assertNotIn("tests/t.c", output)

    def test_two_files_of_one_name_are_found(self):
        self.assertIn("has the same name",
                      self.check(src__base__a_DOT_c="\n", src__read__a_DOT_c="\n")[1])


class Wording(Tree):
    def check(self, path, text):
        self.write(path, text)
        return run(f"{HERE}/check_wording.py", self.root, text=path + "\n")

    def test_the_words_of_the_glossary_pass(self):
        self.assertEqual(self.check("src/cli/a.c", 'say("system metrics were not collected");\n'),
                         (0, ""))

    def test_each_text_of_the_old_reports_is_found(self):
        for text in ("nobody watched the machine", "sure: 799 steps; NOT LEVEL", "gains at most 54 %",
                     "in the books, in no statistics", "a share from 5 % on", "waits cannot be told apart",
                     "the loop's thread works for it itself", "a part that is worth a word",
                     "perfetto is nothing for a terminal", "it appears when it is whole",
                     "an own if step % N == 0", "see to its cooling", "a record makes no sense",
                     "ID:10% from there on", "1 name found no room", "what is in no span"):
            for path, line in (("src/report/a.c", f'say("{text}");\n'), ("docs/a.md", f"{text}\n"),
                               ("docs/man/a.1.scd", f"{text}\n")):
                code, output = self.check(path, line)
                self.assertEqual((code, output.startswith(f"{path}:1: '")), (1, True), text)

    def test_a_text_that_is_broken_into_lines_is_searched_as_one(self):
        for path, text in (("docs/a.md", "it took 3 samples\na second\n"),
                           ("src/html/a.c", 'say("waits cannot be " PRIu64 "told"\n    " apart");\n'),
                           ("src/base/a.h", "/* A lock that somebody\n * else has. */\n"),
                           ("python/stepscope/a.py", "# For whoever\n# reads.\n"),
                           ("bench/README.md", "in an order drawn\nanew\n")):
            code, output = self.check(path, text)
            self.assertEqual((code, output[:len(path) + 1]), (1, path + ":"), text)
        for text in ('say("20", A, "a second");\n', 'say("steps");\nsay("a second one");\n'):
            self.assertEqual(self.check("src/cli/a.c", text), (0, ""))

    def test_names_in_code_and_other_comments_are_free(self):
        self.assertEqual(self.check("src/read/a.c", "/* it makes no sense */\nint doubt;\n"), (0, ""))
        self.assertEqual(self.check("docs/glossary.md", "nobody\n"), (0, ""))


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


class Globals(Tree):
    EXPLAINED = ("/* Once a process. */\nstatic int made;\n"
                 "static int turns; /* of all threads */\n"
                 "/* Of this thread. */\nstatic __thread struct {\n    int depth;\n} stack;\n"
                 "static const int fixed = 3;\n"
                 "int *use(int);\n"
                 "int *use(int i)\n{\n    static int own; /* found once */\n"
                 "    int *all[] = {&made, &turns, &stack.depth, &own};\n"
                 "    return all[i % fixed];\n}\n")

    def check(self, text):
        source = self.write("python/core/part.c", text)
        place = os.path.join(self.root, "build/python/stepscope/_core.so.p")
        os.makedirs(place, exist_ok=True)
        subprocess.run(["cc", "-c", "-fdata-sections", source, "-o", place + "/.._core_part.c.o"],
                       check=True)
        return run(f"{HERE}/check_globals.py", os.path.join(self.root, "build"), self.root)

    def test_variables_with_a_comment_pass(self):
        self.assertEqual(self.check(self.EXPLAINED), (0, ""))

    def test_a_variable_without_one_is_found(self):
        for comment, place in (("/* Once a process. */\n", "part.c:1: made"),
                               (" /* of all threads */", "part.c:3: turns"),
                               ("/* Of this thread. */\n", "part.c:4: stack"),
                               (" /* found once */", "part.c:12: own")):
            code, output = self.check(self.EXPLAINED.replace(comment, ""))
            self.assertEqual((code, output.count("\n")), (1, 1), output)
            self.assertIn(place, output)

    def test_a_build_without_the_extension_is_found(self):
        code, output = run(f"{HERE}/check_globals.py", self.root, self.root)
        self.assertEqual(code, 1)
        self.assertIn("has no objects", output)


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
