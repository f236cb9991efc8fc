"""PyTorch with two ranks on gloo, started by torchrun: one run, with books for each rank."""

import json
import os
import statistics
import unittest

from framework import HERE, PYTHON, FrameworkTest
from truth import TruthTest

KINDS = ("ddp", "fsdp2", "async")
STEPS = 24
DELAY_NS = 10e6  # of rank 1 in each backward


class Ranks(TruthTest):
    def command(self, script, *arguments):
        return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                HERE + "/" + script, *arguments]

    def test_each_rank_has_its_books(self):
        plain = json.loads(self.plain("torch_ranks.py").stdout)
        printed = json.loads(self.hooked("torch_ranks.py").stdout)
        report = self.report()
        processes = {loop["rank"]: loop["process"] for loop in report["loops"]}
        self.assertEqual(sorted(processes), [0, 1])
        self.assertEqual(len(report["loops"]), 2 * len(KINDS))
        self.assertEqual(report["lost"]["negative_ns"], 0)
        self.assert_closed(report["books"])  # the whole life of one of them
        found, all_steps = {}, self.steps()
        for rank, process in processes.items():
            steps = [step for step in all_steps if step["process"] == process]
            self.assertEqual(len(steps), STEPS * len(KINDS))
            self.check_books([loop for loop in report["loops"] if loop["rank"] == rank], steps)
            for kind in KINDS:
                found[kind, rank], steps = steps[:STEPS], steps[STEPS:]
        for kind in KINDS:
            self.assertEqual(printed[kind]["digest"], plain[kind]["digest"], kind)
        self.check_ddp(found["ddp", 0], found["ddp", 1], printed["ddp"]["steps"])
        self.check_fsdp2(found["fsdp2", 0], found["fsdp2", 1])
        self.check_async(found["async", 0], printed["async"]["steps"])
        self.check_records()

    def check_books(self, loops, steps):
        """Of a rank: segments are its loops, one after the other, and stages its steps, to the
        nanosecond."""
        end_ns = 0
        for loop in sorted(loops, key=lambda loop: loop["start_ns"]):
            self.assert_closed(loop["books"])
            self.assertGreaterEqual(loop["start_ns"], end_ns)
            end_ns = loop["start_ns"] + loop["books"]["wall_ns"]
        for step in steps:
            self.assertEqual(sum(step["stages_ns"].values()), step["time_ns"])
        self.assertEqual(sum(step["time_ns"] for step in steps),
                         sum(loop["books"]["warmup_ns"] + loop["books"]["steady_ns"]
                             for loop in loops))

    def middle(self, steps, stage):
        return statistics.median(step["stages_ns"].get(stage, 0) for step in steps)

    def check_ddp(self, first, second, true):
        """The rank that waits for the other one has `comm`, the other one has `backward`."""
        for step in first:  # the wait is a part of the call
            stages = step["stages_ns"]
            stages["backward"] = stages.get("backward", 0) + stages.get("comm", 0)
        self.assert_steps(first, true, ("forward", "backward"), "ddp")
        self.assertGreater(self.middle(first, "comm"), DELAY_NS / 2)
        self.assertGreater(self.middle(second, "backward"), DELAY_NS * 0.9)

    def check_fsdp2(self, first, second):
        self.assertGreater(self.middle(first, "comm"), DELAY_NS / 2)
        self.assertGreater(self.middle(second, "backward"), DELAY_NS * 0.9)

    def check_async(self, first, true):
        self.assert_steps(first, true, ("forward", "backward", "comm"), "async")
        self.assertGreater(self.middle(first, "comm"), DELAY_NS / 2)

    def check_records(self):
        spans = [r for r in self.records() if r["kind"] == "span" and r["stage"] == "comm"]
        guessed = [r for r in spans if "estimate" in r["flags"]]
        self.assertEqual({r["name"] for r in guessed}, {"gradients of all ranks (estimate)"})
        self.assertGreater(len(guessed), STEPS)
        names = {r["name"] for r in spans if "estimate" not in r["flags"]}
        self.assertLessEqual({"all_reduce", "wait"}, names)


class Spawned(FrameworkTest):
    def test_ranks_are_told_by_init_process_group(self):
        self.hooked("torch_spawn.py", os.path.join(self.folder, "rendezvous"))
        report = self.report()
        self.assertEqual(sorted((loop["rank"], loop["steps"]["count"]) for loop in report["loops"]),
                         [(0, 30), (1, 30)])
        self.assertEqual((report["job"]["ranks"], report["job"]["world"]), (2, 2))
        self.assertEqual(report["job"]["missing_count"], 0)


if __name__ == "__main__":
    unittest.main()
