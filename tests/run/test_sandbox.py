"""Filters of system calls (seccomp) around `stepscope run`: those that refuse a call, and those that
kill for it. The command does the same as without Stepscope, and is recorded where that is possible.
"""

import os
import platform
import subprocess
import unittest

from running import BUILD, RunTest, environment, is_sanitized

SANDBOX = os.path.join(BUILD, "sandbox")
WRITER = os.path.join(BUILD, "fault_writer")
EXIT_CODE = 7
EPERM, ENOSYS = "1", "38"
SPANS = 100000
CALLS = {"x86_64": {"process_vm": "310,311", "fallocate": "285", "memfd_create": "319",
                    "madvise": "28", "writeback": "277,221", "socketpair": "53"},
         "aarch64": {"process_vm": "270,271", "fallocate": "47", "memfd_create": "279",
                     "madvise": "233", "writeback": "84,223", "socketpair": "199"}}


class Sandbox(RunTest):
    def setUp(self):
        super().setUp()
        if platform.machine() not in CALLS:
            self.skipTest("the numbers of system calls are of other machines")
        self.calls = CALLS[platform.machine()]

    def run_in(self, action, call, *command):
        return subprocess.run([SANDBOX, action, self.calls[call], os.path.join(BUILD, "stepscope"),
                               "run", "--", *command], cwd=self.folder, env=environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              check=False)

    def check(self, action, call):
        """All spans are read, or counted as lost."""
        done = self.run_in(action, call, WRITER, f"paced:{SPANS}", "child:500")
        self.assertEqual(done.returncode, EXIT_CODE, done.stderr)
        self.assertIn(f"{SPANS} spans\n", done.stdout)
        info = self.info()
        self.assertEqual(info["records"]["span"] + info["lost"]["dropped"], SPANS + 500)
        self.assertEqual(info["lost"]["dropped"], 0)
        if call == "socketpair":  # without it, there is nothing but the command and its parent
            self.assertIn("cannot start a process next to the command", done.stderr)
        else:
            self.assertTrue(any(p["kind"] == "supervisor" for p in info["processes"]))

    def test_each_call_is_refused(self):
        for call in self.calls:
            for error in (EPERM, ENOSYS):
                with self.subTest(call=call, error=error):
                    self.check(error, call)

    def test_each_call_kills(self):
        for call in self.calls:
            if call != "madvise":
                with self.subTest(call=call):
                    self.check("kill", call)

    @unittest.skipIf(is_sanitized(), "the sanitizer itself calls madvise()")
    def test_what_the_c_library_cannot_do_without_kills(self):
        done = self.run_in("kill", "madvise", "sh", "-c", "exit 9")
        self.assertEqual(done.returncode, 9)
        self.assertIn("not recorded: a filter of system calls (seccomp) kills for madvise(). "
                      "The command still runs.", " ".join(done.stderr.split()))


if __name__ == "__main__":
    unittest.main()
