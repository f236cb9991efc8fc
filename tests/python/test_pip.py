"""`pip install` into a fresh virtual environment, with no more than a compiler on the path: of an archive of the
source (sdist) and, in the long form, of the tree. The package, its extension and the command work together."""

import glob
import json
import os
import shutil
import tarfile
import unittest

from interpreters import INTERPRETERS, NEWEST, ROOT, PythonTest, ask, environment

SOAK = os.environ.get("SOAK") == "1"
PYTHONS = INTERPRETERS if SOAK else [NEWEST]

TRAINING = """
import stepscope
for _ in range(60):
    stepscope.step(samples=4)
    with stepscope.stage("data"):
        sum(range(2000))
    with stepscope.span("work"):
        sum(range(4000))
"""

ALONE = """
import stepscope
assert stepscope.start('own'), stepscope.status()
for _ in range(3):
    stepscope.step()
stepscope.stop()
print(stepscope.load()['steps']['count'])
"""


class Pip(PythonTest):
    def compiler_only(self):
        """A path with a C compiler and what every system has, and nothing that optional parts are made with."""
        os.makedirs(self.path("bin"), exist_ok=True)
        for tool in ("cc", "ar", "as", "ld", "nm", "objcopy", "ranlib", "strip", "sh", "cp", "mv", "rm"):
            found = shutil.which(tool)
            if found and not os.path.exists(self.path("bin", tool)):
                os.symlink(found, self.path("bin", tool))
        return self.path("bin")

    def make_environment(self, python, path, *packages):
        """The bin folder of a virtual environment with packages; it skips where pip finds no index."""
        if ask(python, "__import__('ensurepip').__name__") != "ensurepip":
            self.skipTest("this interpreter comes without pip")
        place = self.path(os.path.basename(python) + "-venv")
        self.execute([python, "-m", "venv", "--clear", place])
        own = os.path.join(place, "bin")
        env = environment(PATH=own + os.pathsep + path)
        pip = [os.path.join(own, "python"), "-m", "pip"]
        look = [*pip, "download", "--retries", "1", "--no-deps", "-d", self.path("seen"), "meson-python"]
        if self.execute(look, expect=None, env=env).returncode != 0:
            self.skipTest("pip finds no meson-python")
        if packages:
            self.execute([*pip, "install", *packages], env=env)
        return own, env

    def make_archive(self):
        """What `python -m build --sdist` makes of what is committed, where all tools are."""
        if not os.path.exists(os.path.join(ROOT, ".git")):
            self.skipTest("only a clone can be made an archive of")
        own, env = self.make_environment(NEWEST, os.environ["PATH"], "build", "meson-python")
        self.execute([os.path.join(own, "python"), "-m", "build", "--sdist", "--no-isolation", "--outdir",
                      self.path("dist"), ROOT], env=env)
        archive, = glob.glob(self.path("dist/stepscope-*.tar.gz"))
        return archive

    def install(self, python, source):
        own, env = self.make_environment(python, self.compiler_only())
        made = os.path.join(os.path.dirname(own), "made")
        self.execute([os.path.join(own, "python"), "-m", "pip", "install", "--no-deps",
                      f"--config-settings=build-dir={made}", source], env=env)
        return own, env

    def left_out(self, own, env):
        """What the doctor says is missing."""
        looked = self.execute([os.path.join(own, "stepscope"), "doctor", "--json"], expect=None, env=env)
        build, = (line for line in json.loads(looked.stdout)["checks"] if line["group"] == "build")
        return build["text"]

    def check(self, own, env):
        script = self.write("train.py", TRAINING)
        command = os.path.join(own, "stepscope")
        done = self.execute([command, "run", "--dir", self.runs, "--", "python", script], env=env)
        self.assertRegex(done.stderr, r"60 steps")
        listed = self.execute([command, "report", "--json", f"{self.runs}/latest"], env=env)
        report = json.loads(listed.stdout)
        self.assertEqual(report["steps"]["count"], 60)
        self.assertLessEqual({"data", "user"}, {span["stage"] for span in report["spans"]})
        shutil.rmtree(self.path("own"), ignore_errors=True)
        alone = self.execute([os.path.join(own, "python"), "-c", ALONE], env=env)
        self.assertEqual(alone.stdout, "3\n")
        listed = self.execute([os.path.join(own, "python"), "-m", "stepscope", "list", "--json", "own"],
                              env=env)
        self.assertEqual([run["steps"] for run in json.loads(listed.stdout)], [3])

    def test_an_archive_of_the_source_brings_what_few_machines_can_make(self):
        archive = self.make_archive()
        names = {name.partition("/")[2] for name in tarfile.open(archive).getnames()}
        there = {"manual pages": "made/man/stepscope-run.1" in names,
                 "zoom in HTML pages": "made/page_script.js" in names}
        self.assertEqual(there["manual pages"], bool(shutil.which("scdoc")))
        self.assertEqual(there["zoom in HTML pages"],
                         os.path.exists(os.path.join(ROOT, "web/node_modules/.bin/esbuild")))
        for python in PYTHONS:
            with self.subTest(python=python):
                self.runs = self.path("runs-" + python.replace("/", "-"))
                own, env = self.install(python, archive)
                left_out = self.left_out(own, env)
                self.assertIn("nanopb", left_out)
                self.assertEqual({part: part not in left_out for part in there}, there)
                self.assertEqual(os.path.exists(os.path.join(own, "../share/man/man1/stepscope-run.1")),
                                 there["manual pages"])
                self.check(own, env)

    @unittest.skipUnless(SOAK, "SOAK=1 builds the tree, too, which is what the archive is but for what that brings")
    def test_the_tree(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                self.runs = self.path("runs-" + python.replace("/", "-"))
                own, env = self.install(python, ROOT)
                left_out = self.left_out(own, env)
                self.assertIn("nanopb", left_out)
                self.assertIn("manual pages", left_out)
                self.check(own, env)


if __name__ == "__main__":
    unittest.main()
