#!/usr/bin/python3
"""Packed runs read as they did before: by the C reader, and by the second decoder, also damaged.

The tool comes from STEPSCOPE_BIN, as in test_agreement.py.
"""

import glob
import os
import random
import shutil
import struct
import subprocess
import unittest

import make_runs
import test_agreement
import unpacker
import zstandard
from builder import RUNS
from mutations import Mutator
from test_agreement import GOLDEN, MUTANTS, MUTATED, TOOL

# Runs with long records, odd ends and gaps are among these; SOAK=1 takes all.
SOME = MUTATED + ["unknown_kinds_are_skipped", "records_may_be_longer", "every_word_and_flag"]


def pack(*arguments):
    return subprocess.run([TOOL, "pack", *arguments], capture_output=True, text=True, timeout=60,
                          check=False)


def content_of(run):
    content = {}
    for path in glob.glob(os.path.join(run, "*.ssp")):
        with open(path, "rb") as file:
            content[path] = file.read()
    return content


class PackedTest(test_agreement.Comparison):
    def runs(self):
        make_runs.write_all(self.directory)
        return sorted(RUNS) if test_agreement.SOAK else SOME

    def test_a_packed_run_reads_as_before_and_comes_back(self):
        packed = 0
        for name in self.runs():
            run = os.path.join(self.directory, name)
            before, dump = content_of(run), self.tool("dump", run)
            done = pack(run)
            after = content_of(run)
            changed = sum(unpacker.is_packed(data) for data in after.values())
            packed += changed
            self.assertEqual(self.tool("dump", run), dump, name)
            self.compare(run, name)
            if done.returncode == 0 and changed:
                self.assertEqual(pack("--unpack", run).returncode, 0)
                self.assertEqual(content_of(run), before, name)
        self.assertGreater(packed, len(SOME) // 2)

    def packed_file(self, name):
        run = os.path.join(self.directory, name)
        make_runs.write_run(make_runs.files_of(RUNS[name]), run)
        self.assertEqual(pack(run).returncode, 0)
        with open(os.path.join(run, make_runs.FILE), "rb") as file:
            return file.read()

    def test_damaged_packed_files(self):
        for name in MUTATED:
            self.compare_mutants(self.packed_file(name), MUTANTS // 4, f"packed {name}")

    def test_damaged_content(self):
        """The checksum of a block holds, and what it contains makes no sense."""
        for name in MUTATED:
            data = self.packed_file(name)
            self.compare_contents(name, data, MUTANTS // 8)

    def compare_contents(self, name, data, count):
        entry = unpacker.ENTRY.unpack_from(data, 1024)
        content = unpacker.decompress(data[entry[1]:entry[1] + entry[2]], entry[3])
        chance = random.Random(name)
        for number, mutant in enumerate(Mutator(content, seed=len(content)).mutants(count)):
            mutant = bytes(mutant)[:unpacker.SEGMENT_BYTES]
            block = zstandard.compress(mutant)
            form = entry[4] if chance.random() < 0.9 else chance.randrange(5)
            fields = (entry[0], len(data), len(block), len(mutant), form, entry[5])
            changed = bytearray(data) + block
            unpacker.ENTRY.pack_into(changed, 1024, *fields)
            run = os.path.join(self.directory, "changed")
            make_runs.write_run({make_runs.FILE: bytes(changed)}, run)
            self.compare(run, f"content {number} of {name}")
            shutil.rmtree(run)

    def test_golden_runs_pack_to_what_they_were(self):
        """Only the plain ones: tests/data/golden/packed is one already."""
        for golden in ("whole", "killed", "damaged"):
            run = os.path.join(self.directory, golden)
            shutil.copytree(os.path.join(GOLDEN, golden), run)
            dump = self.tool("dump", run)
            self.assertEqual(pack(run).returncode, 0)
            self.assertEqual(self.tool("dump", run), dump)
            self.compare(run, golden)

    def test_the_packed_golden_run_is_the_whole_one(self):
        self.assertEqual(self.tool("dump", os.path.join(GOLDEN, "packed")),
                         self.tool("dump", os.path.join(GOLDEN, "whole")))

    def test_an_older_reader_refuses_a_packed_file(self):
        [path] = glob.glob(os.path.join(GOLDEN, "packed", "*.ssp"))
        with open(path, "rb") as file:
            self.assertEqual(struct.unpack_from("<8sHH", file.read()), (b"stepscop", 2, 2))


if __name__ == "__main__":
    unittest.main()
