"""PyTorch: what compilers make of a model is the same with and without us, and their time is seen."""

import json
import os
import unittest

from framework import BUILD, FrameworkTest, counts_of


class Compilers(FrameworkTest):
    def test_they_make_the_same_of_a_model(self):
        plain = json.loads(self.plain("torch_compilers.py").stdout)
        self.assertGreater(plain["whole_graph"]["counted"]["stats"]["unique_graphs"], 0)
        self.compare(self.hooked("torch_compilers.py"), plain)
        self.runs = os.path.join(self.folder, "late")
        self.compare(self.plain("torch_compilers.py", "late", STEPSCOPE_DIR=self.runs,
                                PYTHONPATH=os.path.join(BUILD, "python")), plain)

    def compare(self, done, plain):
        hooked = json.loads(done.stdout)
        for case, made in plain.items():
            with self.subTest(case=case):
                self.assertEqual(hooked[case], made)
        self.assertGreater(counts_of(self.report())["", "torch.compile"], 0)


class Inductor(FrameworkTest):
    """The C++ compiler of the machine works for it, here once: both runs keep what it made in one folder,
    by the contents of the source. Each makes that source itself."""

    def setUp(self):
        super().setUp()
        self.environment = {
            "TMPDIR": self.folder,
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.folder, "cache"),
            "TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
            # Less to compile.
            "TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_VEC_ISA_OK": "0",
            "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}

    def test_it_makes_the_same_code_and_its_time_is_compile(self):
        hooked = json.loads(self.hooked("torch_inductor.py", **self.environment).stdout)
        plain = json.loads(self.plain("torch_inductor.py", **self.environment).stdout)
        self.assertTrue(any(name.endswith(".so") for name in hooked["written"]), hooked)
        for what in ("digest", "counted", "written"):
            self.assertEqual(hooked[what], plain[what])
        self.check_time(1e9 * hooked["seconds"][0])
        self.assert_all_hooked()

    def check_time(self, first_ns):
        report = self.report()
        self.assertEqual(report["steps"]["count"], 3)
        self.assertGreater(report["books"]["compile_ns"], 0.8 * first_ns)


if __name__ == "__main__":
    unittest.main()
