"""What a device does, by CUDA events: PyTorch on the host, with a driver that fake_cuda.c plays."""

import json
import os
import statistics
import unittest

from framework import BUILD, PROGRAM, FrameworkTest, counts_of, last_line

FAKE = os.path.join(BUILD, "fake_cuda.so")
STEPS = 40
WORK_NS = {"forward": 1_500_000, "backward": 3_000_000, "optimizer": 700_000}
PRECISION_NS = 1_000  # of a float of milliseconds, and of ticks

# Steps whose three calls were measured, calls that were not, and why it ended.
SHAPES = {
    "captures": (STEPS - 5, "15 while a graph was captured", ""),
    "captures_elsewhere": (STEPS - 5, "15 while a graph was captured", ""),
    "other_device": (STEPS - 5, "15 on another device", ""),
    "no_context_at_first": (STEPS - 10, "", ""),
    "never_ready": (0, "195 too far ahead, 255 not over at the end", ""),  # 150 steps; 255 calls may wait
    "two_threads": (STEPS, "120 of another thread", ""),
    "forks": (STEPS, "", ""),
    "create_fails": (0, "", "cuEventCreate failed with 2: no more of them"),
    "record_fails": (None, "", "cuEventRecord failed with 700: no more of them"),
    "query_fails": (None, "", "cuEventQuery failed with 700: no more of them"),
    "swap_fails": (None, "", "cuThreadExchangeStreamCaptureMode failed with 1: no more of them"),
}


class DeviceEvents(FrameworkTest):
    def wanted(self, *shapes, library=FAKE):
        """Trains with --device-events; what the script says, by shape."""
        command = self.recording(self.command("device_loop.py", FAKE, *shapes))
        command.insert(command.index("run") + 1, "--device-events")
        done = self.execute(command, STEPSCOPE_CUDA_LIBRARY=library)
        self.assertEqual(done.stderr, "")
        self.all_records = self.records()
        return {truth["shape"]: truth for truth in map(json.loads, done.stdout.splitlines())}

    def of(self, truth, kind):
        """Records of one shape."""
        return [r for r in self.all_records if r["kind"] == kind and r["tid"] == truth["pid"]]

    def spans(self, truth, start="device: "):
        return [r for r in self.of(truth, "span") if r["name"].startswith(start)]

    def reasons(self, truth):
        return [r["reason"] for r in self.of(truth, "hook") if r["target"] == "CUDA events"]

    def left_out(self, truth):
        return "".join(r["text"] for r in self.of(truth, "mark")
                       if r["name"] == "calls without device events")

    def test_times_are_those_of_the_device(self):
        """It is behind all the time, so that nothing of the host is in its times."""
        truth = self.wanted("runs_behind")["runs_behind"]
        self.assertEqual(self.report()["steps"]["count"], STEPS)
        self.assertEqual((self.reasons(truth), self.left_out(truth)), ([""], ""))
        spans = self.spans(truth)
        self.assertEqual([r["stage"] for r in spans], STEPS * list(WORK_NS))  # in order
        for stage, work_ns in WORK_NS.items():
            took = statistics.median(r["end_ns"] - r["start_ns"] for r in spans
                                     if r["stage"] == stage)
            self.assert_near(took, work_ns, 0, PRECISION_NS, stage)
        for before, after in zip(spans, spans[1:]):
            self.assertGreaterEqual(after["start_ns"], before["end_ns"] - PRECISION_NS)
        self.check_places(truth, spans)

    def check_places(self, truth, spans):
        """Not before the call; and the last one ends when the script said that it would, but for
        the time between two looks at the device."""
        calls = [r for r in self.spans(truth, "") if r["name"] in ("forward", "backward", "step")]
        self.assertEqual(len(calls), len(spans))
        for call, span in zip(calls, spans):
            self.assertEqual(call["stage"], span["stage"])
            self.assertGreaterEqual(span["start_ns"], call["start_ns"])
        queued = next(r for r in self.of(truth, "mark") if r["name"] == "all was queued")
        looks = [r["start_ns"] for r in calls] + [queued["time_ns"]]
        gap_ns = max(b - a for a, b in zip(looks, looks[1:]))
        self.assert_near(spans[-1]["end_ns"], queued["time_ns"] + truth["left_ns"], 0,
                         gap_ns + truth["late_ns"], "the last one ends")

    def test_they_are_beside_the_step(self):
        truth = self.wanted("plain")["plain"]
        plain = last_line(self.plain("device_loop.py", FAKE, "plain"))
        self.assertEqual((truth["weights"], plain["calls"]), (plain["weights"], 0))
        report = self.report()
        self.assertTrue(report["lost"]["whole"], report["lost"])
        self.assertEqual(report["lost"]["negative_ns"], 0)
        self.assertTrue(report["steps"]["asynchronous"])
        self.assertEqual(sorted(report["device"]), sorted(WORK_NS))
        counts = counts_of(report)
        for stage, work_ns in WORK_NS.items():
            self.assertEqual(counts["", "device: " + stage], STEPS)
            self.assertGreater(report["device"][stage]["mean_ns"], 0.8 * work_ns)
        shares = sum(stage["share"] for stage in report["stages"].values() if stage)
        self.assertAlmostEqual(shares, 1, places=6)
        for span in report["spans"]:
            if span["name"].startswith("device: "):
                self.assertIsNone(span["share"], span)
        text = self.execute([PROGRAM, "report", self.runs + "/latest"]).stdout
        self.assertIn("\ndevice (async)  ", text)
        self.assertIn("ms for forward", text)

    def test_off_by_default(self):
        done = self.hooked("device_loop.py", FAKE, "plain", STEPSCOPE_CUDA_LIBRARY=FAKE)
        self.assertEqual(last_line(done)["calls"], 0)
        self.assertIsNone(self.report()["device"])
        self.assertEqual([r for r in self.records() if r.get("target") == "CUDA events" or
                          r.get("name", "").startswith("device: ")], [])

    def test_the_driver_is_not_loaded(self):
        """Nor is it by us."""
        truth = self.wanted("many_steps", library=os.path.join(BUILD, "fake_nvml.so"))["many_steps"]
        self.assertEqual(truth["calls"], 0)
        self.assertEqual(self.reasons(truth), ["the driver's library is not loaded"])

    def test_what_may_happen_to_them(self):
        truths = self.wanted("plain", "raises", "evaluates", *SHAPES)
        report = self.report()
        self.assertTrue(report["lost"]["whole"], report["lost"])
        for shape, (steps, left_out, reason) in SHAPES.items():
            with self.subTest(shape):
                truth = truths[shape]
                self.assertFalse(truth["broken"])
                if shape != "never_ready":
                    self.assertEqual(truth["weights"], truths["plain"]["weights"])
                stages = [r["stage"] for r in self.spans(truth)]
                if steps is None:  # an error in the middle
                    self.assertIn(len(stages), range(1, 3 * STEPS))
                else:
                    self.assertEqual(stages, steps * list(WORK_NS))
                self.assertIn(left_out, self.left_out(truth))
                self.assertEqual(bool(left_out), bool(self.left_out(truth)))
                self.assertEqual("".join(self.reasons(truth)), reason)

        raised = [r["stage"] for r in self.spans(truths["raises"])]
        self.assertEqual(raised, STEPS * ["forward", *WORK_NS])
        evaluated = [("eval" in r["flags"], r["stage"]) for r in self.spans(truths["evaluates"])]
        self.assertEqual(evaluated, STEPS * [(True, "forward"),
                                             *((False, stage) for stage in WORK_NS)])
        known = {truth["pid"] for truth in truths.values()}
        self.assertEqual([r for r in self.all_records if r.get("name", "").startswith("device: ")
                          and r["kind"] == "span" and r["tid"] not in known], [])


if __name__ == "__main__":
    unittest.main()
