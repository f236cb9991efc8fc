"""Programs that fork, clone, exec, end and load libraries in all the ways there are: every process
that recorded has a file, with exactly what it recorded; the others have none; nothing hangs.

The scenes are in tests/helpers/life_*.c and say themselves what must be found.
"""

import collections
import os
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest

import recording
from recording import FolderTest

NOBODY = 65534
LIBRARY = "libstepscope.so.0"
PLUGIN = "plugin.so"
HOOK = "malloc_hook.so"
GROWS_KB = 16 * 64  # segments


def truth_of(text):
    """{pid: [(spans, unbalanced, unfinished) for each file]} of what a scene says."""
    found = collections.defaultdict(list)
    for line in text.splitlines():
        match = re.fullmatch(r"truth (\d+) (?:no file|(\d+) (\d+) (\d+))", line)
        if match and match[2]:
            found[int(match[1])].append(tuple(map(int, match.groups()[1:])))
        elif match:
            found[int(match[1])] += []
    return {pid: sorted(rows) for pid, rows in found.items()}


class LifeTest(FolderTest):
    def play(self, scene, *arguments, code=0, **options):
        """Runs a scene to its end; returns what it printed."""
        options.setdefault("env", recording.environment(self.run))
        command = [options.pop("program", recording.program("life_writer")), scene, *arguments]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True,
                              **options) as process:
            try:
                out, errors = process.communicate(timeout=recording.PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        self.assertEqual((process.returncode, errors), (code, ""))
        return out

    def alone(self, file):
        """The run that one file would be."""
        folder = self.path("alone", os.path.basename(file))
        os.makedirs(folder)
        os.link(file, os.path.join(folder, os.path.basename(file)))
        return recording.info(folder)

    def found(self):
        """Like truth_of(), from the files. A span that was lost counts, if it was counted."""
        rows = collections.defaultdict(list)
        for file in recording.files(self.run):
            known = self.alone(file)
            lost = known["lost"]
            self.assertEqual(lost["unread"], [], file)
            self.assertEqual((lost["names"], lost["threads"], lost["too_deep"]), (0, 0, 0), file)
            spans = known["records"]["span"] + sum(lost["dropped_spans"].values()) + \
                sum(lost["reused_spans"].values())
            rows[known["processes"][0]["pid"]].append(
                (spans, lost["unbalanced"], known["unfinished"]))
        return {pid: sorted(row) for pid, row in rows.items()}

    def check(self, scene, *arguments, **options):
        """Runs a scene; its files hold what it says. Returns what it said, and what info says."""
        out = self.play(scene, *arguments, **options)
        truth = truth_of(out)
        self.assertTrue(truth)
        self.assertEqual(self.found(), {pid: rows for pid, rows in truth.items() if rows})
        return out, recording.info(self.run)

    def ends(self, known):
        return collections.Counter(process["end"] for process in known["processes"])


class Forks(LifeTest):
    def test_in_the_middle_of_spans(self):
        _, known = self.check("fork_with_open_spans")
        self.assertEqual(self.ends(known), {"exited": 2})
        depths = collections.Counter((known["processes"][span["process"]]["spans"], span["depth"])
                                     for span in recording.records(self.run, "span")
                                     if span["name"] == "work")
        self.assertEqual(depths, {(202, 2): 200, (50, 0): 50})

    def test_from_a_thread_while_others_record(self):
        self.check("fork_from_a_thread", env=recording.environment(self.run, STEPSCOPE_CAP="8M"))
        self.assertEqual(len(recording.files(self.run)), 21)

    def test_a_hundred_in_a_row(self):
        self.check("fork_100_times")
        self.assertEqual(len(recording.files(self.run)), 101)

    def test_children_of_children_of_children(self):
        _, known = self.check("fork_generations")
        self.assertEqual(self.ends(known), {"exited": 1 + 3 + 9 + 27})

    def test_with_clone_behind_the_back_of_the_c_library(self):
        _, known = self.check("raw_clone")
        self.assertEqual(self.ends(known), {"exited": 1, "killed": 50})

    def test_while_threads_intern_and_nothing_is_recorded(self):
        self.play("fork_while_interning", env=recording.environment())

    def test_threads_that_the_program_sees(self):
        """Python warns its users if there are several right after a fork."""
        out = self.play("count_threads")
        self.assertEqual(sorted(out.splitlines()),
                         ["child 1", "parent 2 then 1", "recording child 2"])

    def test_some_processes_of_a_tree_record(self):
        self.check("tree")
        self.assertEqual(len(recording.files(self.run)), 3)


class OtherPrograms(LifeTest):
    def test_vfork_and_exec(self):
        _, known = self.check("vfork_and_exec")
        self.assertEqual(self.ends(known), {"exited": 2})

    def test_posix_spawn(self):
        _, known = self.check("spawn")
        self.assertEqual(self.ends(known), {"exited": 2})

    def test_exec_of_itself(self):
        _, known = self.check("exec_itself")
        self.assertEqual(self.ends(known), {"killed": 1, "exited": 1})
        self.assertEqual(len({process["pid"] for process in known["processes"]}), 1)

    def test_a_daemon(self):
        """It changes its directory: the run was given as a path from the first one."""
        said = self.path("said")
        out = self.play("daemonise", said, env=recording.environment("run"))
        with open(said, encoding="ascii") as file:
            truth = truth_of(out + file.read())
        self.assertEqual(len(truth), 3)
        self.assertEqual(self.found(), {pid: rows for pid, rows in truth.items() if rows})

    def test_more_rights_than_the_user_has(self):
        """Then the environment is not to be trusted (secure_getenv)."""
        if recording.is_sanitized():
            self.skipTest("sanitizers do not run with more rights")
        other_user = self.as_user(NOBODY, "life_writer")
        os.chmod(self.folder, 0o777)
        may_bind_low_ports = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("no program can get more rights here")
        self.play("leaf", **other_user)
        self.assertEqual(len(recording.files(self.run)), 1)
        shutil.rmtree(self.run)
        os.setxattr(other_user["program"], "security.capability", may_bind_low_ports)
        self.play("leaf", **other_user)
        self.assertFalse(os.path.exists(self.run))


class Ends(LifeTest):
    def check_end(self, how, code, end):
        """With three threads in the middle of recording."""
        counts = self.path("counts")
        self.play("end_with_threads", how, counts, code=code,
                  env=recording.environment(self.run, STEPSCOPE_CAP="16M"))
        with open(counts, "rb") as file:
            made = sum(struct.unpack("<3q", file.read()))
        [(spans, unbalanced, unfinished)], = self.found().values()
        self.assertIn(spans - unfinished - made, range(4))  # between the call and its count
        self.assertLessEqual(unfinished, 3)
        self.assertEqual(unbalanced, 0)
        self.assertEqual(self.ends(recording.info(self.run)), {end: 1})

    def test_exit(self):
        self.check_end("exit", 5, "exited")

    def test_exit_at_once(self):
        self.check_end("_exit", 6, "killed")

    def test_abort(self):
        self.check_end("abort", -signal.SIGABRT, "killed")

    def test_return_from_main_with_spans_open(self):
        self.check("return_with_open_spans", code=9)

    def test_main_thread_before_the_others(self):
        self.check("main_thread_ends_first")

    def test_main_thread_before_the_others_with_two_recorders(self):
        self.check("main_thread_ends_first", recording.program(PLUGIN))
        self.assertEqual(len(recording.files(self.run)), 2)

    def test_one_thread_exits_while_another_stops(self):
        """The moment when it hurts is short: a few microseconds."""
        self.play("exit_while_stopping", "3000" if os.environ.get("SOAK") else "30")


class Threads(LifeTest):
    def test_detached(self):
        self.check("detached")

    def test_ten_thousand_short_ones(self):
        _, known = self.check("short_threads")
        self.assertEqual(known["records"]["thread_begin"], 10000)
        self.assertLessEqual(len(known["lanes"]), 1 + 8)

    def test_cancelled_in_a_span(self):
        """The span ends with its thread: those of the next one are not inside it."""
        self.check("cancelled_in_a_span")
        depths = {(span["name"], span["depth"]) for span in recording.records(self.run, "span")}
        self.assertEqual(depths, {("work", 0), ("wait", 0)})

    def test_cancelled_in_a_call_of_the_recorder(self):
        self.check("cancelled_in_a_call")

    def test_destructors_of_the_program_that_record(self):
        self.check("destructors_record")

    def test_signals_of_the_program(self):
        """Its handlers run on its own threads: that of the recorder blocks all signals."""
        with subprocess.Popen([recording.program("life_writer"), "signals_stay_with_the_program"],
                              env=recording.environment(self.run), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, encoding="utf-8") as process:
            while process.stdout.readline() not in ("waiting\n", ""):
                pass
            blocked, end = {}, time.monotonic() + recording.PATIENCE_S
            while "stepscope" not in blocked and time.monotonic() < end:
                # A thread begins with the name of its maker.
                blocked = dict(self.blocked_signals(process.pid))
            process.communicate("\n", timeout=recording.PATIENCE_S)
        self.assertEqual(process.returncode, 0)
        never = {signal.SIGKILL, signal.SIGSTOP, 32, 33}  # two are the C library's own
        self.assertEqual(blocked, {"life_writer": set(),
                                   "stepscope": set(range(1, 65)) - never})

    @staticmethod
    def blocked_signals(pid):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii") as file:
                rows = dict(line.rstrip("\n").split(":\t", 1) for line in file)
            mask = int(rows["SigBlk"], 16)
            yield rows["Name"], {n + 1 for n in range(64) if mask >> n & 1}


class Libraries(LifeTest):
    def check_memory(self, out):
        """It does not grow: two mappings are by chance, and what the file grows by at a time."""
        if recording.is_sanitized():
            return
        sizes = [tuple(map(int, row)) for row in re.findall(r"mappings (\d+), (\d+) KB", out)]
        self.assertEqual(len(sizes), 2)
        self.assertLessEqual(sizes[1][0], sizes[0][0] + 2)
        self.assertLessEqual(sizes[1][1], sizes[0][1] + GROWS_KB + 256)

    def test_start_after_stop(self):
        out, known = self.check("restart_200_times")
        self.assertEqual(self.ends(known), {"stopped": 201})
        self.check_memory(out)

    def test_a_plugin_comes_and_goes(self):
        out, _ = self.check("plugin_comes_and_goes", recording.program(PLUGIN))
        self.check_memory(out)

    def test_a_plugin_comes_and_goes_and_nothing_is_recorded(self):
        out = self.play("plugin_comes_and_goes", recording.program(PLUGIN),
                        env=recording.environment())
        self.check_memory(out)

    def test_three_copies_side_by_side(self):
        self.check("copies_side_by_side", recording.program(LIBRARY), recording.program(PLUGIN))
        self.assertEqual(len(recording.files(self.run)), 4)

    def test_recording_inside_malloc(self):
        if recording.is_sanitized():
            self.skipTest("a sanitizer has a malloc of its own")
        self.play("allocate_everywhere", recording.program(PLUGIN),
                  env=recording.environment(self.run, LD_PRELOAD=recording.program(HOOK)))
        known = recording.info(self.run)
        self.assertEqual(len(known["processes"]), 11)
        self.assertEqual(known["lost"]["unbalanced"], 0)
        calls = 2 * 5000 * (4 + 10)  # of allocate(), malloc() and free(); the libraries' come on top
        found = known["records"]["span"] + known["lost"]["dropped"]
        self.assertGreaterEqual(found, calls)


if __name__ == "__main__":
    unittest.main()
