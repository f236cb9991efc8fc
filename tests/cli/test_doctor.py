"""`stepscope doctor`: whatever this machine is like, each line says ok, warn, bad or "cannot be checked"."""

import contextlib
import json
import os
import re
import subprocess
import sys
import unittest
from importlib.machinery import EXTENSION_SUFFIXES

from support import CHECK_FAILED, FINE, NOBODY, PROGRAM, TESTS, USAGE, CommandTest

PAGE = os.path.join(os.path.dirname(TESTS), "docs", "man", "stepscope-doctor.1.scd")
BUILD = os.environ["STEPSCOPE_BUILD"]
FAKE_NVML = os.path.join(BUILD, "fake_nvml.so")
STATES = ("ok", "warn", "bad", "unknown")
GROUPS = ["time", "cores", "limits", "memory", "counters", "GPU", "Python", "build", "recording", "right now"]
SANITIZED = "asan" in os.path.basename(BUILD.rstrip("/"))


def environment(**variables):
    """Without any Python, which take most of the time."""
    kept = {key: value for key, value in os.environ.items()
            if key not in ("NO_COLOR", "COLUMNS", "STEPSCOPE_DIR")}
    return {**kept, "PATH": "/nowhere", "HOME": "/nowhere", "PYENV_ROOT": "/nowhere", **variables}


def own_cgroup(text, controller):
    """The path of a version 1 controller in /proc/self/cgroup."""
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return path.rstrip("/")
    return None


def with_tmpfs(folder, options):
    """What to put in front of a command that shall find a tmpfs there, unseen by others."""
    words = ["unshare", "--mount", "sh", "-c",
             f'mount -t tmpfs -o {options} none "$0" && exec "$@"', folder]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise unittest.SkipTest("no file system can be mounted here")
    return words


class DoctorTest(CommandTest):
    def doctor(self, *arguments, code=FINE, **variables):
        """The JSON form, by the names of its lines."""
        done = self.check(["doctor", "--json", *arguments], code, stderr="",
                          env=environment(**variables))
        return self.parsed(done.stdout)

    def parsed(self, text):
        found = json.loads(text)
        self.lines = {f"{line['group']}: {line['name']}": line for line in found["checks"]}
        return found


class Json(DoctorTest):
    def test_counts_agree_and_every_line_is_whole(self):
        found = self.doctor()
        self.assertEqual(found["fit"], found["bad"] == 0)
        for state in STATES:
            self.assertEqual(found[state], sum(line["state"] == state for line in found["checks"]))
        for line in found["checks"]:
            self.assertIn(line["state"], STATES)
            self.assertTrue(line["text"])
            self.assertEqual(line["value"] is None, line["unit"] is None)
            if line["state"] in ("warn", "bad"):
                self.assertTrue(line["advice"], line)
        self.assertEqual(list(dict.fromkeys(line["group"] for line in found["checks"])), GROUPS)

    def test_every_key_is_in_the_manual(self):
        with open(PAGE, encoding="utf-8") as file:
            page = re.sub(r"\*", "", file.read().partition("# JSON\n")[2].partition("\n# ")[0])
        found = self.doctor(PATH=os.environ["PATH"])
        for key in found:
            self.assertRegex(page, rf"(?m)^- .*\b{key}\b")
        for key in [*found["checks"][0], *(found["pythons"][0] if found["pythons"] else ())]:
            self.assertRegex(page, rf"\b{key}\b")
        for line in found["checks"]:
            self.assertRegex(page, rf"\b{line['unit'] or 'null'}\b")

    def test_what_it_says_of_memory_is_what_the_kernel_says(self):
        self.doctor()
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
        available = self.lines["memory: available"]["value"]
        self.assertLess(abs(available - fields["MemAvailable"]), fields["MemTotal"] / 2)
        self.assertLess(available, fields["MemTotal"])
        self.assertEqual(self.lines["cores: cores"]["value"], len(os.sched_getaffinity(0)))

    def test_fewer_cores_are_seen(self):
        core = min(os.sched_getaffinity(0))
        done = self.check(["doctor", "--json"], FINE, env=environment(),
                          preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        self.parsed(done.stdout)
        self.assertEqual(self.lines["cores: cores"]["value"], 1)
        self.assertEqual(self.lines["cores: cores"]["state"], "warn")
        self.assertRegex(self.lines["right now: other work"]["text"], " of 1 core busy$")

    def test_one_cause_is_one_warning(self):
        """Another program has the only core that may be used: the gaps are due to that, not to the clock."""
        core = {min(os.sched_getaffinity(0))}
        for _ in range(3):
            hog = subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                   preexec_fn=lambda: os.sched_setaffinity(0, core))
            self.addCleanup(hog.wait)
            self.addCleanup(hog.kill)
        done = self.check(["doctor", "--json"], FINE, env=environment(),
                          preexec_fn=lambda: os.sched_setaffinity(0, core))
        self.parsed(done.stdout)
        gaps = self.lines["right now: gaps"]
        self.assertGreater(gaps["value"], 1e6)
        self.assertEqual((self.lines["right now: other work"]["state"], gaps["state"]), ("warn", "ok"))
        self.assertRegex(gaps["text"], r": due to other work( and steal)?$")

    def test_the_clock_and_a_span_cost_something(self):
        self.doctor()
        read, span = self.lines["time: reads"]["value"], self.lines["recording: a span"]["value"]
        self.assertGreater(read, 0)
        self.assertGreater(span, 0)
        self.assertEqual(self.lines["time: reads"]["state"], "warn" if read > 100 else "ok")


class Governor(DoctorTest):
    """Files of the kernel that virtual machines do not have."""

    PLACE = "/sys/devices/system/cpu"

    def governed_by(self, word):
        """The line on a machine whose cores are governed so."""
        folder = self.path("cpu-" + word)
        for core in os.sched_getaffinity(0):
            place = f"{folder}/cpu{core}/cpufreq"
            os.makedirs(place)
            for name, text in (("scaling_governor", word), ("scaling_cur_freq", "2400000"),
                               ("cpuinfo_max_freq", "3600000")):
                with open(f"{place}/{name}", "w", encoding="ascii") as file:
                    file.write(text + "\n")
        command = ["unshare", "--mount", "sh", "-c", f'mount --bind "$0" {self.PLACE} && exec "$@"',
                   folder]
        if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no mount can be made here")
        done = subprocess.run([*command, PROGRAM, "doctor", "--json"], stdout=subprocess.PIPE,
                              env=environment(PATH=os.environ["PATH"]), check=False, text=True)
        self.parsed(done.stdout)
        return self.lines["cores: governor"]

    def test_a_clock_that_follows_the_load_is_a_warning(self):
        line = self.governed_by("powersave")
        self.assertEqual((line["state"], line["value"]), ("warn", 2.4e9))
        self.assertRegex(line["text"], r"powersave, core \d+ at 2\.40 of 3\.60 GHz")
        self.assertIn("performance", line["advice"])

    def test_one_that_does_not_is_fine(self):
        line = self.governed_by("performance")
        self.assertEqual((line["state"], line["advice"]), ("ok", None))


class Kernel(DoctorTest):
    """Files of the kernel with other texts in them: machines that this one is not."""

    CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

    def on_a_machine(self, texts, code):
        """The doctor where these files have these texts; None: there is no such file."""
        mounts = []
        for number, (place, text) in enumerate(texts.items()):
            own = self.path("file-%d" % number)
            with open(own, "w", encoding="ascii") as file:
                file.write(text or "")
            mounts.append(f"mount --bind {own} {place}" if text else f"mount -t tmpfs none {place}")
        jail = ["unshare", "--mount", "sh", "-c", " && ".join(mounts) + ' && PATH=/nowhere exec "$@"',
                "sh"]
        if subprocess.run([*jail, "/bin/true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no mount can be made here")
        done = subprocess.run([*jail, PROGRAM, "doctor", "--json"], stdout=subprocess.PIPE, check=False,
                              env=environment(PATH=os.environ["PATH"]), cwd=self.folder, text=True)
        self.assertEqual(done.returncode, code)
        return self.parsed(done.stdout)

    @staticmethod
    def memory(available_kb):
        return (f"MemTotal: 8000000 kB\nMemAvailable: {available_kb} kB\n"
                "SwapTotal: 2000000 kB\nSwapFree: 1500000 kB\n")

    def test_a_coarse_clock_little_memory_and_a_kernel_that_tells_little(self):
        self.on_a_machine({self.CLOCK: "hpet\n", "/proc/meminfo": self.memory(500000), "/proc/pressure": None,
                           "/proc/vmstat": "nothing\n"}, FINE)
        states = {name: line["state"] for name, line in self.lines.items()}
        for name, state in {"time: source": "warn", "memory: available": "warn", "memory: swap": "ok",
                            "counters: pressure": "unknown", "right now: swapping": "unknown"}.items():
            self.assertEqual(states[name], state, self.lines[name])
        self.assertEqual(self.lines["memory: swap"]["value"], 500000 * 1024)
        self.assertIn("psi=1", self.lines["counters: pressure"]["advice"])

    def test_hardly_any_memory_is_bad(self):
        found = self.on_a_machine({"/proc/meminfo": self.memory(100000)}, CHECK_FAILED)
        self.assertEqual((found["fit"], self.lines["memory: available"]["state"]), (False, "bad"))


class Text(DoctorTest):
    def text(self, *arguments, code=FINE, **variables):
        return self.check(["doctor", *arguments], code, stderr="",
                          env=environment(**variables)).stdout

    def test_fits_80_columns_and_says_the_answer_first(self):
        for columns in ("80", "60"):
            text = self.text(COLUMNS=columns)
            lines = text.splitlines()
            self.assertRegex(lines[0], r"^This machine is fit to measure(, with \d+ warnings?)?\.$")
            self.assertLessEqual(max(map(len, lines)), int(columns))
            self.assertEqual([line.split("  ")[0] for line in lines[2:] if line[0] != " "], GROUPS)
            self.assertNotIn("\033", text)

    def test_every_warning_says_what_to_do(self):
        text = self.text()
        self.assertEqual(len(re.findall(r"^.{11}(?:warn|bad) ", text, re.MULTILINE)),
                         sum(map(int, re.findall(r"(\d+) (?:warning|bad)", text.splitlines()[0]))))

    def test_colour_is_for_terminals_without_no_color(self):
        def on_a_terminal(**variables):
            ours, theirs = os.openpty()
            process = subprocess.Popen([PROGRAM, "doctor"], stdout=theirs, cwd=self.folder,
                                       env=environment(TERM="xterm", **variables))
            os.close(theirs)
            text = b""
            with contextlib.suppress(OSError):
                while piece := os.read(ours, 65536):
                    text += piece
            os.close(ours)
            self.assertEqual(process.wait(), FINE)
            return text
        self.assertIn(b"\033[32mok\033[0m", on_a_terminal())
        self.assertNotIn(b"\033", on_a_terminal(NO_COLOR="1"))

    def test_nothing_is_left_behind(self):
        self.text()
        self.assertEqual(os.listdir(self.folder), [])
        os.mkdir(self.path("runs"))
        self.text("--dir", "runs")
        self.assertEqual(os.listdir(self.path("runs")), [])


class Usage(DoctorTest):
    def test_bad_options(self):
        for arguments, wrong in ((["--jsno"], "--jsno"), (["--dir"], "--dir"), (["--dir="], "--dir"),
                                 (["now"], "now")):
            done = self.check(["doctor", *arguments], USAGE, stdout="")
            self.assertIn(wrong, done.stderr)

    def test_help(self):
        self.assertIn("--json", self.check(["doctor", "--help"], FINE, stderr="").stdout)


class Place(DoctorTest):
    """The place where runs go decides whether there will be one."""

    def assert_bad(self, text, wanted):
        found = self.parsed(text)
        self.assertFalse(found["fit"])
        self.assertEqual(self.lines["recording: writing"]["state"], "bad")
        self.assertIn(wanted, self.lines["recording: writing"]["text"])
        self.assertEqual(self.lines["recording: a span"]["state"], "unknown")

    def test_a_directory_that_does_not_exist_yet_is_fine(self):
        self.doctor("--dir", "a/b/c")
        self.assertEqual(self.lines["recording: writing"]["state"], "ok")
        self.doctor(STEPSCOPE_DIR="from/environment")
        self.assertIn("from/environment", self.lines["recording: writing"]["text"])

    def test_a_file_in_its_place_is_bad(self):
        with open(self.path("file"), "wb"):
            pass
        for place in ("file", "file/below"):
            done = self.check(["doctor", "--json", "--dir", place], CHECK_FAILED, env=environment())
            self.assert_bad(done.stdout, "Not a directory")

    def test_a_directory_of_somebody_else_is_bad(self):
        if os.geteuid() != 0:
            self.skipTest("only root can change its user")
        os.mkdir(self.path("closed"), 0o755)
        done = self.check(["doctor", "--json", "--dir", "closed"], CHECK_FAILED, env=environment(),
                          user=NOBODY, group=NOBODY)
        self.assert_bad(done.stdout, "Permission denied")

    def on(self, options):
        os.mkdir(self.path("disk"))
        front = with_tmpfs(self.path("disk"), options)
        return subprocess.run([*front, PROGRAM, "doctor", "--json", "--dir", self.path("disk")],
                              stdout=subprocess.PIPE, check=False, text=True,
                              env=environment(PATH="/bin:/usr/bin:/sbin:/usr/sbin"))

    def test_a_disk_without_room_is_bad(self):
        done = self.on("size=64k")
        self.assert_bad(done.stdout, "No space left")
        self.assertEqual(done.returncode, CHECK_FAILED)

    def test_a_disk_that_is_read_only_is_bad(self):
        done = self.on("ro")
        self.assert_bad(done.stdout, "Read-only file system")
        self.assertEqual(done.returncode, CHECK_FAILED)

    def test_a_small_disk_is_a_warning(self):
        done = self.on("size=64m")
        self.parsed(done.stdout)
        self.assertEqual(self.lines["recording: space"]["state"], "warn")
        self.assertEqual(self.lines["recording: files"]["text"], "tmpfs: runs use memory")
        self.assertEqual(self.lines["recording: writing"]["state"], "ok")
        self.assertEqual(done.returncode, FINE)

    def test_a_network_file_system_is_a_warning(self):
        self.doctor("--dir", self.folder, STEPSCOPE_TEST_NETWORK=os.path.realpath(self.folder))
        self.assertEqual(self.lines["recording: files"]["state"], "warn")
        self.assertEqual(self.lines["recording: a span"]["unit"], "ns")
        self.assertEqual(os.listdir(self.folder), [])


class Cgroup(DoctorTest):
    """A limit of version 1 or 2, where one can be made."""

    def make(self, folder, **files):
        """A cgroup with these files in it, `__` for the point in a name."""
        try:
            os.mkdir(folder)
        except OSError as error:
            self.skipTest(f"no cgroup can be made here: {error}")
        self.addCleanup(os.rmdir, folder)
        for name, text in files.items():
            with open(os.path.join(folder, name.replace("__", ".")), "w", encoding="ascii") as file:
                file.write(text)
        return folder

    def doctor_in(self, folder):
        def enter():
            with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write("0")
        done = self.check(["doctor", "--json"], FINE, env=environment(), preexec_fn=enter)
        return self.parsed(done.stdout)

    def make_with_cpu(self, percent):
        """A cgroup with this much of a core, below the one that this process is in."""
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            own = own_cgroup(file.read(), "cpu")
        name, quota = f"stepscope-doctor-{os.getpid()}", str(percent * 1000)
        for mount in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"):
            if os.path.exists(f"{mount}/cpu.cfs_quota_us"):
                return self.make(f"{mount}{own}/{name}", cpu__cfs_period_us="100000",
                                 cpu__cfs_quota_us=quota)
        if not os.path.exists("/sys/fs/cgroup/cgroup.subtree_control"):
            self.skipTest("there is no cgroup that limits CPU time")
        return self.make(f"/sys/fs/cgroup/{name}", cpu__max=f"{quota} 100000")

    def test_a_cpu_limit_is_seen(self):
        self.doctor_in(self.make_with_cpu(70))
        line = self.lines["limits: CPU"]
        self.assertEqual((line["state"], line["unit"]), ("warn", "cores"))
        self.assertAlmostEqual(line["value"], 0.7)

    def test_of_several_levels_the_tightest_counts(self):
        outer = self.make_with_cpu(80)
        self.doctor_in(self.make(outer + "/without"))
        self.assertAlmostEqual(self.lines["limits: CPU"]["value"], 0.8)
        if os.path.exists(outer + "/cpu.cfs_quota_us"):
            inner = self.make(outer + "/inner", cpu__cfs_quota_us="60000")
            self.doctor_in(inner)
            self.assertAlmostEqual(self.lines["limits: CPU"]["value"], 0.6)

    def test_a_memory_limit_is_seen(self):
        if not os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"):
            self.skipTest("there is no memory cgroup of version 1")
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            own = own_cgroup(file.read(), "memory")
        if SANITIZED:
            self.skipTest("sanitizers take more memory than that")
        self.doctor_in(self.make(f"/sys/fs/cgroup/memory{own}/stepscope-doctor-{os.getpid()}",
                                 memory__limit_in_bytes=str(512 << 20)))
        line = self.lines["limits: memory"]
        self.assertEqual((line["state"], line["value"]), ("warn", 512 << 20))


class Gpus(DoctorTest):
    def gpu(self, script=None, library=FAKE_NVML):
        if not os.path.exists(FAKE_NVML):
            self.skipTest("fake_nvml.so is not built")
        with open(self.path("script"), "w", encoding="ascii") as file:
            file.write(script or "")
        self.doctor(STEPSCOPE_NVML=library, FAKE_NVML=self.path("script"))
        return self.lines["GPU: NVML"]

    def test_without_nvml_it_is_not_observable(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a GPU here")
        line = self.gpu(library="/nowhere/libnvidia-ml.so.1")
        self.assertEqual(line["state"], "unknown")
        self.assertIn("not measurable here", line["text"])

    def test_gpus_are_counted_and_named(self):
        line = self.gpu("count.0 2\nutilization.0 1\n")
        self.assertEqual((line["state"], line["value"]), ("ok", 2))
        self.assertIn("Fake GPU 0", line["text"])

    def test_nvml_that_fails_or_hangs_is_a_warning(self):
        self.assertIn("error 9", self.gpu("error.init.0 9\n")["text"])
        self.assertEqual(self.gpu("hang.init.0 1\n")["text"], "NVML does not answer")
        self.assertEqual(self.gpu("hang.init.0 1\n")["state"], "warn")


class Pythons(DoctorTest):
    def fake_python(self, folder, name, script):
        os.makedirs(self.path(folder), exist_ok=True)
        path = self.path(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)
        return path

    def pythons(self, **variables):
        return self.doctor(**variables)["pythons"]

    def answer(self, text):
        path = self.fake_python("bin", "python3", f"echo '{text}'")
        return path, self.pythons(PATH=os.path.dirname(path))[0]

    def test_the_python_of_this_test_fits_if_there_is_an_extension_for_it(self):
        real = os.path.realpath(sys.executable)
        os.symlink(real, self.path("python3"))
        found, = self.pythons(PATH=self.folder)
        self.assertEqual(found["path"], real)
        self.assertEqual(found["version"], ".".join(map(str, sys.version_info[:3])))
        self.assertTrue(found["first"])
        package = os.path.join(BUILD, "python", "stepscope")
        fits = any(os.path.exists(f"{package}/_core{suffix}") for suffix in EXTENSION_SUFFIXES)
        self.assertEqual((found["fits"], self.lines["Python: python3"]["state"]),
                         (fits, "ok" if fits else "warn"))
        self.assertEqual(self.lines["Python: package"]["state"],
                         "ok" if os.path.isdir(package + "/_boot") else "warn")

    def test_pythons_that_cannot_be_hooked_say_why(self):
        for text, why in (("cpython 3.9.1 0 0 /x/python3.9", "older than 3.10"),
                          ("cpython 3.16.0 0 0 /x/python3.16", "no stepscope extension"),
                          ("pypy 3.10.1 0 0 /x/pypy3", "not CPython"),
                          ("cpython 3.12.0 0 0 /x/python3.12", "no stepscope extension"),
                          ("gibberish", "does not start")):
            path, python = self.answer(text)
            self.assertEqual((python["fits"], python["why"]), (False, why))
            self.assertEqual(self.lines["Python: python3"]["state"], "warn")
            os.unlink(path)
        path, python = self.answer("cpython 3.12.0 1 0 /x/python3.12")
        self.assertTrue(python["fits"])
        os.unlink(path)

    def test_a_python_without_the_gil_is_hooked_like_others(self):
        _, python = self.answer("cpython 3.14.7 1 1 /x/python3.14t")
        self.assertTrue(python["fits"])
        self.assertEqual((self.lines["Python: python3"]["state"], self.lines["Python: python3"]["text"]),
                         ("ok", "3.14.7t, hooks available"))

    def test_a_python_newer_than_this_version_is_hooked_but_its_stacks_are_not_known(self):
        _, python = self.answer("cpython 3.16.0 1 0 /x/python3.16")
        self.assertTrue(python["fits"])
        self.assertEqual((self.lines["Python: python3"]["state"], self.lines["Python: python3"]["text"]),
                         ("warn", "3.16.0, hooks available, but no stack samples for this version"))

    def test_a_python_that_hangs_is_left_alone(self):
        path = self.fake_python("bin", "python3", "exec sleep 1000")
        found, = self.pythons(PATH=f"{os.path.dirname(path)}:/bin:/usr/bin")[:1]
        self.assertEqual((found["path"], found["why"]), (path, "does not start"))

    def test_other_names_and_shims_do_not_count(self):
        os.mkdir(self.path("bin"))
        os.symlink(os.path.realpath(sys.executable), self.path("bin", "python3.11-config"))
        self.fake_python("bin", "python3.12", "echo 'cpython 3.12.0 1 0 /x/python3.12'")
        self.assertEqual(self.pythons(PATH=self.path("bin")), [])
        self.assertEqual(self.lines["Python: python3"]["text"], "none on PATH")


if __name__ == "__main__":
    unittest.main()
