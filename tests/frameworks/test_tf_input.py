"""What makes the batches of TensorFlow: its parts, and its lines in threads that exist for a call only."""

import re
import unittest

from framework import FrameworkTest, last_line


class Input(FrameworkTest):
    def train(self, kind):
        done = self.hooked("tf_input.py", kind, STEPSCOPE_SAMPLE_HZ="100")
        report = self.report()
        (found,) = [f for f in report["findings"] if f["id"] == "input-bound"]
        making = [line for line in report["hot"]["lines"] if line["stage"] == "data, in parallel"]
        return done, found, making

    def check_lines(self, making):
        """AutoGraph has made a file of its own of that function."""
        with open(self.command("tf_input.py")[1], encoding="utf-8") as file:
            source = file.read().splitlines()
        named = [line for line in making if line["file"]]
        self.assertTrue(named)
        for line in named:
            self.assertRegex(line["file"], r"/tf_input\.py$")
            self.assertRegex(line["function"], r"decode|convert")
            self.assertRegex(source[line["line"] - 1], "sleep|total|full|kind|def ", line)

    def test_python_that_computes(self):
        done, found, making = self.train("computes")
        said = last_line(done)
        self.assertEqual(said, {
            "plain": "tf.data", "ahead": "tf.data prefetch", "ahead below": "tf.data map:serial",
            "ahead and more": "tf.data cache prefetch", "options": "tf.data prefetch",
            "python": "tf.data map:python", "hidden": "tf.data map:python map:serial",
            "generator": "tf.data generator", "interleave": "tf.data interleave:serial",
            "parallel": "tf.data", "zip": "tf.data cache map:serial"})
        self.check_lines(making)
        self.assertRegex(found["advice"], "write .*decode with operations of TensorFlow")
        self.assertNotRegex(found["advice"], "prefetch|AUTOTUNE")
        self.assertIn("goes into", found["evidence"])

    def test_python_that_waits(self):
        _, found, making = self.train("waits")
        self.check_lines(making)
        self.assertIn("num_parallel_calls=16", found["advice"])
        self.assertTrue(re.search("mostly waits", found["evidence"]), found["evidence"])


if __name__ == "__main__":
    unittest.main()
