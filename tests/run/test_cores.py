"""What the supervisor says of the cores that a command got, and disturbances that are made; it runs
alone (tests/run_all), because others beside it would be disturbances too."""

import contextlib
import errno
import glob
import os
import re
import signal
import subprocess
import unittest

from running import BUILD, wait_until
from sampling import FIRST, LATEST, LOAD, SAMPLE_S, SamplesTest

SOAK = os.environ.get("SOAK") == "1"
SANITIZED = "asan" in os.path.basename(BUILD.rstrip("/"))  # then we cost more than we allow ourselves
HOG = "while True: pass"
HOG_BY_TURNS = """
import random, time
lengths = random.Random(3)
while True:
    end = time.monotonic() + lengths.uniform(0.3, 1)
    while time.monotonic() < end:
        pass
    time.sleep(lengths.uniform(0.3, 1))
"""
CGROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")


class Cores(SamplesTest):
    def test_the_newest_loop_is_watched(self):
        _, report = self.load("6", "early", "threads", "9", "aside", options=())
        threads = [counter["subject"] for counter in report["resources"]["counters"]
                   if counter["counter"] == "thread.cpu" and counter["gained"] > 0.1e9]
        self.assertEqual(len(threads), 1)
        self.assertNotEqual(threads[0] >> 32, threads[0] & 0xffffffff)

    def test_the_loop_of_the_report_is_watched_beside_many_newer_ones(self):
        said, report = self.load("8", "threads", "9")
        counted = {counter["subject"]: counter["gained"]
                   for counter in report["resources"]["counters"]
                   if counter["counter"] == "thread.cpu"}
        self.assertEqual(len(counted), 8, counted)  # and of the newer ones those for which there is room
        main = [subject for subject in counted if subject >> 32 == subject & 0xffffffff]
        self.assert_near(counted[main[0]], said["ran_ns"], SAMPLE_S * 1e9)

    def test_loops_of_several_processes_are_watched_in_a_quiet_run(self):
        """While no loop is known, four main threads are sampled."""
        many = f"for i in 1 2 3 4 5 6; do {LOAD} 60 early aside & done; wait"
        run = self.start("--quiet", "--", "/bin/sh", "-c", many, start_new_session=True)
        self.addCleanup(os.killpg, run.pid, signal.SIGKILL)
        wait_until(lambda: glob.glob(self.path(LATEST, "p-*")), "a process that records")
        wait_until(self.six_loops_are_watched, "looks at all loops")

    def six_loops_are_watched(self):
        report = self.report()
        counters = report["resources"]["counters"] if report["resources"] else ()
        loops = {loop["thread"] for loop in report["loops"]}
        watched = {counter["subject"] & 0xffffffff for counter in counters
                   if counter["counter"] == "thread.cpu" and counter["gained"] > 0}
        return len(loops) == 6 and loops <= watched

    def test_time_on_a_core_and_without_one(self):
        core = str(min(os.sched_getaffinity(0)))
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                hog = subprocess.Popen(["taskset", "-c", core, "/usr/bin/python3", "-c", HOG])
                stack.callback(hog.wait)
                stack.callback(hog.kill)
            said, report = self.load("4", after=["taskset", "-c", core])
        self.assertGreater(said["waited_ns"], 0.2e9)
        self.assert_near(self.counter(report, "thread.wait")["gained"], said["waited_ns"],
                         SAMPLE_S * 1e9)
        self.assert_near(self.counter(report, "thread.cpu")["gained"], said["ran_ns"],
                         SAMPLE_S * 1e9)
        self.assertGreater(self.counter(report, "thread.preemptions")["gained"], 10)
        stamp = self.stamp(report)
        self.assertEqual((stamp["preempted"]["level"], stamp["others"]["level"]), ("warn", "warn"))
        self.assertEqual(report["validity"]["level"], "warn")

    def test_slow_steps_go_with_a_hog_that_comes_and_goes(self):
        core = str(min(os.sched_getaffinity(0)))
        with subprocess.Popen(["taskset", "-c", core, "/usr/bin/python3", "-c", HOG_BY_TURNS]) as hog:
            self.addCleanup(hog.kill)
            _, report = self.load("12", after=["taskset", "-c", core])
            hog.kill()
        found = report["validity"]["attribution"]
        self.assertIsNone(found["refused"])
        wait = [c for c in found["counters"] if c["counter"] == "thread.wait"][0]
        self.assertEqual(wait["verdict"], "supported", found)
        self.assertGreater(wait["rho"], 0.5)
        self.assertFalse(wait["late"])

    def test_fresh_memory_in_each_step_is_found(self):
        pages = 8192
        _, report = self.load("5", "early", "fresh", str(pages * 4096), before=FIRST)
        found = [f for f in report["findings"] if f["id"] == "fresh-memory"]
        self.assertEqual(len(found), 1, report["findings"])
        told = int(re.search(r"([\d,]+) fresh memory pages", found[0]["claim"]).group(1).replace(",", ""))
        self.assertAlmostEqual(told / pages, 1, delta=0.1)

    def test_what_others_do_on_cores_that_it_may_not_use_is_no_disturbance(self):
        own, *rest = sorted(os.sched_getaffinity(0))
        if not rest:
            self.skipTest("there is one core only")
        with subprocess.Popen(["taskset", "-c", str(rest[0]), "/usr/bin/python3", "-c", HOG]) as hog:
            self.addCleanup(hog.kill)
            _, report = self.load("3", before=["taskset", "-c", str(own)])
            hog.kill()
        self.assertEqual(self.counter(report, "cpu.allowed")["last"], 1)
        everywhere = max(counter["gained"] for counter in report["resources"]["counters"]
                         if counter["counter"] == "cpu.busy")
        of_hog = everywhere - self.counter(report, "cpu.allowed_busy")["gained"]
        self.assertGreater(of_hog, 1.5e9)
        item = self.stamp(report)["others"]
        beside = everywhere - self.counter(report, "tree.cpu")["gained"]
        self.assertLess(item["value"], (beside - of_hog / 2) / 3e9)
        self.assertRegex(item["text"], r"of its 1 core(:|$)")

    def test_cores_that_the_command_gives_up_itself_are_not_its_own(self):
        """`run -- taskset`: the supervisor may use them all the same."""
        own, *rest = sorted(os.sched_getaffinity(0))
        if not rest:
            self.skipTest("there is one core only")
        with subprocess.Popen(["taskset", "-c", str(rest[0]), "/usr/bin/python3", "-c", HOG]) as hog:
            self.addCleanup(hog.kill)
            _, report = self.load("6", after=["taskset", "-c", str(own)])
            hog.kill()
        self.assertEqual(self.counter(report, "cpu.allowed")["last"], 1)
        item = self.stamp(report)["others"]
        self.assertRegex(item["text"], r"of its 1 core(:|$)")
        everywhere, own_cores = (max(counter["per_s"] for counter in report["resources"]["counters"]
                                     if counter["counter"] == name)
                                 for name in ("cpu.busy", "cpu.allowed_busy"))
        of_hog = everywhere - own_cores  # it had a core of its own
        self.assertGreater(of_hog, 0.5e9)
        self.assertLess(own_cores, 1.1e9)
        beside = everywhere - self.counter(report, "tree.cpu")["per_s"]
        self.assertLess(item["value"], (beside - of_hog / 2) / 1e9)
        steal = self.counter(report, "cpu.allowed_steal")["gained"]
        self.assertLessEqual(steal, self.counter(report, "cpu.steal")["gained"] + 0.1e9)

    def test_its_cores_are_told_apart_only_if_there_are_others(self):
        _, report = self.load("1")
        allowed = len(os.sched_getaffinity(0))
        self.assertEqual(self.counter(report, "cpu.allowed")["last"], allowed)
        told = [counter["counter"] for counter in report["resources"]["counters"]]
        self.assertEqual("cpu.allowed_busy" in told, allowed < os.cpu_count())

    def test_a_stage_runs_or_waits(self):
        _, report = self.load("6", before=FIRST)
        seen = report["resources"]["loop_threads"]
        # One that was woken counts as running while it waits for a core.
        for stage, runs in (("data", False), ("forward", True)):
            looks = sum(seen[stage].values())
            self.assertGreater(looks, 10)
            share = seen[stage]["runs"] / looks
            self.assertTrue(share > 0.8 if runs else share < 0.7, (stage, seen))

    def test_a_limit_of_a_cgroup(self):
        with self.cgroup(quota_us=20000, period_us=100000) as enter:
            if not enter:
                self.skipTest("no cgroup can be made here")
            _, report = self.load("3", before=["/bin/sh", "-c", f'{enter}; exec "$@"', "sh"])
        self.assertEqual(self.counter(report, "cgroup.cpu_limit")["last"], 0.2)
        periods = self.counter(report, "cgroup.periods")["gained"]
        hit = self.counter(report, "cgroup.throttled_periods")["gained"]
        self.assertGreater(hit, 5)
        self.assertGreater(self.counter(report, "cgroup.throttled")["gained"], 0)
        item = self.stamp(report)["cgroup"]
        self.assertEqual(item["level"], "warn")
        self.assertAlmostEqual(item["value"], hit / periods, delta=0.2)

    @contextlib.contextmanager
    def cgroup(self, quota_us, period_us):
        """Gives a line of shell that enters it; None if it cannot be made. Its weight is the largest, so
        that on a busy machine too it is the quota that stops it."""
        for root in CGROUPS:
            place = os.path.join(root, f"stepscope-test-{os.getpid()}")
            try:
                os.mkdir(place)
            except OSError:
                continue
            try:
                if os.path.exists(place + "/cpu.cfs_quota_us"):
                    settings = {"cpu.cfs_period_us": str(period_us),
                                "cpu.cfs_quota_us": str(quota_us), "cpu.shares": "262144"}
                else:
                    settings = {"cpu.max": f"{quota_us} {period_us}", "cpu.weight": "10000"}
                try:
                    for name, value in settings.items():
                        with open(os.path.join(place, name), "w", encoding="ascii") as file:
                            file.write(value)
                except OSError:
                    continue
                yield f"echo $$ > {place}/cgroup.procs"
                return
            finally:
                wait_until(lambda: self.is_removed(place), "the cgroup is empty")
        yield None

    @staticmethod
    def is_removed(place):
        try:
            os.rmdir(place)
        except OSError as busy:
            if busy.errno != errno.EBUSY:
                raise
            return False
        return True


class Quiet(SamplesTest):
    def test_nothing_is_said_of_what_did_not_happen(self):
        """Other programs on the machine, steal and pressure are real where they show."""
        for _ in range(20 if SOAK else 3):
            _, report = self.load("1")
            stamp = self.stamp(report)
            for item in ("clock", "cgroup", "swap", "dropped", *(() if SANITIZED else ("cost",))):
                self.assertEqual(stamp[item]["level"], "ok", stamp[item])
            for item in ("frequency", "heat"):
                self.assertIn(stamp[item]["level"], ("ok", "unseen"), stamp[item])


if __name__ == "__main__":
    unittest.main()
