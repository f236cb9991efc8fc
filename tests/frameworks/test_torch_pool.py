"""PyTorch: the threads of OpenMP that compute for the loop are found, and what runs them."""

import unittest

from framework import FrameworkTest, last_line

NONE, GNU, LLVM = range(3)


class Pool(FrameworkTest):
    def train(self, threads, seconds="6"):
        said = last_line(self.hooked("torch_pool.py", str(threads), seconds, OMP_NUM_THREADS=str(threads)))
        found = {}
        for counter in self.report()["resources"]["counters"]:
            if counter["counter"].startswith("pool.") and counter["state"] == "value":
                found[counter["counter"]] = counter
        return said, found

    def test_a_pool_of_two_threads(self):
        said, found = self.train(2)
        self.assertEqual(found["pool.runtime"]["max"], GNU if said["is_gnu"] else LLVM)
        self.assertEqual(found["pool.threads"]["max"] >= 1, True)
        self.assertGreater(found["pool.cpu"]["gained"], 0)
        self.assertLessEqual(found["pool.cpu"]["gained"], said["most_ns"])

    def test_one_thread_is_no_pool(self):
        _, found = self.train(1, "3")
        self.assertEqual(found.get("pool.cpu", {"gained": 0})["gained"], 0)


if __name__ == "__main__":
    unittest.main()
