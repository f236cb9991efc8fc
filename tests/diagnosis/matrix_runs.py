"""Trains the cases of the matrix, and keeps of each what was found and what was true."""

import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import matrix_demo
from matrix_cases import Case

HERE = os.path.dirname(os.path.abspath(__file__))
TRAININGS = os.path.join(HERE, "trainings")
sys.path.insert(0, TRAININGS)

from busy_machine import Machine  # noqa: E402

PROGRAM = os.environ["STEPSCOPE_BIN"]
BUILD = os.environ.get("STEPSCOPE_BUILD", os.path.dirname(PROGRAM))
PYTHON = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON", "")
PATIENCE_S = 600
TOGETHER = 12  # cases of one process
DEMO_STEPS_WITHOUT, WARM_UP = 80, 10


def environment():
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("STEPSCOPE_", "PYTHON"))}
    return {**env, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3",
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
            "PYTHONPATH": os.path.join(BUILD, "python")}


def run(command, folder):
    done = subprocess.run(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        sys.exit("%s\n%s\nfailed: %s" % (done.stdout, done.stderr, " ".join(command)))
    return done


def report_of(run_folder):
    return json.loads(run([PROGRAM, "report", "--json", run_folder], None).stdout)


def keep(folder, case, report, truth, machine):
    path = os.path.join(folder, case.name + ".json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"case": case._asdict(), "report": trim(report), "truth": truth,
                   "machine": machine}, file)
    os.rename(path + ".new", path)


def trim(report):
    """What the score needs, and what one wants to see when it is bad."""
    return {key: report[key] for key in ("verdict", "findings", "steps", "books", "stages",
                                         "validity", "unobservable", "change")}


def supervise(folder, case, command, truth_of, before=()):
    """A command under `stepscope run`, with all that the supervisor sees."""
    machine = Machine()
    run([*before, PROGRAM, "run", "--quiet", "--dir", os.path.join(folder, "runs"), "--name",
         case.name, "--", *command], folder)
    machine = machine.end()
    truth = truth_of()
    # A training that looks at the machine itself does so without its own start.
    keep(folder, case, report_of(run_folder(folder, case)), truth, truth.get("machine", machine))


def demo_without(folder, case):
    """Seconds of each step without the faults."""
    if not case.faults:
        return []
    truth = os.path.join(folder, "without.truth.json")
    run(matrix_demo.command_of(PROGRAM, case, DEMO_STEPS_WITHOUT, truth), folder)
    return [ns / 1e9 for ns in read_json(truth)["steps"]["wall_ns"][WARM_UP:-1]]


def train_demo(folder, case):
    truth = os.path.join(folder, case.name + ".truth.json")
    before = demo_without(folder, case)
    step_ms = round(1e3 * statistics.median(before)) if before else 0
    command = matrix_demo.command_of(PROGRAM, case, case.steps, truth,
                                     matrix_demo.fault_words(case, step_ms))
    with matrix_demo.limited(case.faults.get("limit")) as enter:
        if enter is not None:  # else there is no result of it
            supervise(folder, case, command, lambda: matrix_demo.truth_of(
                read_json(truth), case, before + demo_without(folder, case)), enter)


def train_python(folder, case, *command):
    truth = os.path.join(folder, case.name + ".truth.json")
    supervise(folder, case, [PYTHON, *command, write_cases(folder, [case]), truth],
              lambda: read_json(truth))


def train_ranks(folder, case):
    train_python(folder, case, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                 "2", os.path.join(TRAININGS, "train_ranks.py"))


def train_watched(folder, case):
    train_python(folder, case, os.path.join(TRAININGS, "one_case.py"), case.trainer)


def train_together(folder, cases):
    """Cases of one framework, in one process."""
    run([PYTHON, os.path.join(TRAININGS, "each_run.py"), cases[0].trainer,
         os.path.join(folder, "runs"), write_cases(folder, cases)], folder)
    for case in cases:
        truth = read_json(os.path.join(folder, "runs", case.name + ".truth.json"))
        keep(folder, case, report_of(run_folder(folder, case)), truth, truth["machine"])


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_cases(folder, cases):
    listed = os.path.join(folder, "cases.json")
    with open(listed, "w", encoding="ascii") as file:
        json.dump([case._asdict() for case in cases], file)
    return listed


def runs_of(folder, case):
    """Date and time are before the name."""
    return glob.glob(os.path.join(folder, "runs", "*-" + glob.escape(case.name)))


def run_folder(folder, case):
    return runs_of(folder, case)[0]


def way_of(case):
    """How it is trained if it has a process of its own; None: with others."""
    alone = {"demo": train_demo, "ranks": train_ranks}.get(case.trainer)
    return alone or (train_watched if case.is_watched else None)


def batches(cases):
    """Cases that are trained at once."""
    batch = []
    for case in cases:
        if batch and (case.trainer != batch[0].trainer or way_of(case) or way_of(batch[0])
                      or len(batch) == TOGETHER):
            yield batch
            batch = []
        batch.append(case)
    if batch:
        yield batch


def train_batch(folder, batch):
    for case in batch:
        for left in runs_of(folder, case):  # of an attempt that was interrupted
            shutil.rmtree(left)
    way = way_of(batch[0])
    if way:
        way(folder, batch[0])
    else:
        train_together(folder, batch)


class Clock:
    """How long the rest will take, by what cases like them took."""

    def __init__(self, missing):
        self.missing = list(missing)
        self.took = {}

    def done(self, batch, seconds):
        count, before = self.took.get(self._like(batch[0]), (0, 0))
        self.took[self._like(batch[0])] = count + len(batch), before + seconds
        self.missing = self.missing[len(batch):]

    @staticmethod
    def _like(case):
        return case.trainer, case.is_watched, bool(case.faults)

    def left_s(self):
        every = [sum(column) for column in zip(*self.took.values())]
        mean = {like: seconds / count for like, (count, seconds) in self.took.items()}
        return sum(mean.get(self._like(case), every[1] / every[0]) for case in self.missing)


def train_all(folder, cases, say):
    """Those that have no result yet; `say` is called after each batch."""
    os.makedirs(os.path.join(folder, "runs"), exist_ok=True)
    missing = [case for case in cases
               if not os.path.exists(os.path.join(folder, case.name + ".json"))]
    clock = Clock(missing)
    for batch in batches(missing):
        start = time.monotonic()
        train_batch(folder, batch)
        clock.done(batch, time.monotonic() - start)
        say("%d of %d trained, about %.0f min left; last %s" % (
            len(cases) - len(clock.missing), len(cases), clock.left_s() / 60, batch[-1].name))


def report_again(folder, cases):
    """What the present program finds in runs that were trained before."""
    for result in results(folder, cases):
        case = Case(**result["case"])
        keep(folder, case, report_of(run_folder(folder, case)), result["truth"], result["machine"])


def results(folder, cases):
    """What is there of them."""
    found = []
    for case in cases:
        path = os.path.join(folder, case.name + ".json")
        if os.path.exists(path):
            found.append(read_json(path))
    return found
