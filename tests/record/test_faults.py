"""Whatever happens to the recording: the program prints and returns the same, and what was lost is
counted. Each test runs tests/helpers/fault_writer.c twice, without recording and with it in trouble.
"""

import os
import resource
import shutil
import subprocess
import tempfile
import time
import unittest

import places
import recording
from recording import FolderTest, mounted

EXIT_CODE = 7
MB = 1 << 20
STAGES = ("data", "forward", "backward")
NOBODY = 65534
SOMEBODY = 54321  # a user who has no process but ours
BLOCK = 190  # spans that the block of a lane holds, after the record of its thread


def own_output(text):
    return [line for line in text.splitlines() if not line.startswith("status: ")]


def runs(numbers):
    """[0, 1, 2, 7, 8] as [(0, 2), (7, 8)]."""
    found = []
    for n in numbers:
        if found and n == found[-1][1] + 1:
            found[-1] = (found[-1][0], n)
        else:
            found.append((n, n))
    return found


class Writer:
    """The program at work."""

    def __init__(self, script, folder, env, **options):
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # that needs files
        command = [*options.pop("below", ()),
                   options.pop("program", recording.program("fault_writer")), *script]
        self.process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        encoding="utf-8", **options)
        self.printed = ""

    def until_it_waits(self):
        for line in self.process.stdout:
            self.printed += line
            if line == "waiting\n":
                return
        raise AssertionError(f"ended before it waited: {self.process.stderr.read()}")

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self):
        """Its exit code, output and errors; it is not to wait any more."""
        out, errors = self.process.communicate(timeout=recording.PATIENCE_S)
        self.printed += out
        return self.process.returncode, own_output(self.printed), errors

    def status(self):
        """What ss_status() said last."""
        return [line for line in self.printed.splitlines() if line.startswith("status: ")][-1][8:]

    def spans(self):
        """How many it made."""
        words = [line.removeprefix("status: ").split() for line in self.printed.splitlines()]
        return sum(int(w[0]) for w in words if len(w) == 2 and w[1] == "spans")


class FaultTest(FolderTest):
    undisturbed = {}  # what each script does without recording

    def start(self, *script, run=None, **options):
        env = recording.environment(run or self.run, **options.pop("env", {}))
        return Writer(script, self.folder, env, **options)

    def check_output(self, writer, script):
        """Ends the writer, which must have done the same as one that does not record."""
        got = writer.finish()
        if script not in self.undisturbed:
            os.mkdir(self.path("elsewhere"))
            alone = Writer(script, self.path("elsewhere"), recording.environment())
            for word in script:
                if word == "wait" or word.endswith("until_line"):
                    alone.go_on()
            self.undisturbed[script] = alone.finish()
            shutil.rmtree(self.path("elsewhere"))
        self.assertEqual(got, self.undisturbed[script])
        self.assertEqual(got[0], EXIT_CODE)

    def write(self, *script, run=None, env=None, **options):
        """Runs a script that waits for nothing."""
        writer = self.start(*script, run=run, env=env or {}, **options)
        self.check_output(writer, script)
        return writer

    def account(self, spans, run=None, threads=1):
        """Each span is in the file or counted as lost, by stage. Returns what was lost."""
        read, lost = recording.stages(run or self.run)
        for place, stage in enumerate(STAGES):
            made = (spans // threads - place + 2) // 3 * threads
            self.assertEqual(read.get(stage, 0) + lost.get(stage, 0), made, stage)
        return sum(lost.values())

    def check_spans(self, run=None):
        """None is invented, none is there twice. Returns their numbers, as runs."""
        spans = recording.records(run or self.run, "span")
        numbers = [span["arg"] for span in spans]
        self.assertEqual(runs(numbers), runs(sorted(set(numbers))))
        self.assertTrue(all(span["stage"] == STAGES[span["arg"] % 3] for span in spans))
        return runs(numbers)

    def assert_head(self, found, count):
        self.assertEqual(found[0][0], 0, found)
        self.assertGreaterEqual(found[0][1], count - 1, found)

    def assert_tail(self, found, count, last):
        self.assertEqual(found[-1][1], last, found)
        self.assertLessEqual(found[-1][0], last - count + 1, found)

    def off_or_accounted(self, writer, spans, why):
        """There is no file and a reason, or there is one and all is counted in it."""
        if recording.files(self.run):
            lost = self.account(spans)
            self.assertIn(writer.status(), {f"recording with losses: {why}"} if lost else
                          {f"recording with losses: {why}",
                           f"recording to {recording.files(self.run)[0]}"})
        else:
            self.assertEqual(writer.status(), f"off: {why}")


class Disks(FaultTest):
    NO_SPACE = "no space left on the device"

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(recording.own_mounts())

    def check_full(self, disk, spans, head):
        run = os.path.join(disk, "run")
        writer = self.write(f"paced:{spans}", "status", run=run)
        self.assertEqual(writer.status(), f"recording with losses: {self.NO_SPACE}")
        self.assertGreater(self.account(spans, run), 0)
        found = self.check_spans(run)
        self.assert_head(found, head)
        self.assertEqual(recording.info(run)["processes"][0]["error"], self.NO_SPACE)
        return found

    def test_a_small_disk_in_memory(self):
        for size, spans, head in (("256k", 40000, BLOCK), ("1m", 60000, 3000),
                                  ("4m", 160000, 16000)):
            with self.subTest(size=size), \
                    mounted(self.path("disk"), "-t", "tmpfs", "-o", f"size={size}", "none") as disk:
                found = self.check_full(disk, spans, head)
                if head > BLOCK:
                    self.assert_tail(found, head, spans - 1)

    def test_a_small_disk_with_a_journal(self):
        disk = self.enterContext(recording.image("ext4", self.path("image"), 8 * MB))
        room = os.statvfs(disk)
        with open(os.path.join(disk, "filler"), "wb") as file:
            file.write(bytes(room.f_bavail * room.f_bsize - 2 * MB))
        self.check_full(disk, 100000, 8000)

    def test_no_space_at_all(self):
        with mounted(self.path("disk"), "-t", "tmpfs", "-o", "size=128k", "none") as disk:
            with open(os.path.join(disk, "filler"), "wb") as file:
                file.write(bytes(64 * 1024))
            writer = self.write("spans:1000", "status", run=os.path.join(disk, "run"))
            self.assertEqual(writer.status(), f"off: {self.NO_SPACE}")
            self.assert_no_file(os.path.join(disk, "run"))

    def test_recording_goes_on_when_there_is_space_again(self):
        script = ("paced:20000", "wait", "paced:60000", "until_line", "paced:20000", "status")
        with mounted(self.path("disk"), "-t", "tmpfs", "-o", "size=8m", "none") as disk:
            run, filler = os.path.join(disk, "run"), os.path.join(disk, "filler")
            writer = self.start(*script, run=run)
            writer.until_it_waits()
            with open(filler, "wb", buffering=0) as file, self.assertRaises(OSError):
                while True:
                    file.write(bytes(4096))
            before = os.path.getsize(recording.files(run)[0])
            writer.go_on()
            self.wait_for(lambda: recording.info(run)["lost"]["reused"] > 0)
            self.assertEqual(os.path.getsize(recording.files(run)[0]), before)
            os.remove(filler)
            self.wait_for(lambda: os.path.getsize(recording.files(run)[0]) > before)
            writer.go_on()
            self.check_output(writer, script)
            self.assertGreater(self.account(writer.spans(), run), 0)
            self.assert_tail(self.check_spans(run), 20000, writer.spans() - 1)

    def wait_for(self, condition):
        end = time.monotonic() + recording.PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), end, "nothing happens")
            time.sleep(0.01)

    def test_a_read_only_disk(self):
        os.mkdir(self.path("run"))
        with mounted(self.path("run"), "--bind", self.path("run")):
            subprocess.run(["mount", "-o", "remount,bind,ro", self.path("run")], check=True)
            writer = self.write("spans:1000", "status")
            self.assertEqual(writer.status(), "off: permission denied")
            self.assert_no_file()


class Limits(FaultTest):
    LIMIT = "a resource limit of the process is reached"

    def test_size_of_files(self):
        for size in (0, 1, 100, 65535, 65536, 300000, MB):
            with self.subTest(size=size):
                shutil.rmtree(self.run, ignore_errors=True)
                writer = self.write(
                    "paced:50000", "status",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
                self.off_or_accounted(writer, 50000, self.LIMIT)
                self.assertIn(self.LIMIT, writer.status())
                self.assertEqual(bool(recording.files(self.run)), size >= 65536)

    def test_no_descriptor_is_left(self):
        for free in range(4):
            with self.subTest(free=free):
                shutil.rmtree(self.run, ignore_errors=True)
                writer = self.write(f"use_fds:{free}", "spans:1000", "status")
                self.off_or_accounted(writer, 1000, self.LIMIT)
                self.assertEqual(bool(recording.files(self.run)), free > 0)

    def test_address_space(self):
        if recording.is_sanitized():
            self.skipTest("a sanitizer needs all of the address space")
        seen = set()
        for kilobytes in (0, 40, 200, 400, 800, 1600, 3200, 100000):
            with self.subTest(kilobytes=kilobytes):
                shutil.rmtree(self.run, ignore_errors=True)
                writer = self.write(f"limit_memory:{kilobytes}", "paced:50000", "status")
                seen.add(writer.status().partition(" /")[0])
                if recording.files(self.run):
                    self.account(50000)
                else:
                    self.assertEqual(writer.status(), "off: out of memory")
        self.assertLess({"off: out of memory", "recording to"}, seen)

    def test_no_thread_can_be_made(self):
        other_user = self.as_user(SOMEBODY, "fault_writer")
        os.mkdir(self.run)
        os.chown(self.run, SOMEBODY, SOMEBODY)
        writer = self.write(
            "spans:200000", "status", **other_user,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)))
        self.assertEqual(writer.status(),
                         "recording with losses: the helper thread cannot be started")
        self.assertGreater(self.account(200000), 0)
        self.assert_head(self.check_spans(), 1000)

    def test_a_memory_group_of_256_mb(self):
        if places.file_system(self.folder) == "tmpfs":
            self.skipTest("the only place to write to is memory itself")
        spans = 13500000
        with MemoryGroup(256 * MB) as group:
            writer = self.start(f"fast:{spans}", preexec_fn=group.join)
            self.assertEqual(writer.finish(), (EXIT_CODE, [f"{spans} spans"], ""))
            self.assertEqual(group.killed(), 0)
            self.assertLess(group.most_used(), 128 * MB)
        self.account(spans)
        self.assertGreater(os.path.getsize(recording.files(self.run)[0]), 400 * MB)

    def test_a_run_in_the_memory_of_a_small_group(self):
        """Files on tmpfs are memory: the cap is then a share of what the group may have."""
        spans = 4000000
        with MemoryGroup(64 * MB) as group, tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            run = os.path.join(folder, "run")
            writer = self.start(f"fast:{spans}", run=run, preexec_fn=group.join)
            self.assertEqual(writer.finish(), (EXIT_CODE, [f"{spans} spans"], ""))
            self.assertEqual(group.killed(), 0)
            self.account(spans, run)
            self.assertLessEqual(os.path.getsize(recording.files(run)[0]), 4 * MB)
            self.assertGreater(recording.info(run)["lost"]["reused"], 0)


class MemoryGroup:
    """A cgroup with a limit on its memory, of the first or second version."""

    PLACES = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes",
               "memory.oom_control"),
              ("/sys/fs/cgroup", "memory.max", "memory.peak", "memory.events"))

    def __init__(self, limit):
        for root, limit_file, self.peak_file, self.kill_file in self.PLACES:
            self.path = os.path.join(root, f"stepscope-test-{os.getpid()}")
            try:
                os.mkdir(self.path)
                self.write(limit_file, limit)
                return
            except OSError as error:
                why = error
                if os.path.isdir(self.path):
                    os.rmdir(self.path)
        raise unittest.SkipTest(f"no memory cgroup can be made: {why}")

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="ascii") as file:
            return file.read()

    def join(self):
        """For a child, before exec."""
        self.write("cgroup.procs", os.getpid())

    def most_used(self):
        return int(self.read(self.peak_file))

    def killed(self):
        rows = dict(line.split() for line in self.read(self.kill_file).splitlines())
        return int(rows["oom_kill"])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.rmdir(self.path)


class Directories(FaultTest):
    NO_DIRECTORY = "the run directory cannot be made"

    def test_one_that_others_own(self):
        other_user = self.as_user(NOBODY, "fault_writer")
        os.mkdir(self.run)
        for mode, why in ((0o755, "permission denied"), (0o700, self.NO_DIRECTORY)):
            os.chmod(self.run, mode)
            writer = self.write("spans:1000", "status", **other_user)
            self.assertEqual(writer.status(), f"off: {why}")
            self.assert_no_file()
        writer = self.write("spans:1000", "status", run=self.path("new"), **other_user)
        self.assertEqual(writer.status(), f"off: {self.NO_DIRECTORY}")

    def test_a_file_is_in_its_place(self):
        self.write_file("run", b"mine")
        writer = self.write("spans:1000", "status")
        self.assertEqual(writer.status(), f"off: {self.NO_DIRECTORY}")
        with open(self.run, "rb") as file:
            self.assertEqual(file.read(), b"mine")
        writer = self.write("spans:1000", "status", run=self.path("run", "below", "it"))
        self.assertEqual(writer.status(), f"off: {self.NO_DIRECTORY}")

    def long_path(self, letter, length):
        path = self.folder
        while len(path) < length - 200:
            path = os.path.join(path, letter * 99)
        return os.path.join(path, "y" * (length - len(path) - 1))

    def test_a_long_path(self):
        run = self.long_path("x", 3700)
        writer = self.write("spans:1000", "status", "child:1000", run=run)
        self.assertTrue(writer.status().startswith(f"recording to {run}/p-"))
        read, lost = recording.stages(run)
        self.assertEqual((sum(read.values()), lost), (2000, {}))
        for length in (3799, 3800, 3990, 4096, 5000, 100000):
            writer = self.write("spans:1000", "status", run=self.long_path("z", length))
            self.assertEqual(writer.status(), f"off: {self.NO_DIRECTORY}", length)
            self.assertFalse(os.path.exists(self.path("z" * 99)), "nothing half is made")
        writer = self.write("spans:1000", "status", run=self.path("z" * 256))
        self.assertEqual(writer.status(), f"off: {self.NO_DIRECTORY}")

    def delete_while_recording(self, delete):
        script = ("paced:10000", "wait", "until_loss", "wait", "paced:100000", "status")
        writer = self.start(*script)
        writer.until_it_waits()
        with open(recording.files(self.run)[0], "rb") as kept:
            delete()
            writer.go_on()
            writer.until_it_waits()
            size = os.fstat(kept.fileno()).st_size
            writer.go_on()
            self.check_output(writer, script)
            self.assertEqual(writer.status(), "recording with losses: its file was deleted")
            self.assertLessEqual(os.fstat(kept.fileno()).st_size, size, "it grows no more")
        self.assert_no_file()

    def test_deleted_while_recording(self):
        self.delete_while_recording(lambda: shutil.rmtree(self.run))
        self.assertFalse(os.path.exists(self.run))

    def test_its_file_deleted_while_recording(self):
        self.delete_while_recording(lambda: os.remove(recording.files(self.run)[0]))
        self.assertEqual(sorted(os.listdir(self.run)), [".gitignore", "manifest"])

    def test_a_child_finds_it_deleted_and_makes_it_again(self):
        script = ("spans:999", "wait", "child:500")
        writer = self.start(*script)
        writer.until_it_waits()
        shutil.rmtree(self.run)
        writer.go_on()
        self.check_output(writer, script)
        self.account(500)

    def test_a_child_may_not_write_to_it_any_more(self):
        script = ("spans:1000", "wait", "child:500")
        other_user = self.as_user(NOBODY, "fault_writer")
        os.mkdir(self.run)
        os.chown(self.run, NOBODY, NOBODY)
        writer = self.start(*script, **other_user)
        writer.until_it_waits()
        os.chmod(self.run, 0o500)
        writer.go_on()
        self.check_output(writer, script)
        self.assertEqual(writer.status(), "off: permission denied")
        self.assertEqual(self.account(1000), 0)


class Descriptors(FaultTest):
    def check_own_files(self, count):
        for i in range(count):
            with open(self.path(f"own-{i}"), encoding="ascii") as file:
                self.assertEqual(file.read(), f"own-{i}")

    def test_the_program_closes_all_and_opens_its_own(self):
        for files in (0, 200):
            with self.subTest(files=files):
                shutil.rmtree(self.run, ignore_errors=True)
                writer = self.write("paced:5000", "close_fds", f"own_files:{files}",
                                    "paced:65000", "status")
                self.check_own_files(files)
                self.assertEqual(self.account(70000), 0)
                self.assertEqual(writer.status(), f"recording to {recording.files(self.run)[0]}")
                self.assertEqual(self.check_spans(), [(0, 69999)])

    def test_and_the_file_is_deleted_before(self):
        script = ("paced:5000", "wait", "close_fds", "own_files:200", "paced:100000", "status",
                  "stop")
        writer = self.start(*script)
        writer.until_it_waits()
        os.remove(recording.files(self.run)[0])
        writer.go_on()
        self.check_output(writer, script)
        self.check_own_files(200)
        self.assertEqual(writer.status(),
                         "recording with losses: the file descriptor was closed by the program")
        self.assert_no_file()


class Cap(FaultTest):
    def test_head_and_newest_part_stay(self):
        for cap, size, spans in (("128K", MB // 8, 20000), ("1M", MB, 60000),
                                 ("4M", 4 * MB, 160000)):
            with self.subTest(cap=cap):
                shutil.rmtree(self.run, ignore_errors=True)
                writer = self.write(f"paced:{spans}", "status", env={"STEPSCOPE_CAP": cap})
                self.assertTrue(writer.status().startswith("recording to "))
                self.assertLessEqual(os.path.getsize(recording.files(self.run)[0]), size)
                self.assertGreater(self.account(spans), 0)
                found = self.check_spans()
                self.assert_head(found, BLOCK)
                if size >= MB:  # an eighth at least for each end
                    self.assert_head(found, size // 32 // 8)
                    self.assert_tail(found, size // 32 // 8, spans - 1)

    def test_threads_share_it(self):
        self.write("threads:200000", "status", env={"STEPSCOPE_CAP": "4M"})
        self.assertGreater(self.account(600000, threads=3), 0)

    def test_what_is_no_size_is_not_looked_at(self):
        for text in ("", "x", "-1", "1X", "12345678901234567890123"):
            shutil.rmtree(self.run, ignore_errors=True)
            self.write("spans:100", env={"STEPSCOPE_CAP": text})
            self.assertEqual(recording.info(self.run)["processes"][0]["cap_bytes"], 1 << 30, text)


if __name__ == "__main__":
    unittest.main()
