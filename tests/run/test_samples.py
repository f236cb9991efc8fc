"""What the supervisor samples, against what the kernel told the command itself; counters that are
missing; what must not harm the command."""

import collections
import glob
import json
import os
import resource
import signal
import struct
import subprocess
import unittest

from running import BUILD, PROGRAM, children_of, environment, is_running, wait_until
from sampling import LATEST, LOAD, NVML, SAMPLE_S, SamplesTest

SLOW_SAMPLE_S = 1.5  # between two looks at all others
SEGMENT, BEATS_AT, LOST_AT = 65536, 280, 16512  # bytes in the file of samples


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

    def test_ten_times_a_second_and_once_a_second(self):
        """What is asked for at each look, and what at each tenth: how many times, whatever a look takes."""
        self.load("4", "early", options=())
        records = self.records()
        found_ns = next(time_ns for name, time_ns, _ in records if name == "thread.cpu")
        seen = collections.Counter(name for name, time_ns, _ in records if time_ns >= found_ns)
        looks = seen["memory.available"]
        self.assertGreater(looks, 10)
        for name in ("cpu.steal", "psi.cpu.some", "psi.memory.full", "psi.io.full", "thread.cpu", "thread.wait",
                     "thread.state", "process.user", "process.system", "process.rss", "process.minor_faults",
                     "process.major_faults", "process.read", "process.write"):
            if name in seen or not name.startswith("psi."):
                self.assertGreater(seen[name], 0.8 * looks, name)
        self.assertGreater(seen["thread.switches"], looks / 8)
        for name in ("tree.rss", "tree.cpu", "tree.processes", "disk.read", "net.sent", "cgroup.cpu_limit",
                     "self.cpu"):
            self.assertLess(seen[name], looks / 8 + 3, name)
            if name in ("tree.rss", "self.cpu"):
                self.assertGreaterEqual(seen[name], (looks - 1) // 10)  # the last: no process is there any more

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

    def test_a_process_of_another_namespace_is_not_taken_for_one_of_ours(self):
        self.need("unshare", "-pf", "true")
        _, report = self.load("2", after=["unshare", "-pf"])
        for counter in report["resources"]["counters"]:
            if counter["counter"].startswith(("process.", "thread.")) and counter["subject"]:
                self.assertNotIn(1, (counter["subject"], counter["subject"] >> 32), counter)

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
        self.assertIn("not measurable here", stamp["steal"]["text"])

    def test_what_may_not_be_read_is_denied(self):
        other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.need(*other, PROGRAM, "--version")
        os.chown(self.folder, 65534, 65534)
        said, report = self.load("2", "early", "hide", before=other, is_copied=True)
        self.assertEqual(self.counter(report, "process.read")["state"], "denied")
        self.assertEqual(self.counter(report, "process.rss")["state"], "value")
        self.assert_near(self.counter(report, "tree.cpu")["gained"], said["cpu_ns"], 20e6)

    def test_processes_of_others_are_hidden(self):
        """As on many machines that several people use (hidepid)."""
        hide = ("mount -t proc -o hidepid=2 none /proc; "
                'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"')
        jail = ("unshare", "-m", "/bin/sh", "-ec", hide, "sh")
        self.need(*jail, PROGRAM, "--version")
        os.chown(self.folder, 65534, 65534)
        said, report = self.load("2", "children", "4", "60", before=jail, is_copied=True)
        self.assert_near(self.counter(report, "tree.cpu")["gained"], said["cpu_ns"], 20e6)
        self.assertGreater(self.counter(report, "thread.cpu")["gained"], 0)
        self.assertEqual(self.counter(report, "process.rss")["state"], "value")

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
        run = self.start("--quiet", "--no-pack", "--", "/bin/sh", "-c",
                         "for i in $(seq 60); do sleep 30 & done; wait")
        path = self.sample_file()
        for child in children_of(run.pid):  # one of them writes samples
            resource.prlimit(child, resource.RLIMIT_FSIZE, (2 * SEGMENT, 2 * SEGMENT))
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


class Clocks(SamplesTest):
    """Files of the kernel on the clocks of cores, which virtual machines do not have."""

    CORES, PACKAGES = 130, 2
    PLACE = "/sys/devices/system/cpu"

    def setUp(self):
        super().setUp()
        self.need("unshare", "-m", "mount", "--bind", self.folder, self.PLACE)
        for name in ("possible", "present", "online"):
            self.tell(name, f"0-{self.CORES - 1}")
        for core in range(self.CORES):
            self.tell(f"cpu{core}/cpufreq/scaling_cur_freq", 3000000 + core)
            self.tell(f"cpu{core}/topology/physical_package_id", core * self.PACKAGES // self.CORES)
            self.tell(f"cpu{core}/thermal_throttle/core_throttle_count", core)
            self.tell(f"cpu{core}/thermal_throttle/package_throttle_count", 1000)

    def tell(self, name, value):
        """As the kernel does: a reader finds the old value or the new one."""
        path = self.path("cpu", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(f"{value}\n")
        os.rename(path + ".new", path)

    def readings(self, counter):
        """Values by subject, in their order."""
        found = {}
        for line in map(json.loads, self.stepscope("dump", "--json", LATEST).stdout.splitlines()):
            if line["kind"] == "system" and line["name"] == counter:
                found.setdefault(line["subject"], []).append(line["value"])
        return found

    def start_on(self, cores):
        """A command that may use these, which this machine does not have."""
        self.allow(cores)
        hide = 'mount --bind "$0" %s && exec "$@"' % self.PLACE
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        run = subprocess.Popen(["unshare", "-m", "sh", "-c", hide, self.path("cpu"), PROGRAM, "run",
                                "--quiet", "--", LOAD, "60"], cwd=self.folder,
                               env=environment(LD_PRELOAD=os.path.join(BUILD, "fake_cores.so"),
                                               FAKE_CORES=self.path("cores"), ASAN_OPTIONS=sanitizer),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(run.terminate)
        self.sample_file()
        return run

    def allow(self, cores):
        self.write("cores.new", "".join(f"{core}\n" for core in cores))
        os.rename(self.path("cores.new"), self.path("cores"))

    def heat_all(self, packages, cores):
        for core in range(self.CORES):
            self.tell(f"cpu{core}/thermal_throttle/package_throttle_count", 1000 + packages)
            self.tell(f"cpu{core}/thermal_throttle/core_throttle_count", core + cores)

    def events(self):
        return self.readings("cpu.throttles").get(0, [-1])[-1]

    def test_clocks_of_all_cores_and_heat_of_all_packages(self):
        run = self.start_on(range(self.CORES))
        wait_until(lambda: len(self.readings("cpu.frequency")) == self.CORES, "all cores")
        self.heat_all(1, 0)
        self.tell(f"cpu{self.CORES - 1}/thermal_throttle/core_throttle_count", self.CORES + 4)
        wait_until(lambda: self.events() == 5 + self.PACKAGES, "all events")
        run.terminate()
        run.wait()
        clocks = self.readings("cpu.frequency")
        self.assertEqual({core: set(values) for core, values in clocks.items()},
                         {core: {(3000000 + core) * 1e3} for core in range(self.CORES)})
        events = self.readings("cpu.throttles")[0]
        self.assertEqual((events[0], events[-1]), (0, 5 + self.PACKAGES))
        item = self.stamp(self.report())["heat"]
        self.assertEqual((item["value"], item["level"] in ("note", "warn")), (5 + self.PACKAGES, True))

    def test_clocks_and_heat_of_the_cores_that_it_may_use(self):
        """Also when these become others: what a core counted while it was none of them is not told."""
        self.start_on((1, 3))
        wait_until(lambda: set(self.readings("cpu.frequency")) == {1, 3}, "both cores")
        self.heat_all(1, 10)
        wait_until(lambda: self.events() == 1 + 2 * 10, "events of both, and of their package")
        self.allow((self.CORES - 1,))
        wait_until(lambda: self.CORES - 1 in self.readings("cpu.frequency"), "the other core")
        self.heat_all(2, 15)
        wait_until(lambda: self.events() == 21 + 1 + 5, "its events, and those of its package")
        self.assertEqual(set(self.readings("cpu.frequency")), {1, 3, self.CORES - 1})


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
        """Opening a pipe without a writer does not return."""
        os.mkfifo(self.path("library"))
        _, report = self.load("4", STEPSCOPE_NVML=self.path("library"))
        self.assertEqual(self.counter(report, "gpu.busy")["state"], "absent")
        self.assertGreater(self.counter(report, "memory.available")["mean"], 0)


if __name__ == "__main__":
    unittest.main()
