"""tests/run_all counts right: nothing that went wrong may look like a success."""

import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
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
        run_all, runner = load(), unittest.mock.Mock()
        with unittest.mock.patch.dict(os.environ):
            run_all.run_soak(runner, "/made")
            self.assertEqual(os.environ["SOAK"], "1")
        [[jobs]] = [call.args for call in runner.run.call_args_list]
        self.assertEqual({job.name for job in jobs if job.name != run_all.MESON_TEST}, self.names())
        self.assertEqual({job.folder for job in jobs if job.name != run_all.MESON_TEST},
                         {"/made/release"})

    def test_what_holds_a_time_is_there_to_run_alone(self):
        self.assertLessEqual(set(load().LONG_ALONE), self.names())


class Order(unittest.TestCase):
    def job(self, name, places=1, after=None):
        return load().Job("release", name, [], "/made", {}, 1, places, after)

    def test_tables_name_files_that_exist(self):
        run_all = load()
        for name in (*run_all.ALONE, *run_all.LONG_ALONE, *run_all.LONGEST, *run_all.WITH_FRAMEWORKS):
            self.assertTrue(os.path.exists(os.path.join(TESTS, name)), name)

    def test_the_longest_begin_and_those_alone_end(self):
        run_all = load()
        jobs = [self.job("run/test_cores.py", run_all.PLACES), self.job("cli/test_info.py"),
                self.job(run_all.LONGEST[0]), self.job(run_all.MESON_TEST, run_all.PLACES),
                self.job(run_all.INSTALLATION, 0)]
        self.assertEqual(sorted(jobs, key=run_all.rank), [jobs[4], jobs[3], jobs[2], jobs[1], jobs[0]])

    def test_what_is_not_installed_yet_is_passed_by(self):
        run_all = load()
        runner = run_all.Runner("/made")
        first, second = self.job("a", after=run_all.INSTALLATION), self.job("b")
        self.assertEqual(runner.startable([first, second], 2), [second])
        runner.done.add(run_all.INSTALLATION)
        self.assertEqual(runner.startable([first, second], 2), [first, second])
        self.assertEqual(runner.startable([self.job("c", run_all.PLACES), second],
                                          run_all.PLACES - 1), [])


class NothingIsLeft(unittest.TestCase):
    """Of a test whose processes are in sessions of their own."""

    SCRIPT = """
import os, subprocess, sys, time
away = subprocess.Popen(["sleep", "1000"], start_new_session=True)
orphan = os.fork()
if orphan == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1] + ".new", "w") as file:
            file.write("%d %d" % (away.pid, os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(1000)
    os._exit(0)
time.sleep(float(sys.argv[2]))
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stepscope-keeper-")
        self.addCleanup(folder.cleanup)
        self.pids, self.note = os.path.join(folder.name, "pids"), os.path.join(folder.name, "note")

    def start(self, program, seconds):
        keeper = subprocess.Popen([*program, sys.executable, "-c", self.SCRIPT, self.pids, seconds])
        self.addCleanup(keeper.wait)
        self.addCleanup(keeper.kill)
        late = time.monotonic() + 60
        while not os.path.exists(self.pids):
            self.assertLess(time.monotonic(), late)
            time.sleep(0.01)
        with open(self.pids, encoding="ascii") as file:
            return keeper, [int(pid) for pid in file.read().split()]

    def assert_gone(self, pids):
        self.assertEqual([pid for pid in pids if os.path.exists("/proc/%d" % pid)], [])

    def keeper(self, timeout_s="100"):
        return [sys.executable, os.path.join(TESTS, "keeper.py"), self.note, timeout_s]

    def test_when_it_is_stopped(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            keeper, pids = self.start(self.keeper(), "1000")
            keeper.send_signal(number)
            self.assertEqual(keeper.wait(60), 128 + number)
            self.assert_gone(pids)
            os.remove(self.pids)

    def test_when_it_takes_too_long(self):
        keeper, pids = self.start(self.keeper("3"), "1000")
        self.assertEqual(keeper.wait(60), 0)
        self.assert_gone(pids)
        with open(self.note, encoding="utf-8") as file:
            self.assertTrue(json.load(file)["late"])

    def test_when_run_all_is_killed(self):
        """Nothing of it can clean up: the keeper does."""
        parent = ("import subprocess, sys; subprocess.run(sys.argv[1:])")
        killed, pids = self.start([sys.executable, "-c", parent, *self.keeper()], "1000")
        killed.kill()
        killed.wait()
        late = time.monotonic() + 60
        while any(os.path.exists("/proc/%d" % pid) for pid in pids):
            self.assertLess(time.monotonic(), late)
            time.sleep(0.01)

    def test_when_run_all_is_stopped(self):
        run_all = ("import importlib.machinery, importlib.util, signal, sys, tempfile\n"
                   "loader = importlib.machinery.SourceFileLoader('run_all', sys.argv[1])\n"
                   "spec = importlib.util.spec_from_loader('run_all', loader)\n"
                   "run_all = importlib.util.module_from_spec(spec)\n"
                   "loader.exec_module(run_all)\n"
                   "signal.signal(signal.SIGTERM, run_all.leave)\n"
                   "with tempfile.TemporaryDirectory() as folder:\n"
                   "    run_all.Runner(folder).run([run_all.Job('release', 'x', sys.argv[2:], '/made',\n"
                   "                                            {}, 100, 1, None)])\n")
        stopped, pids = self.start([sys.executable, "-B", "-c", run_all, PATH], "1000")
        stopped.terminate()
        self.assertEqual(stopped.wait(60), 128 + signal.SIGTERM)
        self.assert_gone(pids)

    def test_what_is_left_behind_is_killed_and_named(self):
        with unittest.mock.patch.dict(os.environ, {"KEEPER_GRACE_S": "0.2"}):
            keeper, pids = self.start(self.keeper(), "0.1")
        self.assertEqual(keeper.wait(60), 0)
        self.assert_gone(pids)
        with open(self.note, encoding="utf-8") as file:
            note = json.load(file)
        self.assertEqual((note["code"], note["late"], len(note["left"])), (0, False, 2))
        self.assertIn("sleep 1000", note["left"])


if __name__ == "__main__":
    unittest.main()
