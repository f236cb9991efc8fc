"""Jobs of real processes: `stepscope run` in front of each rank, and in front of their launcher."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(os.environ["STEPSCOPE_BUILD"], "stepscope")
RANKS = os.path.join(HERE, "ranks.py")
LAUNCHER = """
import os, subprocess, sys
world = int(sys.argv[1])
ranks = [subprocess.Popen(sys.argv[2:], env={**os.environ, "RANK": str(i), "WORLD_SIZE": str(world)}) for i in range(world)]
sys.exit(max(rank.wait() for rank in ranks))
"""
CLEARED = ("STEPSCOPE_", "RANK", "WORLD_SIZE", "MASTER_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC", "TF_CONFIG", "JAX_")


class JobTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stepscope-job-")
        self.addCleanup(shutil.rmtree, self.folder)

    def environment(self, **more):
        env = {key: value for key, value in os.environ.items() if not key.startswith(CLEARED)}
        meeting = os.path.join(self.folder, "meeting-%d" % len(glob.glob(os.path.join(self.folder, "meeting*"))))
        return {**env, "PYTHONUNBUFFERED": "1", "MEETING": meeting, **more}

    def start(self, env, *words):
        return subprocess.Popen([PROGRAM, "run", "--dir", "runs", *words], env=env, cwd=self.folder,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def each(self, world, *arguments, options=(), ranks=None, env=None, **variables):
        """Runs each rank below a supervisor of its own; what they said, by rank."""
        env = env or self.environment()
        started = []
        for rank in range(world) if ranks is None else ranks:
            own = {key: value % rank if "%d" in value else value for key, value in variables.items()}
            started.append(self.start({**env, **own}, *options, "--", sys.executable, RANKS, *map(str, arguments)))
        return [process.communicate()[1] for process in started]

    def torchrun(self, world, *arguments, **more):
        return self.each(world, *arguments, RANK="%d", WORLD_SIZE=str(world), TORCHELASTIC_RUN_ID="abc", **more)

    def stepscope(self, *words, code=0):
        result = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True,
                                env=self.environment(STEPSCOPE_DIR="runs"))
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout

    def report(self, *words):
        return json.loads(self.stepscope("report", "--json", *words))

    def runs(self):
        return sorted(os.path.relpath(path, os.path.join(self.folder, "runs"))
                      for path in glob.glob(os.path.join(self.folder, "runs", "*", "rank-*"))
                      if "/latest/" not in path)


class InFrontOfEachRank(JobTest):
    def test_one_job_one_summary_one_row(self):
        said = self.torchrun(3, 60, 1)
        self.assertEqual(self.runs(), ["torchrun-abc/rank-0", "torchrun-abc/rank-1", "torchrun-abc/rank-2"])
        self.assertEqual(said[1:], ["", ""])
        self.assertIn("straggler: rank 1 is slower than the others", said[0])
        self.assertIn("stepscope report runs/torchrun-abc", said[0])
        report = self.report("latest")
        self.assertEqual((report["job"]["id"], report["job"]["ranks"], report["job"]["world"]), ("abc", 3, 3))
        self.assertEqual((report["job"]["blame"][0]["rank"], report["job"]["blame"][0]["stage"]), (1, "forward"))
        self.assertTrue(all(launch["ended"] for launch in report["job"]["launches"]))
        self.assertEqual([loop["rank"] for loop in report["loops"]], [0])
        rows = json.loads(self.stepscope("list", "--json", "runs"))
        self.assertEqual([row["name"] for row in rows], ["torchrun-abc"])
        self.assertEqual(rows[0]["verdict"], "straggler")
        other = self.stepscope("report", "--rank", "2", "latest")
        self.assertNotIn("Job abc", other)
        self.assertIn("60 steps", other)
        self.stepscope("report", "--rank", "3", "latest", code=3)
        self.assertIn("rank-0", self.stepscope("info", "latest"))

    def test_the_same_as_in_front_of_the_launcher(self):
        """Two recordings of one training cannot be equal; what they say of it is."""
        self.torchrun(2, 80, 1)
        whole = self.start(self.environment(), "--name", "whole", "--", sys.executable, "-c", LAUNCHER, "2",
                           sys.executable, RANKS, "80", "1")
        said = whole.communicate()[1]
        self.assertIn("straggler: rank 1", said)
        one, other = self.report("torchrun-abc")["job"], self.report("whole")["job"]
        for key in ("ranks", "hosts", "world", "missing"):
            self.assertEqual(one[key], other[key])
        for key in ("rank", "host", "stage"):
            self.assertEqual(one["blame"][0][key], other["blame"][0][key])
        ranks = json.loads(self.stepscope("ranks", "--json", "whole"))["ranks"]
        self.assertEqual([row["rank"] for row in ranks], [1, 0])
        self.assertIn("Ranks: 2 on 1 host", self.stepscope("report", "whole"))

    def test_below_another_supervisor_they_are_one_run(self):
        env = self.environment()
        whole = self.start(env, "--name", "nested", "--", sys.executable, "-c", LAUNCHER, "2",
                           PROGRAM, "run", "--", sys.executable, RANKS, "20", "1")
        whole.communicate()
        self.assertEqual(self.runs(), [])
        self.assertEqual(self.report("nested")["job"]["ranks"], 2)

    def test_started_again_it_is_another_job(self):
        for _ in range(2):
            self.torchrun(2, 15, 1)
        self.assertEqual(self.runs(), ["torchrun-abc-2/rank-0", "torchrun-abc-2/rank-1",
                                       "torchrun-abc/rank-0", "torchrun-abc/rank-1"])
        self.assertEqual(self.report("torchrun-abc-2")["job"]["ranks"], 2)

    def test_slurm_and_the_script_of_its_batch(self):
        self.each(2, 15, 1, SLURM_PROCID="%d", SLURM_NTASKS="2", SLURM_JOB_ID="17", SLURM_STEP_ID="0")
        self.assertEqual(self.runs(), ["slurm-17.0/rank-0", "slurm-17.0/rank-1"])
        self.each(1, 15, 1, SLURM_PROCID="0", SLURM_NTASKS="1", SLURM_JOB_ID="18", options=("--name", "batch"))
        self.assertIsNone(self.report("batch")["job"])

    def test_a_job_by_its_name(self):
        """In front of launchers on two hosts: --job, and their ranks by what they record."""
        env = self.environment()
        halves = [self.start({**env, "RANK_OF": str(i)}, "--job", "mine", "--", sys.executable, "-c",
                             "import os, sys; os.environ['RANK'] = os.environ['RANK_OF']; "
                             "os.environ['WORLD_SIZE'] = '2'; os.execv(sys.executable, [sys.executable] + sys.argv[1:])",
                             RANKS, "40", "1") for i in range(2)]
        said = [half.communicate()[1] for half in halves]
        self.assertEqual(said[1], "")
        self.assertIn("straggler: rank 1", said[0])
        job = self.report("mine")["job"]
        self.assertEqual((job["ranks"], len(job["launches"])), (2, 2))


class WhatIsLost(JobTest):
    def test_a_rank_that_is_killed(self):
        self.torchrun(3, 60, 1, 2)
        job = self.report("latest")["job"]
        self.assertEqual([launch["signal"] for launch in job["launches"]], [0, 0, 9])
        self.assertEqual(job["ranks"], 3)
        self.assertIn("1 launch failed (rank-2 on ", self.stepscope("report", "latest"))

    def test_a_supervisor_that_is_killed(self):
        """The training goes on, and the others' report says that this launch told no end."""
        self.torchrun(3, 60, 1, "supervisor2")
        job = self.report("latest")["job"]
        self.assertEqual([launch["ended"] for launch in job["launches"]], [True, True, False])
        self.assertIn("did not report an end: still running, or lost (rank-2 on ",
                      " ".join(self.stepscope("report", "latest").split()))

    def test_a_node_that_vanishes(self):
        self.torchrun(3, 40, 1)
        shutil.rmtree(os.path.join(self.folder, "runs", "torchrun-abc", "rank-1"))
        job = self.report("latest")["job"]
        self.assertEqual((job["ranks"], job["missing"]), (2, [1]))
        self.assertIn("Missing: 1 of 3 ranks recorded nothing here (1)", self.stepscope("report", "latest"))

    def test_records_that_are_elsewhere(self):
        self.torchrun(2, 40, 1)
        self.stepscope("join", "out", "runs/torchrun-abc")
        text = self.stepscope("report", "out")
        self.assertIn("Records: none of this job are here. Those of rank 0 are in", text)
        shutil.copytree(os.path.join(self.folder, "runs/torchrun-abc/rank-1"), os.path.join(self.folder, "out/rank-1"))
        self.assertIn("Rank 1\n", self.stepscope("report", "out"))
        self.stepscope("report", "--rank", "0", "out", code=3)

    def test_it_is_removed_as_a_whole(self):
        self.torchrun(2, 15, 1)
        self.stepscope("remove", "--yes", "torchrun-abc")
        self.assertEqual(self.runs(), [])


UNSHARE = ("unshare", "--uts", "--time", "--monotonic", "5000", "--fork")
CAN_UNSHARE = shutil.which("unshare") and subprocess.run(
    [*UNSHARE, "hostname", "host-b"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(CAN_UNSHARE, "needs namespaces of host names and clocks")
class TwoHosts(JobTest):
    def test_a_host_with_a_clock_of_its_own(self):
        """Another name, and a monotonic clock that is 5000 s ahead: the times are the job's all the same."""
        env = self.environment(WORLD_SIZE="2", TORCHELASTIC_RUN_ID="two")
        here = self.start({**env, "RANK": "0"}, "--", sys.executable, RANKS, "60", "1")
        there = subprocess.Popen(
            [*UNSHARE, "sh", "-c", 'hostname host-b && exec "$@"', "sh", PROGRAM, "run", "--dir", "apart", "--",
             sys.executable, RANKS, "60", "1"],
            env={**env, "RANK": "1"}, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = [process.communicate()[1] for process in (here, there)]
        self.assertIn("stepscope report apart/torchrun-two", said[1])  # the lowest rank that it knows of
        self.assertEqual(self.report("runs/torchrun-two")["job"]["missing"], [1])
        self.stepscope("join", "both", "runs/torchrun-two", "apart/torchrun-two")
        job = self.report("both")["job"]
        self.assertEqual((job["ranks"], job["hosts"], job["missing"]), (2, 2, []))
        self.assertEqual((job["blame"][0]["rank"], job["blame"][0]["host"]), (1, "host-b"))
        took = float(self.stepscope("report", "both").split(", took ")[1].split(" s")[0])
        self.assertTrue(1 < took < 600, took)


if __name__ == "__main__":
    unittest.main()
