"""Traces of real machines, whose right answers are known. They are too large for a repository:
STEPSCOPE_TRACES names the folder that has them, and without it nothing is tested here. What they
show is tested with traces that are made, too (test_kineto.py, test_xplane.py, test_splits.py)."""

import collections
import csv
import os
import unittest

import traces
from import_support import ImportTest
from support import DATA

RESNET50 = """\
5 98598 1941 90 2796 69317 14091 1115 187948
6 98570 1947 89 2762 57669 12968 1148 175153
7 98596 1931 91 2877 61257 13768 1213 179733
8 98623 1938 89 2841 56453 13420 1200 174564
9 98504 1937 87 2788 62690 15025 1141 182172
10 98641 1798 88 3381 48185 12773 1117 165983
"""
PARTS = ("kernel_ns", "memcpy_ns", "memset_ns", "runtime_ns", "data_ns", "cpu_ns", "other_ns",
         "wall_ns")

# Milliseconds: total, computing, exposed communication, exposed copies, busy.
TIMELINES = {
    "h100_Falconsai_nsfw_image_detection__1016002": (7.559843994, 1.225308838, 0, 0, 1.225308838),
    "h100_gaunernst_bert-small-uncased__1016001": (3.907824951, 0.307197754, 0, 0.00223999,
                                                   0.309437744),
}
COLLECTIVES = {"allreduce of 8816192": 26_798_240, "allreduce of 2873320": 20_338_798,
               "broadcast of 9600": 43_675, "broadcast of 20 ": 19_597}


@unittest.skipUnless(traces.folder(), "STEPSCOPE_TRACES names no folder of real traces")
class RealTraces(ImportTest):
    def device(self, *path):
        return self.imported(os.path.join(traces.folder(), *path))["device"]

    def test_resnet50_on_a_v100(self):
        device = self.device("kineto", "resnet50_v100_workers0.json.gz")
        for line, step in zip(RESNET50.splitlines(), device["device_steps"], strict=True):
            number, *expected = map(int, line.split())
            self.assertEqual(step["number"], number)
            for key, us in zip(PARTS, expected, strict=True):
                self.assert_near(step[key], us * 1000, unit=1000)
        self.assert_near(device["kernel_share"], 0.5551, share=0.001)

    def test_inference_on_an_h100(self):
        for name, (total, *parts) in TIMELINES.items():
            with self.subTest(name):
                self.folder = os.path.join(self.folder, name)
                os.mkdir(self.folder)
                device = self.device("tracelens", f"{name}.json.gz")
                keys = ("compute_ns", "comm_exposed_ns", "busy_ns")
                compute, comm, copies, busy = parts
                self.assert_near(device["devices"][0]["extent_ns"], total * 1e6, unit=1)
                for key, ms in zip(keys, (compute, comm, busy), strict=True):
                    self.assert_near(device[key], ms * 1e6, unit=2)
                self.assert_near(device["idle"]["transfer_ns"], copies * 1e6, unit=1)

    def test_data_parallel_training_on_an_mi300x(self):
        device = self.device("tracelens", "mi300_resnet_ddp_rank0of8.json.gz")
        only = device["devices"][0]
        self.assert_near(only["extent_ns"], 56_517_603)
        self.assert_near(device["comm_ns"], 47_200_310)
        self.assert_near(device["transfer_ns"], 1_633_433)
        for start, total_ns in COLLECTIVES.items():
            row = next(c for c in device["collectives"] if c["name"].startswith(start))
            self.assertEqual(row["calls"], 3)
            self.assert_near(row["total_ns"], total_ns)

    def test_bert_on_two_v100_of_eight(self):
        report = self.imported(os.path.join(traces.folder(), "xplane", "tf_bert_8xv100.xplane.pb"))
        device = report["device"]
        steps = {step["id"]: step for step in device["device_steps"]}
        self.assertEqual({number: step["wall_ns"] for number, step in steps.items()},
                         {4: 19_865_491, 6: 21_310_352})
        self.assertEqual(sorted(loop["rank"] for loop in report["loops"]), [0, 1])
        kernels = [k for k in device["kernels"] if not k["name"].startswith("Memcpy")]
        self.assertEqual(sum(kernel["calls"] for kernel in kernels), 2 * 665)
        layers = {layer["path"]: layer for layer in device["layers"]}
        encoder = "bert_span_labeler/bert_encoder_1/transformer"
        inside = [layers[f"{encoder}/layer_{i}"]["device_ns"] for i in range(24)]
        self.assertLess(max(inside), 1.1 * min(inside))
        self.assertGreater(sum(inside), 0.9 * layers[encoder]["device_ns"])

    def test_file_that_a_conversion_of_text_broke(self):
        path = os.path.join(traces.folder(), "xplane", "corrupt_utf8_mangled.xplane.pb")
        done = self.check(["import", path, "-o", "run"], DATA, stdout="")
        self.assertRegex(done.stderr, "is damaged at byte [0-9]+: ")
        self.assertEqual(os.listdir(self.folder), [])

    def test_worker_of_a_cluster_that_is_slow_for_some_steps(self):
        """Batch times of ten workers, as traces of ten ranks that wait for the slowest."""
        times = collections.defaultdict(list)
        with open(os.path.join(traces.folder(), "alibaba", "job_1_norm.csv"),
                  encoding="utf-8") as file:
            for row in csv.DictReader(file):
                times[int(row["worker"])].append(int(row["batch_time_norm"]))
        self.assertEqual([worker for worker, own in times.items() if max(own) > 600], [6])
        paths = [trace.write(self.path(f"{rank}.json"))
                 for rank, trace in enumerate(traces.ranks([times[r] for r in sorted(times)]))]
        report = self.imported(*paths)
        found = next(f for f in report["findings"] if f["id"] == "rank-jitter")
        self.assertIn("slowest was rank 6 in", str(found["evidence"]))


if __name__ == "__main__":
    unittest.main()
