"""Lightning and the Hugging Face Trainer with workers, and interrupted."""

import signal
import unittest

from framework import FrameworkTest, counts_of

BATCHES = 48  # of the training that comes to its end
BEFORE = 7  # steps before the interrupt


class Traps(FrameworkTest):
    def check(self, trainer, code):
        """How an interrupt ends it is the trainer's own matter."""
        plain = self.plain("trainer_traps.py", trainer, expect=code)
        self.assertEqual(self.hooked("trainer_traps.py", trainer, expect=code).stderr, plain.stderr)
        report = self.report()
        self.assertTrue(report["lost"]["whole"], report["lost"])
        loops = sorted(report["loops"], key=lambda loop: loop["start_ns"])
        found = [(loop["steps"]["count"], loop["steps"]["updates"], loop["epochs_seen"])
                 for loop in loops]
        self.assertEqual(found, [(BATCHES, BATCHES, 2), (BEFORE, BEFORE, 1)])
        self.assertEqual(loops[0]["steps"]["batches"], BATCHES)
        self.assertEqual(counts_of(report)["", "fetch"], BATCHES)
        fetches = [r for r in self.records() if r["kind"] == "span" and r["name"] == "fetch"]
        self.assertEqual(len({r["process"] for r in fetches}), 2)
        self.assertNotIn(loops[0]["process"], {r["process"] for r in fetches})

    def test_lightning(self):
        self.check("lightning", 1)

    def test_transformers(self):
        self.check("transformers", -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
