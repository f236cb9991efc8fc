"""`stepscope pack`: what it says, what it refuses, and that a run is whole at any instant."""

import os
import signal
import subprocess
import unittest

from support import DATA, FILE, FINE, PROGRAM, USAGE, CommandTest, builder

from builder import START, ProcessFile, span, spans, this_process

NAME = FILE.removesuffix(".ssp")


def large(segments=3):
    process = ProcessFile()
    process.block(1, spans(START + 1, 150))
    for seq in range(1, segments + 1):
        process.records(1, seq, *(span(START + 10000 * seq + i, START + 10000 * seq + i + 1, name=i % 5)
                                  for i in range(2000)))
    return process


class Pack(CommandTest):
    def content(self, run="run", file=FILE):
        with open(self.path(run, file), "rb") as stored:
            return stored.read()

    @staticmethod
    def size(path):
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return -1

    def output(self, command):
        return subprocess.run([PROGRAM, *command], cwd=self.folder, stdout=subprocess.PIPE, timeout=60,
                              check=True).stdout

    def test_says_what_a_run_takes_and_took(self):
        self.make_run(**{NAME: large()})
        before, dump = self.content(), self.stepscope("dump", "run").stdout
        done = self.check(["pack", "run"], FINE, stderr="")
        self.assertRegex(done.stdout, r"\Arun  \d+(\.\d+)? [KM]?B, was \d+(\.\d+)? [KM]?B\n\Z")
        self.assertLess(len(self.content()), len(before) / 8)
        self.assertEqual(self.stepscope("dump", "run").stdout, dump)
        self.check(["pack", "run"], FINE, "run  packed already\n", "")
        self.check(["pack", "--unpack", "run"], FINE, stderr="")
        self.assertEqual(self.content(), before)
        self.check(["pack", "-u", "run"], FINE, "run  unpacked already\n", "")
        self.assertEqual(os.listdir(self.path("run")), [FILE])

    def test_every_command_reads_a_packed_run(self):
        self.make_run(**{NAME: large()})
        commands = [["report", "run"], ["report", "run", "--json"], ["dump", "run", "--json"],
                    ["report", "run", "--html", "-"], ["export", "csv-spans", "run", "-"],
                    ["export", "perfetto", "run", "-"]]
        before = [self.output(command) for command in commands]
        self.check(["pack", "run"], FINE)
        for command, output in zip(commands, before):
            self.assertEqual(self.output(command), output, command)

    def test_several_runs_go_on_after_one_that_is_none(self):
        for name in ("a", "b"):
            self.make_run(name, **{NAME: large(1)})
        os.mkdir(self.path("empty"))
        done = self.check(["pack", "a", "empty", "b"], DATA)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], ["a", "b"])
        self.assertIn("'empty' is not a run.", done.stderr)
        self.check(["pack"], USAGE, "")
        self.check(["pack", "no-such"], DATA, "")

    def test_a_live_run_stays_as_it_is(self):
        process = ProcessFile(**{**this_process(), "beats": 0, "start_raw_ns": 2**62})
        process.block(1, spans(START + 1, 3))
        self.make_run(**{NAME: process})
        before = self.content()
        done = self.check(["pack", "run"], DATA, "")
        self.assertIn("'run' is still being recorded. Pack it when it has ended.", done.stderr)
        self.assertEqual(self.content(), before)

    def test_a_file_that_a_process_still_writes_stays_as_it_is(self):
        self.make_run(**{NAME: large(1), "p-2": large(1)})
        before = self.content()
        with open(self.path("run", FILE), "r+b"):
            done = self.check(["pack", "run"], FINE)
        self.assertEqual(done.stderr, "stepscope pack: 1 file of 'run' is still being written; skipped.\n")
        self.assertEqual(self.content(), before)
        self.assertLess(len(self.content(file="p-2.ssp")), len(before))

    def test_a_damaged_packed_file_is_not_unpacked(self):
        self.make_run(**{NAME: large()})
        self.check(["pack", "run"], FINE)
        data = bytearray(self.content())
        data[-1] ^= 1
        with open(self.path("run", FILE), "wb") as stored:
            stored.write(data)
        done = self.check(["pack", "--unpack", "run"], DATA, "")
        self.assertIn("cannot be unpacked: a block of it is damaged.", done.stderr)
        self.assertEqual(self.content(), bytes(data))
        info = self.stepscope("info", "run").stdout
        self.assertIn("65,472 bytes: invalid record", " ".join(info.split()))

    def test_what_a_killed_packer_left_is_no_obstacle(self):
        self.make_run(**{NAME: large()})
        with open(self.path("run", f".{FILE}.packing"), "wb") as left:
            left.write(b"half")
        self.check(["pack", "run"], FINE, stderr="")
        self.assertEqual(os.listdir(self.path("run")), [FILE])

    def test_killed_at_any_instant_it_leaves_a_whole_run(self):
        self.make_run(**{NAME: large(40)})
        dump = self.stepscope("dump", "run").stdout
        killed = 0
        for attempt in range(12):
            packing = subprocess.Popen([PROGRAM, "pack", "run"], cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            part = self.path("run", f".{FILE}.packing")
            while packing.poll() is None:  # each time when it has written a little more
                if self.size(part) > attempt * 3000:
                    packing.kill()
                    break
            packing.communicate()
            killed += packing.returncode == -signal.SIGKILL
            self.assertEqual(self.stepscope("dump", "run").stdout, dump)
            self.check(["pack", "-u", "run"], FINE)
        self.assertGreater(killed, 0)
        self.check(["pack", "run"], FINE)
        self.assertEqual(self.stepscope("dump", "run").stdout, dump)


if __name__ == "__main__":
    unittest.main()
