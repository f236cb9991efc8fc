"""`stepscope import` of traces of torch.profiler whose times are known."""

import json
import os
import unittest

import traces
from import_support import FINE, TESTS, ImportTest
from support import DATA, USAGE

try:
    import jsonschema
except ImportError:
    jsonschema = None


class KnownTimes(ImportTest):
    def setUp(self):
        super().setUp()
        self.report = self.imported(traces.training().write(self.path("trace.json")))

    def test_steps_are_the_marks_of_the_profiler(self):
        self.assertEqual(self.report["steps"]["count"], 30)
        self.assert_near(self.report["steps"]["steady"]["mean_ns"], 1_000_000)

    def test_stages_are_made_of_what_nests_in_nothing(self):
        stages = {name: stage["mean_ns"] for name, stage in self.report["stages"].items() if stage}
        expected = {"data": 299_000, "transfer": 15_000, "forward": 178_000, "backward": 290_000,
                    "optimizer": 90_000}
        for name, mean_ns in expected.items():
            self.assert_near(stages[name], mean_ns)

    def test_device_is_busy_and_idle_for_known_reasons(self):
        device = self.report["device"]
        steps, step_ns = 30, 1_000_000
        # The window ends with the last step of the host, 10 us before the next one would begin.
        self.assertEqual(device["window_ns"], sum(s["wall_ns"] for s in device["device_steps"]))
        self.assertEqual(device["busy_ns"], steps * (40 + 350) * 1000)
        self.assertEqual(device["compute_ns"], steps * 300_000)
        self.assertEqual(device["comm_ns"], steps * 100_000)
        self.assertEqual(device["comm_exposed_ns"], steps * 50_000)
        self.assertEqual(device["transfer_ns"], steps * 40_000)
        self.assertEqual(device["idle"]["comm_ns"], steps * 50_000)
        self.assertEqual(device["idle"]["transfer_ns"], steps * 40_000)
        # 310 to 320 is on its way, 360 to 380 is the host's, 380 to 400 on its way.
        self.assertEqual(device["idle"]["launch_ns"], steps * 30_000)
        self.assertEqual(device["idle"]["data_ns"], steps * 299_000)
        self.assertEqual(device["idle"]["unknown_ns"], 0)
        parts = device["compute_ns"] + sum(device["idle"].values()) - device["idle"]["data_ns"]
        self.assertEqual(parts, device["window_ns"])
        self.assertLess(device["window_ns"], steps * step_ns)

    def test_tables_of_kernels_copies_collectives_and_layers(self):
        device = self.report["device"]
        kernels = {kernel["name"]: kernel for kernel in device["kernels"]}
        self.assertEqual(kernels["conv_kernel<float, 3>"],
                         {"name": "conv_kernel<float, 3>", "calls": 30, "total_ns": 4_500_000,
                          "max_ns": 150_000})
        self.assertEqual(device["transfers"],
                         [{"kind": "host to device", "count": 30, "bytes": 1_200_000,
                           "total_ns": 1_200_000, "gb_per_s": 1.0}])
        self.assertEqual(device["collectives"],
                         [{"name": "allreduce of 1000 Float, 2 ranks", "calls": 30,
                           "total_ns": 3_000_000, "min_ns": 100_000, "max_ns": 100_000,
                           "elements": 1000, "ranks": 2}])
        layers = {layer["path"]: layer for layer in device["layers"]}
        self.assertEqual(layers["Net_0/Conv2d_0"]["device_ns"], 4_500_000)
        self.assertEqual(layers["Net_0"]["device_ns"], 4_500_000)
        self.assertEqual(layers["Net_0"]["calls"], 30)

    @unittest.skipUnless(jsonschema, "needs python3-jsonschema")
    def test_json_is_as_its_schema_says(self):
        path = os.path.join(os.path.dirname(TESTS), "docs", "report.schema.json")
        with open(path, encoding="utf-8") as file:
            jsonschema.validate(self.report, json.load(file))

    def test_every_command_reads_the_run(self):
        for command in (["info"], ["dump"], ["report"], ["report", "--steps"]):
            self.check([*command, "run"], FINE, stderr="")
        for form, out in (("csv", "a.csv"), ("csv-spans", "b.csv"), ("perfetto", "c.pftrace")):
            self.check(["export", form, "run", out], FINE)
        self.imported("trace.json", run="again")
        self.check(["compare", "run", "again"], FINE)
        self.check(["report", "run", "--html", "page.html"], FINE)
        with open(self.path("page.html"), encoding="utf-8") as file:
            self.assertIn("Devices, as the trace shows them", file.read())

    def test_report_says_what_the_trace_cannot_tell(self):
        text = self.check(["report", "run"], FINE).stdout
        self.assertIn("imported from another profiler's trace", " ".join(text.split()))
        self.assertNotIn("No layers", text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_nothing_is_lost(self):
        self.assertTrue(self.report["lost"]["whole"])
        self.assertIn("Whole     yes", self.check(["info", "run"], FINE).stdout)


class Forms(ImportTest):
    def same(self, path):
        name = f"run-{os.path.basename(path)}"
        report = self.imported(path, run=name)
        return {key: report[key] for key in ("stages", "device", "steps")}

    def test_all_forms_of_a_trace_make_the_same_run(self):
        trace = traces.training()
        expected = self.same(trace.write(self.path("plain.json")))
        self.assertEqual(self.same(trace.write(self.path("packed.json.gz"))), expected)
        self.assertEqual(self.same(trace.write(self.path("pretty.json"), indent=2)), expected)
        with open(self.path("array.json"), "w", encoding="utf-8") as file:
            json.dump(trace.events, file)
        array = self.same(self.path("array.json"))
        self.assertEqual(array["steps"], expected["steps"])
        self.assertEqual(array["device"]["kernels"], expected["device"]["kernels"])

    def test_order_of_events_does_not_matter(self):
        trace = traces.training()
        expected = self.same(trace.write(self.path("a.json")))
        trace.events.reverse()
        self.assertEqual(self.same(trace.write(self.path("b.json"))), expected)
        trace.events.sort(key=lambda event: (event["name"], event["ts"]))
        self.assertEqual(self.same(trace.write(self.path("c.json"))), expected)

    def test_words_of_2021_mean_the_same(self):
        trace = traces.training()
        expected = self.same(trace.write(self.path("new.json")))
        old = {"cpu_op": "Operator", "user_annotation": "Operator", "cuda_runtime": "Runtime",
               "kernel": "Kernel", "gpu_memcpy": "Memcpy"}
        for event in trace.events:
            event["cat"] = old.get(event["cat"], event["cat"])
            event["tid"] = str(event["tid"])
        self.assertEqual(self.same(trace.write(self.path("old.json"))), expected)

    def test_work_from_before_the_trace_does_not_count(self):
        trace = traces.training()
        trace.add("kernel", "early", -500, 2000, pid=0, thread=7, device=0, correlation=7)
        device = self.imported(trace.write(self.path("a.json")))["device"]
        self.assertEqual(device["busy_ns"], 30 * 390_000)
        self.assertGreater(device["idle"]["earlier_ns"], 0)
        self.assertNotIn("early", [kernel["name"] for kernel in device["kernels"]])

    def test_files_of_several_ranks_are_one_job(self):
        paths = [traces.training(distributedInfo={"rank": rank, "world_size": 2}).write(
                     self.path(f"rank{rank}.json")) for rank in (0, 1)]
        report = self.imported(*paths)
        self.assertEqual(sorted(loop["rank"] for loop in report["loops"]), [0, 1])
        self.assertEqual(sorted(d["rank"] for d in report["device"]["devices"]), [0, 1])
        self.assertEqual(report["run"]["processes"], 2)
        kernel = next(k for k in report["device"]["kernels"] if k["name"].startswith("conv_k"))
        self.assertEqual(kernel["calls"], 60)

    def test_trace_of_the_cpu_alone_has_steps_and_stages(self):
        trace = traces.training()
        trace.events = [event for event in trace.events
                        if event["cat"] in ("cpu_op", "user_annotation")]
        report = self.imported(trace.write(self.path("cpu.json")))
        self.assertEqual(report["steps"]["count"], 30)
        self.assert_near(report["stages"]["backward"]["mean_ns"], 290_000)
        self.assertEqual(report["device"]["devices"], [])

    def test_without_marks_updates_make_the_steps(self):
        trace = traces.training()
        trace.events = [event for event in trace.events
                        if not event["name"].startswith("ProfilerStep")]
        report = self.imported(trace.write(self.path("trace.json")))
        self.assertIn(report["steps"]["count"], (29, 30))

    def test_names_may_be_anything(self):
        trace = traces.training()
        for name in ("\x1b[31mred", "a\tb\nc\\d", "ünï", "x" * 20_000, "", "\u202eabc"):
            trace.launch(name, 5, 30_000, 1)
            trace.add("user_annotation", name, 2, 1)
        self.imported(trace.write(self.path("a.json")))
        text = self.check(["report", "run"], FINE).stdout
        self.assertNotIn("\x1b", text)


class Wrong(ImportTest):
    def refused(self, content, *words, name="trace.json"):
        with open(self.path(name), "wb") as file:
            file.write(content)
        done = self.check(["import", name, "-o", "run"], DATA, stdout="")
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual([entry for entry in os.listdir(self.folder) if entry != name], [])

    def test_cut_and_damaged_traces_are_refused_with_the_place(self):
        text = json.dumps(traces.training(3).document()).encode()
        for size in (1, 10, 100, len(text) // 2, len(text) - 1):
            self.refused(text[:size], f"damaged at byte {size}: ")
        self.refused(text.replace(b'"dur"', b'"dur', 1), "damaged at byte")
        self.refused(text + b"x", "data after the end")
        self.refused(b"", "damaged at byte 0")
        self.refused(b"PK\x03\x04", "damaged at byte")
        self.refused(b'{"a": 1}', "without \"traceEvents\"")
        self.refused(b'{"traceEvents": []}', "nothing to import")
        self.refused(b"[" * 100_000, "damaged at byte")
        self.refused(b'{"a": ' * 100_000, "damaged at byte")

    def test_cut_gzip_is_refused(self):
        path = traces.training(300).write(self.path("whole.json.gz"))
        with open(path, "rb") as file:
            data = file.read()
        os.unlink(path)
        self.refused(data[:len(data) // 2], "gzip", "truncated", name="cut.json.gz")
        damaged = bytearray(data)
        damaged[len(data) // 2] ^= 0xFF
        self.refused(bytes(damaged), "cut.json.gz", name="cut.json.gz")

    def test_times_that_no_clock_has_do_no_harm(self):
        trace = traces.training(3)
        for start, duration in ((10 ** 18, 5), (-10 ** 30, 1), (5, 10 ** 30), (7, -1)):
            trace.add("kernel", "odd", start, duration, pid=0, device=0, correlation=1)
        self.imported(trace.write(self.path("a.json")))

    def test_run_that_is_there_stays(self):
        traces.training(3).write(self.path("trace.json"))
        os.mkdir(self.path("run"))
        done = self.check(["import", "trace.json", "-o", "run"], USAGE)
        self.assertIn("already exists", done.stderr)
        self.check(["import", "none.json", "-o", "new"], DATA)
        self.assertFalse(os.path.exists(self.path("new")))

    def test_name_of_the_run_comes_from_the_trace(self):
        traces.training(3).write(self.path("trace.json.gz"))
        for run in ("stepscope-runs/trace", "stepscope-runs/trace-2"):
            self.assertIn(run, self.check(["import", "trace.json.gz"], FINE, env={
                **os.environ, "STEPSCOPE_DIR": ""}).stdout)
            self.assertTrue(os.path.isfile(self.path(run, "manifest")))


if __name__ == "__main__":
    unittest.main()
