"""`pip install` into a fresh virtual environment, with no more than a compiler on the path: the package,
its extension and the command, which work together."""

import json
import os
import shutil
import unittest

from interpreters import INTERPRETERS, NEWEST, ROOT, PythonTest, ask, environment

SOAK = os.environ.get("SOAK") == "1"

TRAINING = """
import stepscope
for _ in range(60):
    stepscope.step(samples=4)
    with stepscope.stage("data"):
        sum(range(2000))
    with stepscope.span("work"):
        sum(range(4000))
"""


class Pip(PythonTest):
    def compiler_only(self):
        """A path with a C compiler, what every system has and what makes manual pages, and nothing that
        other optional parts are made with."""
        os.makedirs(self.path("bin"), exist_ok=True)
        for tool in ("cc", "ar", "as", "ld", "nm", "objcopy", "ranlib", "strip", "sh", "cp", "mv", "rm",
                     "scdoc"):
            found = shutil.which(tool)
            if found and not os.path.exists(self.path("bin", tool)):
                os.symlink(found, self.path("bin", tool))
        return self.path("bin")

    def install(self, python):
        """The bin folder of a virtual environment with the package; it skips where pip finds no index."""
        place = self.path("venv")
        if ask(python, "__import__('ensurepip').__name__") != "ensurepip":
            self.skipTest("this interpreter comes without pip")
        self.execute([python, "-m", "venv", "--clear", place])
        own = os.path.join(place, "bin")
        env = environment(PATH=own + os.pathsep + self.compiler_only())
        pip = [os.path.join(own, "python"), "-m", "pip"]
        look = [*pip, "download", "--retries", "1", "--no-deps", "-d", self.path("seen"), "meson-python"]
        if self.execute(look, expect=None, env=env).returncode != 0:
            self.skipTest("pip finds no meson-python")
        self.execute([*pip, "install", "--no-deps", f"--config-settings=build-dir={place}/made", ROOT],
                     env=env)
        self.assertEqual(os.path.exists(os.path.join(place, "share/man/man1/stepscope-run.1")),
                         bool(shutil.which("scdoc")))
        return own, env

    def check(self, python):
        own, env = self.install(python)
        script = self.write("train.py", TRAINING)
        done = self.execute([os.path.join(own, "stepscope"), "run", "--dir", self.runs, "--",
                             "python", script], env=env)
        self.assertRegex(done.stderr, r"60 steps")
        listed = self.execute([os.path.join(own, "stepscope"), "report", "--json",
                               f"{self.runs}/latest"], env=env)
        report = json.loads(listed.stdout)
        self.assertEqual(report["steps"]["count"], 60)
        self.assertLessEqual({"data", "user"}, {span["stage"] for span in report["spans"]})
        looked = self.execute([os.path.join(own, "stepscope"), "doctor", "--json"], expect=None, env=env)
        build, = (line for line in json.loads(looked.stdout)["checks"] if line["group"] == "build")
        self.assertIn("nanopb", build["text"])
        alone = self.execute([os.path.join(own, "python"), "-c",
                              "import stepscope\nassert stepscope.start('own'), stepscope.status()\n"
                              "for _ in range(3): stepscope.step()\n"
                              "stepscope.stop()\nprint(stepscope.load()['steps']['count'])"], env=env)
        self.assertEqual(alone.stdout, "3\n")
        listed = self.execute([os.path.join(own, "python"), "-m", "stepscope", "list", "--json", "own"],
                              env=env)
        self.assertEqual([run["steps"] for run in json.loads(listed.stdout)], [3])

    def test_into_a_fresh_virtual_environment(self):
        for python in INTERPRETERS if SOAK else [NEWEST]:
            with self.subTest(python=python):
                self.runs = self.path("runs-" + python.replace("/", "-"))
                self.check(python)


if __name__ == "__main__":
    unittest.main()
