"""The examples of PyTorch, Lightning and Hugging Face do what they say."""

import unittest

from framework import FrameworkTest, counts_of


class Examples(FrameworkTest):
    def example(self, name, size, steps):
        self.hooked("../../examples/" + name, size, OMP_NUM_THREADS="1")
        report = self.report()
        self.assertEqual(report["steps"]["count"], steps)
        return report, counts_of(report)

    def test_pytorch(self):
        report, counts = self.example("pytorch_train.py", "40", 40)
        self.assertEqual(counts["", "torch.save"], 1)
        self.assertGreater(report["books"]["eval_ns"], 0)

    def test_lightning(self):
        report, counts = self.example("lightning_train.py", "1", 100)
        self.assertEqual(counts["Histogram", "on_train_batch_end"], 100)
        self.assertEqual(counts["CSVLogger", "log_metrics"], 3)
        self.assertEqual(report["plan"]["steps"], 100)

    def test_huggingface(self):
        report, counts = self.example("huggingface_train.py", "1", 50)
        self.assertEqual(report["steps"]["batches"], 100)
        self.assertEqual(counts["Watch", "on_step_end"], 50)
        self.assertEqual(counts["Trainer", "evaluate"], 1)


if __name__ == "__main__":
    unittest.main()
