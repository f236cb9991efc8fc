"""Large traces are imported in little memory: what is kept grows with the launches of devices, not
with the file. With SOAK=1 the trace has 2 GB."""

import os
import subprocess
import sys
import unittest

import large
from import_support import ImportTest
from support import PROGRAM

SIZE = 2 << 30 if os.environ.get("SOAK") else 24 << 20
LEAST = 16 << 20  # of a program with its libraries and the window of a file


def is_sanitized():
    with open(PROGRAM, "rb") as file:
        return b"__asan_init" in file.read()


@unittest.skipIf(is_sanitized(), "sanitizers need memory of their own")
class Large(ImportTest):
    def peak(self, path):
        """Bytes of memory that the import needed at most."""
        measure = ("import resource, subprocess, sys\n"
                   "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", measure, PROGRAM, "import", path, "-o",
                               f"{path}-run"], cwd=self.folder, check=True, stdout=subprocess.PIPE)
        return int(done.stdout) * 1024

    def assert_little(self, path, launches):
        """Some of what is kept is sorted, or kept again in another form."""
        self.assertLessEqual(self.peak(path), LEAST + 500 * launches)

    def test_json_needs_as_much_as_devices_have_events(self):
        events = large.write_kineto(self.path("a.json"), SIZE)
        self.assert_little("a.json", events // 9)

    def test_xplane_needs_as_much_as_devices_have_events(self):
        events = large.write_xplane(self.path("a.pb"), SIZE // 32)
        self.assert_little("a.pb", events // 9)


if __name__ == "__main__":
    unittest.main()
