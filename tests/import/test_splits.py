"""What the traces of real machines show (test_real_traces.py), in traces that are made: how a step is
split into its parts, communication of ranks, and a rank that becomes slow."""

import unittest

import traces
from import_support import ImportTest


class Splits(ImportTest):
    def test_parts_of_a_step_take_their_time_out_of_what_is_left(self):
        """As the viewer of the trace of the ResNet50 splits it: kernels first, the rest last."""
        trace = traces.Kineto()
        for step in range(3):
            at = step * 1000
            trace.add("user_annotation", f"ProfilerStep#{step}", at, 900)
            trace.add("cpu_op", "enumerate(DataLoader)#X.__next__", at, 200)
            trace.add("cpu_op", "aten::conv2d", at + 250, 400)
            trace.launch("kernel", at + 300, at + 310, 100)
            trace.launch("Memcpy HtoD (Pinned -> Device)", at + 340, at + 380, 50, "gpu_memcpy",
                         stream=8, call="cudaMemcpyAsync", bytes=1)
            trace.launch("Memset (Device)", at + 350, at + 425, 25, "gpu_memset", stream=8,
                         call="cudaMemsetAsync")
            trace.launch("ncclKernel_AllReduce", at + 360, at + 440, 60, stream=9)
            # The device goes on after the host has ended the step.
            trace.launch("late_kernel", at + 800, at + 905, 20)
        device = self.imported(trace.write(self.path("a.json")))["device"]
        whole = 925_000
        expected = {"kernel_ns": 120_000, "memcpy_ns": 20_000, "memset_ns": 20_000,
                    "comm_ns": 50_000, "data_ns": 200_000, "wall_ns": whole}
        # Calls of the host that no activity of the device covers: at 300 and at 800.
        expected["runtime_ns"] = 10_000
        # conv2d from 250 to 650, without 300-305 and what the device does from 310 to 500.
        expected["cpu_ns"] = 400_000 - 5_000 - 190_000
        expected["other_ns"] = whole - sum(expected[key] for key in expected if key != "wall_ns")
        for step in device["device_steps"]:
            self.assertEqual({key: step[key] for key in expected} | {"wall_ns": step["wall_ns"]},
                             expected)
        self.assertEqual(device["kernel_share"], 3 * 120_000 / (3 * whole))

    def test_inference_without_steps_has_the_extent_of_its_work(self):
        """As of the H100: one forward pass, no marks, no backward."""
        trace = traces.Kineto()
        for i in range(10):
            trace.launch("gemm", i * 100, i * 100 + 10, 30)
        trace.launch("Memcpy DtoH (Device -> Pageable)", 990, 1000, 20, "gpu_memcpy",
                     call="cudaMemcpyAsync", bytes=2_000)
        device = self.imported(trace.write(self.path("a.json")))["device"]
        self.assertEqual(device["devices"][0]["extent_ns"], 1_010_000)
        self.assertEqual(device["compute_ns"], 300_000)
        self.assertEqual(device["busy_ns"], 320_000)
        self.assertEqual(device["idle"]["transfer_ns"], 20_000)
        self.assertEqual(device["transfers"][0]["gb_per_s"], 0.1)

    def test_collectives_of_amd_have_their_size_and_share_of_overlap(self):
        """As of the MI300X: RCCL, of which a part runs while nothing is computed."""
        trace = traces.Kineto()
        for step in range(3):
            at = step * 1000
            trace.add("user_annotation", f"ProfilerStep#{step}", at, 990)
            trace.launch("Cijk_Ailk_Bljk", at + 10, at + 20, 400)
            for elements, start, duration in ((8_816_192, 300, 300), (2_873_320, 600, 100)):
                trace.launch("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", at + 290,
                             at + start, duration, stream=9,
                             **{"Collective name": "allreduce", "dtype": "Float",
                                "In msg nelems": elements, "Group size": 8})
        device = self.imported(trace.write(self.path("a.json")))["device"]
        self.assertEqual(device["comm_ns"], 3 * 400_000)
        self.assertEqual(device["comm_exposed_ns"], 3 * 280_000)
        self.assertEqual({row["elements"]: (row["calls"], row["total_ns"], row["ranks"])
                          for row in device["collectives"]},
                         {8_816_192: (3, 900_000, 8), 2_873_320: (3, 300_000, 8)})

    def test_rank_that_is_often_slow_is_named(self):
        """As of the cluster: ten workers, one of which makes the others wait."""
        times = [[450 + (rank * 7 + step * 13) % 11 for step in range(300)] for rank in range(10)]
        for step in range(300):
            times[6 if step % 3 else 2][step] = 700 if step % 3 == 1 else 500
        paths = [trace.write(self.path(f"{rank}.json"))
                 for rank, trace in enumerate(traces.ranks(times))]
        report = self.imported(*paths)
        job = report["job"]
        self.assertEqual(job["ranks"], 10)
        whole = sum(max(step) + 30 for step in zip(*times))
        for blame, rank in zip(job["blame"], (6, 2), strict=True):
            self.assertEqual(blame["rank"], rank)
            gain = sum(max(step) - sorted(step)[-2] for step in zip(*times)
                       if step[rank] == max(step))
            self.assert_near(blame["share"], gain / whole)

    def test_steps_of_several_threads_do_not_mix(self):
        trace = traces.training(10)
        expected = self.imported(trace.write(self.path("a.json")), run="a")["device"]
        for step in range(40):
            trace.add("user_annotation", f"ProfilerStep#{step}", step * 250, 240, thread=99)
        found = self.imported(trace.write(self.path("b.json")), run="b")["device"]
        self.assertEqual(found["device_steps"], expected["device_steps"])


if __name__ == "__main__":
    unittest.main()
