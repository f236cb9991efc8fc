"""Programs that call MPI, without a change to them: with Open MPI and with MPICH, in C, Fortran and Python."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from running import BUILD, PROGRAM, environment

HELPERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "helpers")
INCLUDE = os.path.join(os.path.dirname(os.path.dirname(HELPERS)), "include")
MPIS = ("openmpi", "mpich")
USAGE = 2
STEPS = 60
# A library that has the sanitizer is loaded into programs that do not have it.
ENVIRONMENT = environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                          OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl="self,vader",
                          ASAN_OPTIONS="verify_asan_link_order=0")
WITH_MPI4PY = "/usr/bin/python3"  # Debian's package, on Open MPI

MPI4PY = """
import array, sys, time
from mpi4py import MPI

own_ns = 0
mine, sums = array.array("d", [1.0] * 1000), array.array("d", [0.0] * 1000)
for step in range(int(sys.argv[1])):
    start = time.monotonic_ns()
    MPI.COMM_WORLD.Allreduce(mine, sums)
    own_ns += time.monotonic_ns() - start
    assert sums[999] == MPI.COMM_WORLD.Get_size()
print("rank", MPI.COMM_WORLD.Get_rank(), "comm_ns", own_ns)
"""


def missing():
    tools = [f"mpicc.{mpi}" for mpi in MPIS] + [f"mpirun.{mpi}" for mpi in MPIS] + ["gfortran"]
    return [tool for tool in tools if not shutil.which(tool)]


@unittest.skipIf(missing() and os.environ.get("CI") != "true", "no MPI: tools/setup mpi")
class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stepscope-mpi-")
        for mpi in MPIS:
            cls.compile(f"mpicc.{mpi}", f"plain.{mpi}", "mpi_program.c")
            cls.compile(f"mpicc.{mpi}", f"marked.{mpi}", "mpi_program.c", "-DWITH_STEPS", f"-I{INCLUDE}",
                        f"-L{BUILD}", "-lstepscope", f"-Wl,-rpath,{BUILD}")
            cls.compile(f"mpifort.{mpi}", f"fortran.{mpi}", "mpi_program.f90")

    @classmethod
    def compile(cls, compiler, name, source, *options):
        subprocess.run([compiler, "-O1", os.path.join(HELPERS, source), "-o", os.path.join(cls.folder, name),
                        *options], check=True, cwd=cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_command(self, *words, options=(), **more):
        """What `stepscope run` ended with, printed, and said."""
        return subprocess.run([PROGRAM, "run", "--dir", "runs", *options, "--", *words], cwd=self.folder,
                              env={**ENVIRONMENT, **more}, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    def run_ranks(self, mpi, *words, ranks=2, **more):
        """The report of the run, and the ns that each rank measured itself."""
        done = self.run_command(f"mpirun.{mpi}", "-n", str(ranks), *words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = re.findall(r"^rank (\d+) comm_ns (\d+)$", done.stdout, re.MULTILINE)
        return json.loads(self.latest("report", "--json")), {int(rank): int(ns) for rank, ns in told}

    def latest(self, *words, folder="runs"):
        """What a command prints about it."""
        return subprocess.run([PROGRAM, *words, os.path.join(folder, "latest")], cwd=self.folder, text=True,
                              env=environment(), stdout=subprocess.PIPE, check=True).stdout

    def runs(self, folder):
        done = subprocess.run([PROGRAM, "list", "--json"], cwd=self.folder, text=True, check=True,
                              env=environment(STEPSCOPE_DIR=folder), stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def spans(self):
        """Lengths of all calls in ns and their bytes, by rank and name."""
        loops = json.loads(self.latest("report", "--json"))["loops"]
        ranks = {loop["process"]: loop["rank"] for loop in loops}
        found = {}
        for line in self.latest("dump", "--json").splitlines():
            record = json.loads(line)
            if record["kind"] == "span":
                calls = found.setdefault((ranks.get(record["process"]), record["name"]), [])
                calls.append((record["end_ns"] - record["start_ns"], record["arg"], record["flags"]))
        return found

    def check_clock(self, spans, told):
        """The span of a call lies inside what the program measured around it, and is nearly all of that."""
        for rank, own_ns in told.items():
            calls = spans[rank, "MPI_Allreduce"]
            seen_ns = sum(call[0] for call in calls)
            self.assertLessEqual(seen_ns, own_ns)
            self.assertGreaterEqual(seen_ns, 0.95 * own_ns - 5000 * len(calls), (rank, own_ns, seen_ns))

    def test_calls_of_a_program_that_records_nothing_are_spans(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                _, told = self.run_ranks(mpi, f"./plain.{mpi}", str(STEPS))
                self.assertEqual(sorted(told), [0, 1])
                spans = self.spans()
                self.check_clock(spans, told)
                for rank in told:
                    self.assertEqual([call[1] for call in spans[rank, "MPI_Allreduce"]], [8000] * STEPS)
                    for name, bytes_ in (("MPI_Gatherv", 8), ("MPI_Allgather", 0), ("MPI_Sendrecv", 8),
                                         ("MPI_Barrier", 0)):
                        self.assertEqual([call[1] for call in spans[rank, name]], [bytes_], name)
                    self.assertEqual([call[2] for call in spans[rank, "MPI_Bcast"]], [["failed"]])
                    self.assertEqual(len(spans[rank, "MPI_Init"]), 1)

    def test_the_most_frequent_collective_makes_the_steps(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                report, _ = self.run_ranks(mpi, f"./plain.{mpi}", str(STEPS))
                self.assertEqual(sorted(loop["rank"] for loop in report["loops"]), [0, 1])
                for loop in report["loops"]:
                    self.assertEqual(loop["steps"]["source"], "collectives")
                    self.assertEqual(loop["steps"]["count"], STEPS)
                    self.assertGreater(loop["stages"]["comm"]["share"], 0)
                self.assertEqual(report["job"]["ranks"], 2)

    def test_steps_of_the_program_win(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                report, told = self.run_ranks(mpi, f"./marked.{mpi}", str(STEPS))
                for loop in report["loops"]:
                    self.assertEqual(loop["steps"]["source"], "step marks")
                    self.assertEqual(loop["steps"]["count"], STEPS - 1)  # from mark to mark
                self.check_clock(self.spans(), told)
                self.assertIn("2 processes", self.latest("info"))

    def test_fortran_calls_by_reference(self):
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.run_ranks(mpi, f"./fortran.{mpi}")
                spans = self.spans()
                for rank in (0, 1):
                    self.assertEqual([call[1] for call in spans[rank, "MPI_Allreduce"]], [8000] * 50)
                    self.assertEqual(len(spans[rank, "MPI_Barrier"]), 1)
                    self.assertEqual(len(spans[rank, "MPI_Init"]), 1)

    @unittest.skipUnless(os.path.isdir(os.path.join(BUILD, "python")), "a build without the package")
    def test_python_has_one_recorder(self):
        report, told = self.run_ranks("openmpi", WITH_MPI4PY, "-c", MPI4PY, str(STEPS))
        self.assertEqual(sorted(loop["rank"] for loop in report["loops"]), [0, 1])
        self.check_clock(self.spans(), told)
        self.assertIn("2 processes", self.latest("info"))

    def test_each_rank_may_have_its_own_launch(self):
        done = subprocess.run(["mpirun.mpich", "-n", "2", PROGRAM, "run", "--dir", "apart", "--quiet", "--",
                               "./plain.mpich", str(STEPS)], cwd=self.folder, env=ENVIRONMENT,
                              stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0)
        report = json.loads(self.latest("report", "--json", folder="apart"))
        self.assertEqual((report["job"]["ranks"], report["job"]["missing"]), (2, []))
        self.assertEqual(report["steps"]["source"], "collectives")

    def test_it_can_be_asked_for_and_refused(self):
        self.assertEqual(self.run_command("./plain.mpich", "30", options=["--mpi"]).returncode, 0)
        self.assertEqual(json.loads(self.latest("report", "--json"))["loops"][0]["steps"]["count"], 30)
        done = self.run_command("mpirun.mpich", "-n", "1", "./plain.mpich", "30",
                                options=["--no-mpi", "--name", "refused"])
        self.assertEqual(done.returncode, 0)
        self.assertEqual([run["steps"] for run in self.runs("runs") if run["name"] == "refused"], [0])
        done = self.run_command("true", options=["--mpi", "--no-mpi"])
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("--mpi and --no-mpi exclude each other", done.stderr)

    def test_without_its_library_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(PROGRAM, folder)
            done = subprocess.run([alone, "run", "--mpi", "--", "true"], cwd=folder, env=environment(),
                                  text=True, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("libstepscope-mpi.so", done.stderr)

    def test_results_and_exit_codes_are_those_of_the_program(self):
        done = self.run_command("mpirun.mpich", "-n", "2", "sh", "-c", "exit 7")
        self.assertEqual(done.returncode, 7)


if __name__ == "__main__":
    unittest.main()
