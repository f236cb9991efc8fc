"""Traces that TensorFlow and JAX write here, of a layer that times itself."""

import glob
import json
import os
import re
import unittest

from framework import PROGRAM, FrameworkTest, last_line

STEPS = 8


class RealTraces(FrameworkTest):
    def trace(self, framework):
        """What the layer timed, and what the report of the imported trace says."""
        folder = os.path.join(self.folder, framework)
        timed = last_line(self.plain("xplane_truth.py", framework, folder))
        (path,) = glob.glob(os.path.join(folder, "plugins", "profile", "*", "*.xplane.pb"))
        run = os.path.join(self.folder, "run")
        self.execute([PROGRAM, "import", path, "-o", run])
        report = json.loads(self.execute([PROGRAM, "report", "--json", run]).stdout)
        return timed, report

    def layer_ns(self, report, path):
        """Keras may add a number to each component of a path."""
        pattern = re.compile("/".join(f"{part}(_[0-9]+)?" for part in path.split("/")))
        (layer,) = [layer for layer in report["device"]["layers"]
                    if pattern.fullmatch(layer["path"])]
        return layer["host_ns"]

    def test_layer_of_keras_takes_what_it_timed(self):
        timed, report = self.trace("keras")
        self.assertEqual(len(timed["forward"]), STEPS)
        self.assertEqual(report["steps"]["count"], STEPS - 1)
        true_ns = 1e9 * sum(timed["forward"])
        # Python is called by the operation: some time before and after is in it.
        self.assert_near(self.layer_ns(report, "functional/slow"), true_ns, 0.1, STEPS * 2e6,
                         "slow")

    def test_layer_of_flax_takes_what_it_timed_forward_and_backward(self):
        timed, report = self.trace("jax")
        self.assertEqual((len(timed["forward"]), len(timed["backward"])), (STEPS, STEPS))
        self.assertEqual(report["steps"]["count"], STEPS)
        true_ns = 1e9 * sum(timed["forward"] + timed["backward"])
        self.assert_near(self.layer_ns(report, "Net/slow"), true_ns, 0.1, STEPS * 2e6, "slow")
        compute_ns = report["stages"]["compute"]["total_ns"]
        self.assertGreater(compute_ns, true_ns)


if __name__ == "__main__":
    unittest.main()
