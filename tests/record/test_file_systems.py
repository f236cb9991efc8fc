"""What becomes of the run file is no matter of the training thread: the file is truncated, the disk
is full or frozen, the supervisor is killed, and the program prints and returns the same; what is
missing is said.

Some need a file system of their own, in an image that is mounted by a loop device.
"""

import contextlib
import os
import re
import signal
import struct
import subprocess
import time
import unittest

import recording
import test_faults

FROZEN_S = float(os.environ.get("FROZEN_S", "5" if os.environ.get("SOAK") else "2"))
SIZES = {"ext4": 32 * test_faults.MB, "btrfs": 160 * test_faults.MB, "xfs": 320 * test_faults.MB}
WORST = re.compile(r"status: worst (\d+) us")


class SupervisedTest(test_faults.FaultTest):
    """The writer below `stepscope run`, which keeps what its process has not copied yet."""

    def start_below(self, folder, *script, env=None):
        self.run = os.path.join(folder, "latest")
        return test_faults.Writer(script, self.folder, recording.environment(**(env or {})),
                                  below=[recording.program("stepscope"), "run", "-q", "--dir",
                                         folder, "--"])

    def file(self):
        return [name for name in recording.files(self.run)
                if os.path.basename(name).startswith("p-")][0]


class Truncated(SupervisedTest):
    def truncate(self, size):
        script = ("paced:30000", "wait", "paced:30000", "wait", "paced:30000")
        writer = self.start_below(self.folder, *script)
        writer.until_it_waits()
        os.truncate(self.file(), size)
        writer.go_on()
        writer.until_it_waits()
        writer.go_on()
        self.check_output(writer, script)
        known = recording.info(self.run)
        self.assertFalse(known["whole"])
        self.assertEqual(known["processes"][0]["error"],
                         "its file was truncated by another program")
        found = self.check_spans()
        self.assertEqual(found[-1][1], 89999)
        lost = 90000 - sum(last - first + 1 for first, last in found)
        self.assertGreater(lost, 0)
        self.assertEqual(known["lost"]["reused"], lost)

    def test_to_nothing(self):
        self.truncate(0)

    def test_to_a_part(self):
        self.truncate(5 * 65536 + 100)


def processes_below(pid):
    """The children of a process and theirs."""
    found = []
    with contextlib.suppress(OSError):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as children:
                for child in map(int, children.read().split()):
                    found += [child, *processes_below(child)]
    return found


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as name:
        return name.read().strip()


def states_of(pid):
    """Of its threads."""
    found = []
    with contextlib.suppress(OSError):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8", errors="replace") as stat:
                found.append(stat.read().rpartition(")")[2].split()[0])
    return found


def wait_for_end(pids):
    """Until these processes have no thread that runs."""
    end = time.monotonic() + recording.PATIENCE_S
    while any(set(states_of(pid)) - {"Z", "X"} for pid in pids):
        if time.monotonic() > end:
            raise AssertionError("a process does not end")
        time.sleep(0.05)


class Forked(SupervisedTest):
    def test_a_parent_that_is_silent_after_a_fork_says_that_it_pauses(self):
        """No helper beats until its next event: it must not look killed."""
        script = ("paced:1000", "child:10", "wait")
        writer = self.start_below(self.folder, *script)
        writer.until_it_waits()
        known = recording.info(self.run)["processes"]
        parent = next(name for name in recording.files(self.run)
                      if f"/p-{known[0]['pid']}-" in name)
        with open(parent, "rb") as file:
            [paused] = struct.unpack("<Q", file.read(1024)[368:376])
        self.assertEqual(paused, 1)
        writer.go_on()
        writer.finish()


class SupervisorKilled(SupervisedTest):
    def test_and_then_the_program(self):
        script = ("paced:30000", "wait")
        writer = self.start_below(self.folder, *script)
        writer.until_it_waits()
        below = processes_below(writer.process.pid)
        [command] = [pid for pid in below if name_of(pid) == "fault_writer"]
        os.kill(writer.process.pid, signal.SIGKILL)
        os.kill(command, signal.SIGKILL)
        writer.process.wait()
        wait_for_end(below)
        self.assertEqual(self.account(30000), 0)
        self.assertEqual(self.check_spans(), [(0, 29999)])

    def test_the_program_goes_on_and_all_is_recorded(self):
        script = ("paced:30000", "wait", "paced:50000")
        writer = self.start_below(self.folder, *script)
        writer.until_it_waits()
        os.kill(writer.process.pid, signal.SIGKILL)
        writer.process.wait()
        writer.go_on()
        self.assertIn("50000 spans", writer.finish()[1])
        self.assertEqual(self.account(80000), 0)
        self.assertEqual(self.check_spans(), [(0, 79999)])


class KilledAtTheCap(SupervisedTest):
    @unittest.skipIf(recording.is_sanitized(), "it wants to be the first library")
    def test_between_giving_up_a_segment_and_what_follows(self):
        """What was cleared is counted already."""
        writer = self.start_below(self.folder, "paced:400000", env={
            "STEPSCOPE_CAP": "2M", "LD_PRELOAD": recording.program("end_at.so"),
            "END_AT": "cleared", "END_WITH": str(int(signal.SIGKILL))})
        self.assertEqual(writer.finish()[0], -signal.SIGKILL)
        found = self.check_spans()
        missing = found[-1][1] + 1 - sum(last - first + 1 for first, last in found)
        self.assertGreater(missing, 0)
        _, lost = recording.stages(self.run)
        self.assertGreaterEqual(sum(lost.values()), missing)
        self.assertFalse(recording.info(self.run)["whole"])


class Images(SupervisedTest):
    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(recording.own_mounts())

    def image(self, kind):
        return recording.image(kind, self.path(kind), SIZES[kind])

    def fill(self, folder, left):
        room = os.statvfs(folder)
        with contextlib.suppress(OSError), open(os.path.join(folder, "filler"), "wb") as file:
            file.write(bytes(max(0, room.f_bavail * room.f_bsize - left)))
            file.flush()
            os.fsync(file.fileno())

    def check_full(self, kind):
        """Filled while the program records, and again and again written back."""
        script = ("paced:20000", "wait", "paced:200000")
        with self.image(kind) as disk:
            writer = self.start_below(disk, *script)
            writer.until_it_waits()
            self.fill(disk, 2 * test_faults.MB)
            os.sync()
            writer.go_on()
            self.check_output(writer, script)
            self.account(220000)
            self.check_spans()
            self.assertFalse(recording.info(self.run)["whole"])

    def test_a_full_ext4(self):
        self.check_full("ext4")

    def test_a_full_btrfs(self):
        self.check_full("btrfs")

    def test_a_full_xfs(self):
        self.check_full("xfs")

    def test_a_disk_that_cannot_write_back(self):
        """The kernel takes what is written, and loses it later: below the disk is a full one."""
        script = ("paced:20000", "wait", "until_loss")
        with recording.mounted(self.path("below"), "-t", "tmpfs", "-o", "size=64m", "tmpfs") as below:
            with recording.image("ext4", os.path.join(below, "image"), 256 * test_faults.MB) as disk:
                writer = self.start_below(disk, *script)
                writer.until_it_waits()
                self.fill(below, 0)
                writer.go_on()
                self.check_output(writer, script)
                known = recording.info(self.run)
                self.assertFalse(known["whole"])
                self.assertIsNotNone(known["processes"][0]["error"])
                print(known["processes"][0]["error"], flush=True)

    def freeze(self, disk, begin=lambda: None):
        """For FROZEN_S: what is frozen for longer is the test, not what is awaited."""
        subprocess.run(["fsfreeze", "-f", disk], check=True)
        try:
            begin()
            time.sleep(FROZEN_S)
        finally:
            subprocess.run(["fsfreeze", "-u", disk], check=True)

    def check_frozen(self, kind, command, limit_s):
        """The thread is held up no longer than a busy machine holds it up, or a limit of ours."""
        script = ("paced:20000", command)
        with self.image(kind) as disk:
            writer = self.start_below(disk, *script)
            self.wait_for_file()
            self.freeze(disk)
            writer.go_on()
            self.check_output(writer, script)
            worst_s = int(WORST.search(writer.printed)[1]) / 1e6
            print(f"{kind} frozen for {FROZEN_S} s: {command}: {worst_s * 1e3:.3f} ms", flush=True)
            self.assertLess(worst_s, limit_s)
            self.account(writer.spans())

    def wait_for_file(self):
        end = time.monotonic() + recording.PATIENCE_S
        while time.monotonic() < end:
            with contextlib.suppress(OSError, IndexError, subprocess.CalledProcessError):
                if recording.info(self.run)["records"]["span"] > 20000:
                    return
            time.sleep(0.05)
        raise AssertionError("nothing was recorded")

    def test_a_frozen_ext4(self):
        self.check_frozen("ext4", "worst_until_line", FROZEN_S / 4)

    def test_a_frozen_btrfs(self):
        self.check_frozen("btrfs", "worst_until_line", FROZEN_S / 4)

    def test_first_events_on_a_frozen_ext4(self):
        """Of a process that has no file yet, and of a child that it forks."""
        script = ("wait", "first_events")
        with self.image("ext4") as disk:
            writer = self.start_below(disk, *script)
            writer.until_it_waits()
            self.freeze(disk, writer.go_on)
            self.check_output(writer, script)
            worst_s = int(WORST.search(writer.printed)[1]) / 1e6
            print(f"ext4 frozen for {FROZEN_S} s: first event: {worst_s * 1e3:.3f} ms", flush=True)
            self.assertLess(worst_s, FROZEN_S / 4)
            self.wait_for_records()
            self.account(writer.spans())

    def wait_for_records(self):
        """A worker that waited for the disk too long completes the run after its guard has ended."""
        end = time.monotonic() + recording.PATIENCE_S
        while time.monotonic() < end:
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                info = recording.info(self.run)
                if not info["live"] and info["records"].get("span", 0) > 0:
                    return
            time.sleep(0.05)
        raise AssertionError("the run was not completed")

    def check_ends_while_frozen(self, command, kill, expected):
        """Its signal goes to the command, and its exit code comes back, before the disk does. What
        the command had open stays open until then, if the disk holds one of its threads."""
        with self.image("ext4") as disk, open(self.path("errors"), "w+", encoding="utf-8") as said:
            self.run = os.path.join(disk, "latest")
            process = subprocess.Popen(
                [recording.program("stepscope"), "run", "--dir", disk, "--", *command],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
                env=recording.environment(), cwd=self.folder, encoding="utf-8")
            self.assertEqual(process.stdout.readline(), "ready\n")
            subprocess.run(["fsfreeze", "-f", disk], check=True)
            try:
                self.wait_for_held(process.pid)
                below = processes_below(process.pid)
                kill(process)
                process.wait(timeout=recording.PATIENCE_S)
            finally:
                subprocess.run(["fsfreeze", "-u", disk], check=True)
                process.stdout.close()
            said.seek(0)
            errors = said.read()
            self.assertEqual(process.returncode, expected, errors)
            self.assertIn("does not answer", errors)
            wait_for_end(below)
            self.assertIn("result", os.listdir(self.run))

    def wait_for_held(self, pid):
        """Until a process of this run waits for the disk."""
        end = time.monotonic() + recording.PATIENCE_S
        while time.monotonic() < end:
            if any("D" in states_of(child) for child in processes_below(pid)):
                return
            time.sleep(0.05)
        raise AssertionError("nothing waits for the disk")

    def test_a_signal_while_the_disk_is_frozen(self):
        script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done"
        self.check_ends_while_frozen(["sh", "-c", script], subprocess.Popen.terminate, 5)

    def test_a_signal_while_the_disk_holds_the_recorder(self):
        program = [recording.program("fault_writer"), "say_ready", "paced:100000000"]
        self.check_ends_while_frozen(program, subprocess.Popen.terminate, -signal.SIGTERM)

    def test_fork_on_a_frozen_ext4(self):
        self.check_frozen("ext4", "forks_until_line", FROZEN_S / 4)


if __name__ == "__main__":
    unittest.main()
