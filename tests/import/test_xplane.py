"""`stepscope import` of traces of TensorFlow's and JAX's profilers whose times are known."""

import gzip
import json
import os
import unittest

import traces
import xplane
from import_support import FINE, TESTS, ImportTest
from support import DATA

try:
    import jsonschema
except ImportError:
    jsonschema = None


class Devices(ImportTest):
    """Steps that the framework marked on each device."""

    def setUp(self):
        super().setUp()
        self.report = self.imported(
            xplane.tensorflow_gpu(devices=(2, 5)).write(self.path("vm.xplane.pb")))

    def test_each_device_with_steps_is_a_process_of_its_own(self):
        loops = self.report["loops"]
        self.assertEqual([loop["steps"]["count"] for loop in loops], [30, 30])
        self.assertEqual(sorted(loop["rank"] for loop in loops), [0, 1])
        stages = {name: stage["mean_ns"] for name, stage in self.report["stages"].items() if stage}
        for name, mean_ns in {"compute": 300_000, "comm": 50_000, "transfer": 40_000}.items():
            self.assert_near(stages[name], mean_ns)

    def test_steps_are_those_of_the_device_whatever_others_do(self):
        device = self.report["device"]
        for number in (2, 5):
            steps = [step for step in device["device_steps"] if step["id"] == number]
            self.assertEqual([step["number"] for step in steps], list(range(30)))
            self.assertEqual({step["wall_ns"] for step in steps}, {430_000})
            self.assertEqual({step["kernel_ns"] for step in steps}, {300_000})
            self.assertEqual({step["memcpy_ns"] for step in steps}, {40_000})
            self.assertEqual({step["comm_ns"] for step in steps}, {50_000})
            row = next(row for row in device["devices"] if row["id"] == number)
            self.assertEqual(row["window_ns"], 30 * 430_000)
            self.assertEqual(row["busy_ns"], 30 * 390_000)
            self.assertEqual(row["comm_ns"], 30 * 100_000)
            self.assertEqual(row["comm_exposed_ns"], 30 * 50_000)
            # 40 to 80: the host launches at 80, which is 60 on the clock of the device's step.
            self.assertEqual(row["idle_host_ns"], 30 * 20_000)
            self.assertEqual(row["idle_launch_ns"], 30 * 20_000)
            self.assertEqual(row["idle_unknown_ns"], 0)

    def test_derived_lines_are_not_counted_again(self):
        kernels = {kernel["name"]: kernel for kernel in self.report["device"]["kernels"]}
        self.assertEqual(kernels["conv_kernel<float, 3>"]["calls"], 60)
        self.assertEqual(kernels["conv_kernel<float, 3>"]["total_ns"], 60 * 200_000)
        self.assertEqual(set(kernels), {"conv_kernel<float, 3>", "gemm_kernel", "MemcpyH2D",
                                        "ncclAllReduceRingLLKernel"})

    def test_copies_have_their_size(self):
        self.assertEqual(self.report["device"]["transfers"],
                         [{"kind": "host to device", "count": 60, "bytes": 2_400_000,
                           "total_ns": 2_400_000, "gb_per_s": 1.0}])

    def test_layers_are_scopes_with_all_that_is_in_them(self):
        layers = {layer["path"]: layer for layer in self.report["device"]["layers"]}
        self.assertEqual(layers["net/block_1/conv"]["device_ns"], 60 * 200_000)
        self.assertEqual(layers["net/block_1/dense"]["device_ns"], 60 * 100_000)
        self.assertEqual(layers["net/block_1"]["device_ns"], 60 * 300_000)
        self.assertEqual(layers["net"]["calls"], 120)
        self.assertEqual(layers["net/block_1/conv"]["host_ns"], 60 * 15_000)

    def test_every_command_reads_the_run(self):
        for command in (["info"], ["dump"], ["report"], ["report", "--steps"]):
            self.check([*command, "run"], FINE, stderr="")
        self.check(["export", "perfetto", "run", "c.pftrace"], FINE)
        self.check(["report", "run", "--html", "page.html"], FINE)
        text = self.check(["report", "run"], FINE).stdout
        self.assertNotIn("with_stack", text)

    @unittest.skipUnless(jsonschema, "needs python3-jsonschema")
    def test_json_is_as_its_schema_says(self):
        path = os.path.join(os.path.dirname(TESTS), "docs", "report.schema.json")
        with open(path, encoding="utf-8") as file:
            jsonschema.validate(self.report, json.load(file))

    def test_device_without_steps_takes_no_part_in_those_of_others(self):
        trace = xplane.tensorflow_gpu(devices=(2, 5))
        del trace.planes[2].lines["Steps"]
        report = self.imported(trace.write(self.path("a.pb")), run="a")
        rows = {row["id"]: row for row in report["device"]["devices"]}
        self.assertEqual(rows[5]["window_ns"], 0)
        self.assertEqual(rows[2]["busy_ns"], 30 * 390_000)
        self.assertEqual(len(report["loops"]), 1)


class Hosts(ImportTest):
    """Steps that are calls on the host."""

    def check_keras(self, marks, steps=30):
        report = self.imported(xplane.keras(marks=marks).write(self.path("a.pb")))
        self.assertEqual(report["steps"]["count"], steps)
        self.assert_near(report["steps"]["steady"]["mean_ns"], 1_000_000)
        stages = {name: stage["mean_ns"] for name, stage in report["stages"].items() if stage}
        self.assert_near(stages["data"], 150_000)
        self.assert_near(stages["compute"], 400_000)
        layers = {layer["path"]: layer for layer in report["device"]["layers"]}
        self.assertEqual(layers["net/dense"]["host_ns"], 30 * 100_000)
        self.assertEqual(layers["net/slow"]["host_ns"], 30 * 200_000)
        self.assertEqual(layers["net/slow/inner"]["host_ns"], 30 * 50_000)
        self.assertEqual(layers["net"]["host_ns"], 30 * 300_000)
        self.assertEqual(layers["net"]["calls"], 120)

    def test_numbers_of_steps_make_them(self):
        self.check_keras("numbers")

    def test_calls_of_compiled_functions_make_them_up_to_the_next_one(self):
        self.check_keras("calls", 29)
        self.imported(xplane.keras(1).write(self.path("one.pb")), run="one")

    def test_runs_of_functions_make_them(self):
        self.check_keras("runs", 29)

    def test_text_lists_layers_by_time_on_the_host(self):
        self.imported(xplane.keras().write(self.path("a.pb")))
        text = self.check(["report", "run"], FINE).stdout
        self.assertIn("Layers by time on the host", text)
        self.assertRegex(text, r"net/slow +60 +6\.00 ms +66\.7 %")

    def test_layers_of_jax_come_from_the_compiled_program(self):
        for marks in (True, False):
            report = self.imported(xplane.jax(marks=marks).write(self.path("a.pb")),
                                   run=f"run-{marks}")
            self.assertEqual(report["steps"]["count"], 30 if marks else 29)
            self.assert_near(report["steps"]["steady"]["mean_ns"], 1_000_000)
            self.assert_near(report["stages"]["compute"]["mean_ns"], 790_000)
            layers = {layer["path"]: layer for layer in report["device"]["layers"]}
            self.assertEqual(layers["Net/slow"]["host_ns"], 30 * 690_000)
            self.assertEqual(layers["Net/first"]["host_ns"], 30 * 90_000)
            self.assertEqual(layers["Net"]["host_ns"], 30 * 780_000)
            self.assertEqual(set(layers), {"Net", "Net/first", "Net/slow"})

    def test_steps_on_the_host_divide_the_work_of_a_device(self):
        trace = xplane.tensorflow_gpu(marks=False)
        for step in range(30):
            trace.planes[0].add("python", "train", step * 1000, 990, step_num=step, _r=1)
        report = self.imported(trace.write(self.path("a.pb")))
        self.assertEqual(report["steps"]["count"], 30)
        device = report["device"]
        self.assertEqual({step["kernel_ns"] for step in device["device_steps"]}, {300_000})
        self.assertEqual(device["busy_ns"], 30 * 390_000)

    def test_time_of_day_is_that_of_the_trace(self):
        for name, start_ns in (("since begin", 5000), ("since 1970", xplane.BEGIN_NS + 5000)):
            trace = xplane.jax()
            host = trace.planes[1]
            for line, (key, _, events) in list(host.lines.items()):
                host.lines[line] = (key, start_ns, events)
            self.imported(trace.write(self.path("a.pb")), run=name)
            text = self.check(["report", name], FINE).stdout
            self.assertIn("Recorded  2023-11-14 22:13:20 UTC on machine", text)


class Bytes(ImportTest):
    def refused(self, content, *words, name="a.xplane.pb"):
        with open(self.path(name), "wb") as file:
            file.write(content)
        done = self.check(["import", name, "-o", "run"], DATA, stdout="")
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual([entry for entry in os.listdir(self.folder) if entry != name], [])

    def test_the_content_decides_what_a_file_is(self):
        trace = xplane.jax()
        expected = self.imported(trace.write(self.path("a.json")))["device"]
        with gzip.open(self.path("b.pb.gz"), "wb") as file:
            file.write(trace.message())
        self.assertEqual(self.imported("b.pb.gz", run="b")["device"], expected)
        with open(self.path("c.pb"), "w", encoding="utf-8") as file:
            file.write("\n" + json.dumps(traces.training(3).document()))
        self.assertEqual(self.imported("c.pb", run="c")["steps"]["count"], 3)

    def test_cut_and_damaged_traces_are_refused_with_the_place(self):
        content = xplane.jax(3).message()
        for size in (1, 2, 10, len(content) // 2, len(content) - 1):
            self.refused(content[:size], "damaged at byte ")
        self.refused(b"\x0a\x04\x12\x10ab", "damaged at byte 4: length past the end of what")
        self.refused(b"\x0a\x0b" + b"\x80" * 11, "damaged at byte 12: number too long")
        self.refused(b"\x0a\x02\x0b\x00", "damaged at byte 3: field of an unknown type")
        self.refused(b"\x0a\x02\x00\x00", "damaged at byte 3: field without a number")
        self.refused(b"\x0a\x01\x08", "damaged at byte 3: ")
        self.refused(b"\x0a\x00", "nothing to import")
        self.refused(content.decode("latin-1").encode(), "damaged at byte ")

    def test_cut_gzip_is_refused(self):
        packed = gzip.compress(xplane.jax(300).message())
        self.refused(packed[:len(packed) // 2], "gzip", "truncated", name="a.pb.gz")

    def test_pipe_cannot_be_read_twice(self):
        xplane.jax(3).write(self.path("a.pb"))
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        if os.fork() == 0:
            with open(self.path("a.pb"), "rb") as file, open(pipe, "wb") as out:
                out.write(file.read())
            os._exit(0)
        done = self.check(["import", "pipe", "-o", "run"], DATA)
        os.wait()
        self.assertIn("must be read twice", done.stderr)

    def test_times_that_no_clock_has_do_no_harm(self):
        trace = xplane.tensorflow_gpu(3)
        plane = trace.planes[1]
        for start, duration in ((10 ** 12, 5), (-10 ** 12, 5), (5, 9 * 10 ** 12), (7, -1)):
            plane.add("Stream #13(Compute)", "odd", start, duration)
        plane.line("Stream #99", 99, start_ns=-2 ** 63)
        plane.lines["Stream #99"][2].append((0, 0, xplane.number(1, 1)))
        self.imported(trace.write(self.path("a.pb")))

    def test_names_may_be_anything(self):
        trace = xplane.tensorflow_gpu(3)
        plane = trace.planes[1]
        for name in ("\x1b[31mred", "a\tb\nc\\d", "ünï", "x" * 20_000, "", "\u202eabc", "/:/"):
            plane.add("Stream #13(Compute)", name, 50, 5, annotation=f"{name}/a/{name}:Op")
            trace.planes[0].add("python", f"{name}/b:c", 50, 5)
        self.imported(trace.write(self.path("a.pb")))
        self.assertNotIn("\x1b", self.check(["report", "run"], FINE).stdout)


if __name__ == "__main__":
    unittest.main()
