#!/usr/bin/env python3
"""What recording adds to a call of MPI.

    bench/bench_mpi.py BUILD      (BENCH_ROUNDS: blocks of 1000 calls, 300; needs `tools/setup mpi`)

An MPI_Allreduce on MPI_COMM_SELF, which does next to nothing, by its two names in turn: MPI_Allreduce is
recorded, PMPI_Allreduce is not. Median of the differences within a block, in ns, with 95 % interval.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from step_pairs import interval

BLOCKS = os.environ.get("BENCH_ROUNDS", "300")
TARGET_NS = 100
PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests/helpers/mpi_program.c")


def measure(build, mpi, folder):
    program = os.path.join(folder, mpi)
    subprocess.run([f"mpicc.{mpi}", "-O2", PROGRAM, "-o", program], check=True)
    done = subprocess.run([os.path.join(build, "stepscope"), "run", "--quiet", "--mpi", "--dir", folder, "--",
                           program, "--cost", BLOCKS], check=True, text=True, stdout=subprocess.PIPE)
    rows = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    found = interval([recorded - plain for recorded, plain in rows])
    plain = sorted(plain for _, plain in rows)[len(rows) // 2]
    print("  %s: a call of %.0f ns takes %.0f ns [%.0f, %.0f] more" % (mpi, plain, *found))
    verdict = "ok" if found[2] < TARGET_NS else "unresolved" if found[1] < TARGET_NS else "miss"
    print("RESULT %s_call_ns %.1f %.1f %.1f %d %s" % (mpi, *found, TARGET_NS, verdict), flush=True)


def main(build):
    with tempfile.TemporaryDirectory(prefix="stepscope-bench-") as folder:
        for mpi in ("openmpi", "mpich"):
            if shutil.which(f"mpicc.{mpi}"):
                measure(os.path.abspath(build), mpi, folder)
            else:
                print("mpicc.%s is not there: tools/setup mpi" % mpi)


if __name__ == "__main__":
    main(sys.argv[1])
