"""tests/run_all counts right: nothing that went wrong may look like a success."""

import importlib.machinery
import importlib.util
import os
import unittest
import unittest.mock

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(TESTS, "run_all")


def load():
    loader = importlib.machinery.SourceFileLoader("run_all", PATH)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_all", loader))
    loader.exec_module(module)
    return module


class CountTap(unittest.TestCase):
    def count(self, text, result):
        return load().count_tap(text, result)

    def test_cases_of_each_kind(self):
        text = "1..3\nok 1 - a\nnot ok 2 - b\nnot ok 3 # SKIP c\n# not ok - tests\n"
        self.assertEqual(self.count(text, "FAIL"), (1, 1, 1))

    def test_a_crash_in_the_middle_is_a_failure(self):
        self.assertEqual(self.count("1..3\nok 1 - a\n", "FAIL"), (1, 1, 0))

    def test_cases_that_are_missing_are_a_failure_whatever_the_exit_code(self):
        self.assertEqual(self.count("1..3\nok 1 - a\n", "OK"), (1, 1, 0))

    def test_a_bad_exit_code_after_good_cases_is_a_failure(self):
        self.assertEqual(self.count("1..1\nok 1 - a\n", "FAIL"), (1, 1, 0))

    def test_a_failed_case_is_a_failure_whatever_the_exit_code(self):
        self.assertEqual(self.count("1..1\nnot ok 1 - a\n", "OK"), (0, 1, 0))

    def test_several_groups_in_one_program_add_up(self):
        self.assertEqual(self.count("1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c\n", "OK"), (3, 0, 0))

    def test_a_program_without_tap_is_one_case(self):
        self.assertEqual(self.count("hello\n", "OK"), (1, 0, 0))
        self.assertEqual(self.count("", "TIMEOUT"), (0, 1, 0))
        self.assertEqual(self.count("", "SKIP"), (0, 0, 1))

    def test_a_group_without_cases_counts_nothing(self):
        self.assertEqual(self.count("1..0\n", "OK"), (0, 0, 0))


class CountUnittest(unittest.TestCase):
    def count(self, tail, code):
        return load().count_unittest(f"....\n{'-' * 70}\n{tail}\n", code)

    def test_all_good(self):
        self.assertEqual(self.count("Ran 12 tests in 0.1s\n\nOK (skipped=2)", 0), (10, 0, 2))

    def test_failures_and_errors(self):
        tail = "Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)"
        self.assertEqual(self.count(tail, 1), (1, 3, 1))

    def test_a_success_that_was_not_expected_is_a_failure(self):
        tail = "Ran 2 tests in 0.1s\n\nFAILED (unexpected successes=1)"
        self.assertEqual(self.count(tail, 1), (1, 1, 0))

    def test_a_file_that_does_not_run_is_a_failure(self):
        self.assertEqual(load().count_unittest("Traceback ...\n", 1), (0, 1, 0))
        self.assertEqual(self.count("Ran 0 tests in 0.1s\n\nOK", 0), (0, 1, 0))


class LongForms(unittest.TestCase):
    """What only a soak does must be done by it: no other run would miss it."""

    def names(self):
        return {os.path.relpath(path, TESTS) for path in load().long_files()}

    def test_a_soak_has_those_that_need_not_run_for_each_build(self):
        self.assertLessEqual({"diagnosis/test_compare_runs.py", "page/test_page_browser.py",
                              "python/test_pip.py", "python/test_sampler.py", "run/test_cores.py"},
                             self.names())
        self.assertNotIn("cli/test_info.py", self.names())

    def test_a_soak_runs_them_once_in_release(self):
        run_all, calls = load(), []
        run_all.run_meson = lambda *arguments: []
        run_all.run_python_files = lambda *arguments: calls.append(arguments) or []
        with unittest.mock.patch.dict(os.environ):
            run_all.run_soak("/made")
            self.assertEqual(os.environ["SOAK"], "1")
        self.assertEqual([(call[0], call[2]) for call in calls],
                         [("/made/release", run_all.long_files())])

    def test_what_holds_a_time_is_there_to_run_alone(self):
        self.assertLessEqual(set(load().LONG_ALONE), self.names())


if __name__ == "__main__":
    unittest.main()
