"""A run stays within its budget of disk, and the supervisor small, whatever the number of processes."""

import glob
import json
import os
import re
import unittest

from running import (BUILD, TRAINER, RunTest, children_of, environment, is_sanitized, wait_until)

FLOODER = os.path.join(BUILD, "fault_writer")

KEPT = 8 + 16  # the first processes and the newest ones (run_budget.c)


class Budget(RunTest):
    def record(self, *orders, options=("--no-pack",), **variables):
        """Runs the trainer. Files keep the size that they had while it ran."""
        run = self.start(*options, "--", TRAINER, env=environment(**variables))
        for order in ("steps 100", *orders):
            run.tell(order)
            run.expect(b"100 steps\n")
        code, _, err = run.finish()
        self.assertEqual(code, 0, err)

    def files(self):
        return glob.glob(self.path("stepscope-runs/latest/p-*.ssp"))

    def test_space_that_a_process_left_unused_is_given_back(self):
        self.record("workers 4")
        tidy = max(os.stat(path).st_size for path in self.files())
        self.record("leavers 30")  # by _exit(): the recorder is not told
        sizes = [os.stat(path).st_size for path in self.files()]
        self.assertEqual(len(sizes), 31)
        self.assertLessEqual(max(sizes), tidy)
        info = self.info()
        self.assertEqual((info["records"]["span"], info["whole"]), (2 * 100 + 30, True))

    def test_the_oldest_processes_that_ended_are_folded(self):
        budget = 700 << 10  # 60 files take 12 or 20 KB each
        self.record("leavers 60", STEPSCOPE_RUN_CAP=str(budget))
        files = self.files()
        info = self.info()
        self.assertLess(sum(os.stat(path).st_blocks * 512 for path in files), budget)
        self.assertGreaterEqual(len(files), KEPT)
        self.assertLess(len(files), 61)
        self.assertEqual(info["lost"]["folded_processes"], 61 - len(files))
        self.assertEqual((info["records"]["step"], info["whole"]), (100, False))
        self.assertGreaterEqual(info["lost"]["folded_records"], 61 - len(files))
        self.assertEqual(self.facts("folded")["processes"], str(61 - len(files)))

    def test_processes_that_live_share_the_budget(self):
        budget = 20 << 20
        script = "; ".join([f"{FLOODER} say_ready paced:500000 &"] * 4) + "; wait"
        run = self.run_it("-q", "--no-pack", "--", "sh", "-c", script.replace("&;", "&"),
                          env=environment(STEPSCOPE_RUN_CAP=str(budget)))
        self.assertEqual(run.returncode, 0, run.stderr)
        files = self.files()
        self.assertEqual(len(files), 4)
        self.assertLess(sum(os.stat(path).st_blocks * 512 for path in files), budget)
        info = self.info()
        self.assertFalse(info["whole"])
        made = info["records"]["span"] + info["lost"]["reused"] + info["lost"]["dropped"]
        self.assertEqual(made, 4 * 500000)

    def test_processes_that_trained_are_folded_last(self):
        budget = 1 << 20
        script = f"for i in $(seq 60); do echo steps 100 | {TRAINER} || exit 1; done"
        run = self.run_it("-q", "--no-pack", "--", "sh", "-c", script,
                          env=environment(STEPSCOPE_RUN_CAP=str(budget)))
        self.assertEqual(run.returncode, 0, run.stderr)
        # On a busy machine the last ones that ended may not have been trimmed.
        late = 4 * (128 << 10)
        self.assertLess(sum(os.stat(path).st_blocks * 512 for path in self.files()), budget + late)
        self.assertGreaterEqual(len(self.files()), KEPT)

    def test_the_report_says_what_was_folded(self):
        self.record("leavers 60", STEPSCOPE_RUN_CAP="700K")
        lost = json.loads(self.stepscope("report", "--json").stdout)["lost"]
        self.assertEqual((lost["whole"], lost["folded_processes"] > 0), (False, True))
        report = self.stepscope("report").stdout
        self.assertIn("summarised to keep the run within its disk", " ".join(report.split()))
        self.assertIn("The whole run, as summarised when it ended", report)

    def test_nothing_is_folded_below_the_budget(self):
        self.record("leavers 60")
        self.assertEqual(len(self.files()), 61)
        self.assertEqual(self.facts("folded"), {})

    def test_a_run_is_packed_when_it_has_ended(self):
        sizes, infos = {}, {}
        for options in (("--no-pack",), ()):
            self.record("workers 4", "steps 20000", options=options)
            infos[options] = self.info()
            sizes[options] = sum(os.stat(path).st_size for path in
                                 glob.glob(self.path("stepscope-runs/latest/*.ssp")))
            self.assertGreater(infos[options]["records"]["span"], 10000)
            self.assertEqual(infos[options]["lost"]["unread"], [])
        self.assertLess(sizes[()] * 5, sizes[("--no-pack",)])
        self.assertEqual(glob.glob(self.path("stepscope-runs/latest/.*packing")), [])

    def memory_with(self, processes):
        """The most that the supervisor needed until it had seen all of them, in bytes."""
        run = self.start("--", TRAINER)
        run.tell(f"leavers {processes}")
        run.expect(b"0 steps\n")
        # The trainer lives on. A file that was trimmed has been looked at.
        wait_until(lambda: sum(os.stat(path).st_size <= 1 << 16 for path in self.files()) >= processes,
                   f"{processes} files trimmed")
        own = [run.pid, *(pid for pid in children_of(run.pid) if pid != self.command_of(run.pid))]
        peak = sum(self.peak_of(pid) for pid in own)
        self.assertEqual(run.finish()[0], 0)
        return peak

    def peak_of(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            [peak] = re.findall(r"VmHWM:\s+(\d+) kB", status.read())
        return int(peak) * 1024

    def test_memory_of_the_supervisor_hardly_grows_with_processes(self):
        """With 2,000 of them less than 64 MB."""
        if is_sanitized():
            self.skipTest("a sanitizer keeps what is freed")
        self.assertLess((self.memory_with(200) - self.memory_with(50)) / 150, 28 << 10)


if __name__ == "__main__":
    unittest.main()
