"""What the supervisor samples, against what the kernel told the command itself; counters that are
missing; disturbances that are made; what must not harm the command."""

import contextlib
import errno
import glob
import json
import os
import resource
import signal
import struct
import subprocess
import unittest

from running import BUILD, PROGRAM, RunTest, environment, is_running, wait_until

LOAD = os.path.join(BUILD, "load_maker")
NVML = os.path.join(BUILD, "fake_nvml.so")
LATEST = "stepscope-runs/latest"
SOAK = os.environ.get("SOAK") == "1"
SANITIZED = "asan" in os.path.basename(BUILD.rstrip("/"))  # then we cost more than we allow ourselves
SAMPLE_S = 0.5  # until a new process is looked at ten times a second, and since its last look
SLOW_SAMPLE_S = 1.5  # between two looks at all others
SEGMENT, BEATS_AT, LOST_AT = 65536, 280, 16512  # bytes in the file of samples
HOG = "while True: pass"
CGROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")


class SamplesTest(RunTest):
    def load(self, *words, before=(), after=(), options=("--quiet",), **env):
        """Runs it; (what it said of itself, the report)."""
        command = [*before, PROGRAM, "run", *options, "--", *after, LOAD, *words]
        done = subprocess.run(command, cwd=self.folder, env=environment(**env), check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=300)
        return json.loads(done.stdout), self.report()

    def load_script(self, script, *before):
        """Runs a script of the shell; the report."""
        subprocess.run([*before, PROGRAM, "run", "--quiet", "--", "/bin/sh", "-c", script],
                       check=True, cwd=self.folder, env=environment(), timeout=300)
        return self.report()

    def records(self):
        """System records of the run so far: (counter, time, value)."""
        done = self.stepscope("dump", "--json", LATEST)
        lines = map(json.loads, done.stdout.splitlines())
        return [(line["name"], line["time_ns"], line["value"]) for line in lines
                if line["kind"] == "system"]

    def sample_file(self):
        wait_until(lambda: glob.glob(self.path(LATEST, "s-*")), "a file of samples")
        return glob.glob(self.path(LATEST, "s-*"))[0]

    def need(self, *command):
        """Skips the test where this cannot be done."""
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest(f"{command[0]} cannot be used here")

    def report(self):
        done = subprocess.run([PROGRAM, "report", "--json", LATEST], check=True,
                              cwd=self.folder, env=environment(), stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def counter(self, report, name):
        """The only one, or the first."""
        found = [c for c in report["resources"]["counters"] if c["counter"] == name]
        self.assertTrue(found, name)
        return found[0]

    def stamp(self, report):
        return {item["id"]: item for item in report["validity"]["items"]}

    def assert_near(self, found, true, slack):
        self.assertLessEqual(abs(found - true), max(0.02 * true, slack), (found, true))


class Truth(SamplesTest):
    def test_cpu_time_of_short_lived_children_is_in_the_account(self):
        said, report = self.load("2", "children", "8", "60")
        self.assertGreater(said["cpu_ns"], 8 * 60e6)
        self.assert_near(self.counter(report, "tree.cpu")["gained"], said["cpu_ns"], 20e6)

    def test_memory(self):
        said, report = self.load("4", "touch", str(200 << 20))
        self.assertGreater(said["rss_bytes"], 200 << 20)
        self.assert_near(self.counter(report, "tree.rss")["max"], said["rss_bytes"], 1 << 20)
        self.assert_near(self.counter(report, "process.rss")["max"], said["rss_bytes"], 1 << 20)
        self.assertGreater(report["resources"]["memory_growth_per_s"], 1 << 20)

    def test_written_bytes(self):
        said, report = self.load("4", "write", self.path("out"), str(128 << 20))
        self.assertGreaterEqual(said["wrote_bytes"], 128 << 20)
        for name in ("tree.write", "process.write"):
            self.assert_near(self.counter(report, name)["gained"], said["wrote_bytes"], 1 << 20)

    def test_read_bytes(self):
        said, report = self.load("4", "read", self.path("in"), str(64 << 20))
        for name in ("tree.read", "process.read"):
            self.assert_near(self.counter(report, name)["gained"], said["read_bytes"], 1 << 20)

    def test_faults(self):
        said, report = self.load("4", "touch", str(64 << 20), "map", self.path("in"),
                                 str(16 << 20))
        self.assertGreater(said["minor_faults"], 0)
        for kind in ("minor_faults", "major_faults"):
            self.assert_near(self.counter(report, "process." + kind)["gained"], said[kind], 100)

    def test_bytes_of_a_child_are_not_counted_again_when_it_ends(self):
        once = f"{LOAD} 1 write {self.path('out')} {64 << 20} >> {self.path('said')}; sleep 1.3; "
        report = self.load_script(once * 2)
        with open(self.path("said"), encoding="ascii") as lines:
            wrote = sum(json.loads(line)["wrote_bytes"] for line in lines)
        self.assertGreaterEqual(wrote, 128 << 20)
        self.assert_near(self.counter(report, "tree.write")["gained"], wrote, 1 << 20)
        totals = [value for name, _, value in self.records() if name == "tree.write"]
        self.assertEqual(totals, sorted(totals))

    def test_cpu_time_of_a_child_that_nobody_waits_for(self):
        said, report = self.load("8", "early", "unwaited", "3000")
        self.assert_near(self.counter(report, "tree.cpu")["gained"], said["cpu_ns"],
                         SLOW_SAMPLE_S * 1e9)

    def test_from_the_launch_to_the_end(self):
        """Totals of the command begin at 0, and those of the machine go as far as its own."""
        self.load("1")
        records = self.records()
        launched_ns = int(self.facts("outcome")["started_ns"])
        self.assertEqual(records[:3], [(name, launched_ns, 0) for name in
                                       ("tree.cpu", "tree.read", "tree.write")])
        last = {name: time_ns for name, time_ns, _ in records}
        for name in ("cpu.busy", "cpu.steal", "disk.read", "net.sent", "memory.available"):
            if name in last:
                self.assertEqual(last[name], last["tree.cpu"], name)

    def test_children_after_the_pids_have_gone_round(self):
        turn = "echo %d > /proc/sys/kernel/ns_last_pid"
        jail = ("unshare", "-pf", "--mount-proc", "/bin/sh", "-ec", turn % 900 + '; "$@"', "sh")
        self.need(*jail, "true")
        script = f"sleep 1.5; {turn % 499}; ({turn % 299}; sleep 3; true); true"
        report = self.load_script(script, *jail)
        self.assertEqual(self.counter(report, "tree.processes")["max"], 3)

    def test_many_processes(self):
        report = self.load_script("for i in $(seq 300); do sleep 4 & done; wait")
        self.assertEqual(self.counter(report, "tree.processes")["max"], 301)

    def test_the_newest_loop_is_watched(self):
        _, report = self.load("3", "early", "threads", "9", "aside", options=())
        threads = [counter["subject"] for counter in report["resources"]["counters"]
                   if counter["counter"] == "thread.cpu" and counter["gained"] > 0.1e9]
        self.assertEqual(len(threads), 1)
        self.assertNotEqual(threads[0] >> 32, threads[0] & 0xffffffff)

    def test_a_process_of_another_namespace_is_not_taken_for_one_of_ours(self):
        self.need("unshare", "-pf", "true")
        _, report = self.load("2", after=["unshare", "-pf"])
        for counter in report["resources"]["counters"]:
            if counter["counter"].startswith(("process.", "thread.")) and counter["subject"]:
                self.assertNotIn(1, (counter["subject"], counter["subject"] >> 32), counter)

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

    def test_a_stage_runs_or_waits(self):
        _, report = self.load("6")
        seen = report["resources"]["loop_threads"]
        # One that was woken counts as running while it waits for a core on a busy machine.
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
        """Gives a line of shell that enters it; None if it cannot be made."""
        for root in CGROUPS:
            place = os.path.join(root, f"stepscope-test-{os.getpid()}")
            try:
                os.mkdir(place)
            except OSError:
                continue
            try:
                if os.path.exists(place + "/cpu.cfs_quota_us"):
                    settings = {"cpu.cfs_period_us": str(period_us),
                                "cpu.cfs_quota_us": str(quota_us)}
                else:
                    settings = {"cpu.max": f"{quota_us} {period_us}"}
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


class Missing(SamplesTest):
    def test_nothing_fails_without_the_files_of_the_kernel(self):
        hide = ("mount -t tmpfs none /sys; mount -t tmpfs none /proc/pressure; "
                "mount --bind /dev/null /proc/stat; mount --bind /dev/null /proc/diskstats; "
                'exec "$@"')
        probe = subprocess.run(["unshare", "-m", "/bin/sh", "-ec", hide, "sh", "true"],
                               stderr=subprocess.PIPE, check=False)
        if probe.returncode != 0:
            self.skipTest("no mount namespace can be made here")
        _, report = self.load("1", before=["unshare", "-m", "/bin/sh", "-c", hide, "sh"])
        self.assertGreater(report["steps"]["count"], 0)
        for name in ("cpu.busy", "cpu.steal", "psi.cpu.some", "psi.io.full", "disk.read",
                     "cpu.frequency", "cgroup.cpu_limit"):
            counter = self.counter(report, name)
            self.assertEqual((counter["state"], counter["max"]), ("absent", None), name)
        stamp = self.stamp(report)
        for item in ("steal", "io", "memory", "cgroup", "frequency", "others"):
            self.assertEqual(stamp[item]["level"], "unseen", item)
        self.assertIn("not observable here", stamp["steal"]["text"])

    def test_what_may_not_be_read_is_denied(self):
        other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.need(*other, PROGRAM, "--version")
        os.chown(self.folder, 65534, 65534)
        said, report = self.load("2", "early", "hide", before=other)
        self.assertEqual(self.counter(report, "process.read")["state"], "denied")
        self.assertEqual(self.counter(report, "process.rss")["state"], "value")
        self.assert_near(self.counter(report, "tree.cpu")["gained"], said["cpu_ns"], 20e6)

    def test_a_run_that_records_nothing_has_samples(self):
        subprocess.run([PROGRAM, "run", "--quiet", "--", "/bin/sleep", "0.5"], check=True,
                       cwd=self.folder, env=environment())
        report = self.report()
        self.assertGreater(self.counter(report, "memory.available")["mean"], 0)
        self.assertEqual(report["run"]["processes"], 0)

    def test_a_small_cap_holds_for_samples_too(self):
        subprocess.run([PROGRAM, "run", "--quiet", "--", LOAD, "1"], check=True, cwd=self.folder,
                       env=environment(STEPSCOPE_CAP="1M"), stdout=subprocess.DEVNULL)
        self.assertLessEqual(os.path.getsize(self.sample_file()), 1 << 17)
        self.assertGreater(self.counter(self.report(), "memory.available")["mean"], 0)


class Harmless(SamplesTest):
    def test_a_file_of_samples_that_is_emptied(self):
        run = self.start("--quiet", "--", LOAD, "2")
        os.truncate(self.sample_file(), 0)
        code, out, _ = run.finish()
        self.assertEqual(code, 0)
        self.assertGreater(json.loads(out)["cpu_ns"], 0)
        self.assertGreater(self.report()["steps"]["count"], 0)

    def test_a_supervisor_that_is_killed(self):
        run = self.start("--quiet", "--", LOAD, "3")
        command = self.command_of(run.pid)
        wait_until(lambda: glob.glob(self.path(LATEST, "p-*")) and
                   sum(name == "cpu.busy" for name, _, _ in self.records()) > 10, "samples")
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait()
        wait_until(lambda: not is_running(command), "the command has ended")
        report = self.report()
        self.assertGreater(report["steps"]["count"], 0)
        self.assertGreater(self.counter(report, "memory.available")["mean"], 0)

    def test_signs_of_life_go_on_when_nothing_more_can_be_written(self):
        run = self.start("--quiet", "--", "/bin/sh", "-c",
                         "for i in $(seq 60); do sleep 30 & done; wait")
        path = self.sample_file()
        resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (2 * SEGMENT, 2 * SEGMENT))
        wait_until(lambda: self.read_at(path, LOST_AT)[0] > 0, "samples are lost")
        before = self.read_at(path, BEATS_AT)[0]
        wait_until(lambda: self.read_at(path, BEATS_AT)[0] > before + 2, "two more beats")
        _, _, time_ns, _, other_ns = self.read_at(path, BEATS_AT)
        self.assertLess(abs(time_ns - other_ns), 4e9)
        run.process.terminate()
        run.process.wait()
        self.assertEqual(os.path.getsize(path), 2 * SEGMENT)

    @staticmethod
    def read_at(path, offset):
        with open(path, "rb") as file:
            file.seek(offset)
            return struct.unpack("<5Q", file.read(40))


class Gpus(SamplesTest):
    SCRIPT = ("count.0 1\nutilization.0 40\nutilization_memory.0 25\n"
              "power.0 312500\ntemperature.0 71\n")

    def play(self, text):
        """The environment in which the GPU answers so."""
        self.write("script.new", text)
        os.rename(self.path("script.new"), self.path("script"))
        return {"STEPSCOPE_NVML": NVML, "FAKE_NVML": self.path("script")}

    def test_values(self):
        _, report = self.load("2", **self.play(self.SCRIPT))
        for name, value in (("busy", 0.40), ("memory_busy", 0.25), ("power", 312.5),
                            ("temperature", 71)):
            counter = self.counter(report, "gpu." + name)
            self.assertEqual((counter["state"], counter["subject"]), ("value", 0))
            self.assertAlmostEqual(counter["last"], value)

    def test_without_any(self):
        _, report = self.load("1", STEPSCOPE_NVML="/nowhere/libnvidia-ml.so.1")
        self.assertEqual(self.counter(report, "gpu.busy")["state"], "absent")

    def test_one_that_disappears(self):
        run = self.start("--quiet", "--", LOAD, "4",
                         env=environment(**self.play(self.SCRIPT)))
        wait_until(lambda: ("gpu.busy", 0.4) in [(r[0], r[2]) for r in self.records()], "a value")
        self.play(self.SCRIPT + "error.utilization.0 15\nerror.device.0 15\n")
        code, _, _ = run.finish()
        self.assertEqual(code, 0)
        self.assertEqual([r[2] for r in self.records() if r[0] == "gpu.busy"][-1], 0)  # absent
        self.assertAlmostEqual(self.counter(self.report(), "gpu.busy")["last"], 0.40)

    def test_one_that_hangs(self):
        _, report = self.load("4", **self.play(self.SCRIPT + "hang.utilization.0 1\n"))
        self.assertEqual(self.counter(report, "gpu.busy")["state"], "absent")

    def test_a_library_that_cannot_be_loaded_to_the_end(self):
        """Opening a pipe that nobody writes to does not return."""
        os.mkfifo(self.path("library"))
        _, report = self.load("4", STEPSCOPE_NVML=self.path("library"))
        self.assertEqual(self.counter(report, "gpu.busy")["state"], "absent")
        self.assertGreater(self.counter(report, "memory.available")["mean"], 0)


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
