"""Runs that end by SIGKILL at a random moment: every span whose end call had returned is read back,
none is invented, none is torn.

tests/helpers/kill_writer.c records with four threads and says in shared memory which calls have
returned; it is killed; tests/helpers/kill_check.c compares. KILLS and KILL_SEED in the environment
choose how often, and the random numbers of an earlier run.
"""

import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import places
import recording

BUILD = os.environ.get("STEPSCOPE_BUILD", "build/release")
KILLS = int(os.environ.get("KILLS", "1000" if os.environ.get("SOAK") else "20"))
SEED = int(os.environ.get("KILL_SEED", random.SystemRandom().randrange(1 << 32)))

# struct kill_area of tests/helpers/kill_pattern.h
THREADS = 4
AREA_BYTES = 64 * (1 + THREADS)
CALLS_A_BURST = 600 * 12
BURSTS = 6
PATIENCE_S = 60
BTRFS_BYTES = 1 << 30
MODES = ["burst"] * 7 + ["flood"] * 2 + ["start"]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


class Kill:
    """One writer: started, killed, compared. `with_supervisor`: below `stepscope run`."""

    def __init__(self, folder, mode, with_supervisor=False):
        self.run = os.path.join(folder, "run")
        self.area_path = os.path.join(folder, "area")
        with open(self.area_path, "wb") as file:
            file.truncate(AREA_BYTES)
        with open(self.area_path, "r+b") as file:
            self.area = mmap.mmap(file.fileno(), AREA_BYTES)
        command = [os.path.join(BUILD, "kill_writer"), self.run, self.area_path, mode]
        if with_supervisor:
            self.run = os.path.join(folder, "latest")
            command[1] = "-"
            command = [os.path.join(BUILD, "stepscope"), "run", "-q", "--dir", folder, "--",
                       *command]
        self.with_supervisor = with_supervisor
        self.writer = subprocess.Popen(command)

    def calls(self, thread):
        return struct.unpack_from("<Q", self.area, 64 * (1 + thread))[0]

    def wait_for(self, thread, calls):
        """Looks without pause, so that the kill comes while the thread is at work."""
        end = time.monotonic() + PATIENCE_S
        while self.calls(thread) < calls:
            if self.writer.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"the writer stands still, or ended: {self.writer.poll()}")

    def kill(self):
        if self.with_supervisor:
            for pid in children(self.writer.pid):
                if name_of(pid) == "kill_writer":
                    os.kill(pid, signal.SIGKILL)
        else:
            self.writer.kill()

    def finish(self):
        self.kill()
        self.writer.wait(PATIENCE_S)
        self.area.close()
        check = subprocess.run([os.path.join(BUILD, "kill_check"), self.run, self.area_path],
                               stdout=subprocess.PIPE, text=True, check=False)
        if check.returncode != 0:
            raise AssertionError(f"kill_check: {check.returncode}: {check.stdout}")
        return {key: int(n) for key, n in re.findall(r"(\w+) (\d+)", check.stdout)}


class Kills(unittest.TestCase):
    def kill_often(self, where, kills, with_supervisor=False):
        if not os.path.isdir(where):
            self.skipTest(f"there is no {where}")
        luck = random.Random(SEED)
        sums = {}
        bad = kills
        for i in range(kills):
            with self.subTest(kill=i, seed=SEED):
                with tempfile.TemporaryDirectory(prefix="stepscope-kill-", dir=where) as folder:
                    mode = MODES[i % len(MODES)]
                    if with_supervisor and mode == "start":  # there may be no command yet
                        mode = "burst"
                    kill = Kill(folder, "burst" if mode == "start" else mode, with_supervisor)
                    self.kill_once(kill, mode, luck, sums)
                bad -= 1
        told = " ".join(f"{key} {n}" for key, n in sums.items())
        below = ", below the command" if with_supervisor else ""
        print(f"{kills} kills on {places.file_system(where)}{below}, seed {SEED}: {bad} with a span "
              f"missing, torn or invented; {told}", flush=True)
        self.assertGreater(sums.get("read", 0), 0)

    def kill_once(self, kill, mode, luck, sums):
        try:
            if mode == "start":  # anywhere in ss_start()
                time.sleep(luck.uniform(0, 0.02))
            else:
                kill.wait_for(luck.randrange(THREADS), luck.randrange(BURSTS * CALLS_A_BURST))
        finally:
            found = kill.finish()
        for key, n in found.items():
            sums[key] = sums.get(key, 0) + n
        if mode == "burst":
            sums["lost_in_bursts"] = sums.get("lost_in_bursts", 0) + found["lost"]



class KillTest(Kills):
    def test_memory(self):
        self.kill_often(places.MEMORY, KILLS - KILLS // 2)

    def test_disk(self):
        self.kill_often(places.disk(), KILLS // 2)

    def test_memory_with_a_supervisor(self):
        self.kill_often(places.MEMORY, KILLS - KILLS // 2, with_supervisor=True)

    def test_disk_with_a_supervisor(self):
        self.kill_often(places.disk(), KILLS // 2, with_supervisor=True)


class CopyOnWrite(Kills):
    """A page that was written back needs room again when it is written next. Without a supervisor
    a kill may lose the last moments there (docs/reliability.md)."""

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(recording.own_mounts())

    def test_btrfs_with_a_supervisor(self):
        with tempfile.TemporaryDirectory(prefix="stepscope-kill-", dir=places.disk()) as folder, \
                recording.image("btrfs", os.path.join(folder, "btrfs"), BTRFS_BYTES) as where:
            self.kill_often(where, KILLS // 2, with_supervisor=True)


if __name__ == "__main__":
    unittest.main()
