"""Trains the cases of the matrix, and keeps of each what was found and what was true."""

import glob
import json
import os
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ["STEPSCOPE_BIN"]
BUILD = os.environ.get("STEPSCOPE_BUILD", os.path.dirname(PROGRAM))
PYTHON = os.environ.get("STEPSCOPE_FRAMEWORKS_PYTHON", "")
PATIENCE_S = 600
TOGETHER = 12  # cases of one process

DEMO_KINDS = {  # steps of some milliseconds, in which callbacks and evaluation are next to nothing
    "narrow": ("--hidden", "256,128", "--batch", "128"),
    "deep": ("--hidden", "128,128,128,128", "--batch", "128"),
    "one layer": ("--hidden", "256", "--batch", "192"),
    "large batches": ("--hidden", "128,64", "--batch", "256"),
}
EVERY = 100  # steps between two checkpoints of the built-in trainer
PAUSE_EVERY = 25
DEMO_STEPS_WITHOUT, WARM_UP = 80, 10


def demo_fault(fault, size, hidden_ms):
    """As the command has it. Its loader works beside the loop: what that takes is hidden."""
    return {"input": "slow-input=%dms" % (size + hidden_ms),
            "callback": "slow-callback=MetricLog:%dms" % size,
            "checkpoint": "checkpoint-stall=%dms" % (EVERY * size),
            "pause": "periodic-pause=%d:%dms" % (PAUSE_EVERY, PAUSE_EVERY * size),
            "drift": "growing-step=%dus" % (1000 * size // 100), "hog": "cpu-hog=%d" % size}[fault]


class Machine:
    """What other processes did meanwhile, from the kernel's own counters, read here."""

    def __init__(self):
        self.start = self._now()

    @staticmethod
    def _now():
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        own = resource.getrusage(resource.RUSAGE_CHILDREN)
        hertz = os.sysconf("SC_CLK_TCK")
        return {"busy": (sum(ticks) - ticks[3] - ticks[4] - ticks[7]) / hertz,
                "steal": ticks[7] / hertz, "own": own.ru_utime + own.ru_stime,
                "wall": time.monotonic()}

    def end(self):
        """Parts of all cores: what others used, and what the hypervisor took."""
        gained = {key: value - self.start[key] for key, value in self._now().items()}
        cores = gained["wall"] * os.cpu_count()
        return {"others": max(0.0, gained["busy"] - gained["own"]) / cores,
                "steal": gained["steal"] / cores}


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


def demo_truth(path, case, without):
    """The same form as that of trainings/each_run.py: seconds by fault of each step."""
    truth = read_json(path)
    columns, spent = truth["steps"], {fault["name"]: fault["spent_ns"] for fault in truth["faults"]}
    steps = []
    for i in range(columns["count"]):
        step = {"input": columns["data_ns"][i], "callback": columns["callback_ns"][i]}
        step["other"] = columns["wall_ns"][i] - sum(step.values())
        steps.append({name: ns / 1e9 for name, ns in step.items()})
    for fault, of in (("pause", "periodic-pause"), ("drift", "growing-step")):
        if fault in case.faults:  # known in all, not of each step
            for step in steps:
                step[fault] = spent[of] / 1e9 / len(steps)
                step["other"] -= step[fault]
    steps[-1]["checkpoint"] = truth["loop"]["checkpoint_ns"] / 1e9
    steps[-1]["eval"] = truth["loop"]["eval_ns"] / 1e9
    return {"steps": steps, "cuts": ["eval", "checkpoint"], "waited": 0.0, "without": without}


def demo_without(folder, case):
    """Seconds of each step without the faults."""
    if not case.faults:
        return []
    truth = os.path.join(folder, "without.truth.json")
    run([PROGRAM, "demo", "--plain", "--steps", str(DEMO_STEPS_WITHOUT), "--truth", truth,
         *DEMO_KINDS[case.kind]], folder)
    return [ns / 1e9 for ns in read_json(truth)["steps"]["wall_ns"][WARM_UP:-1]]


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


def supervise(folder, case, command, truth_of):
    """A command under `stepscope run`, with all that the supervisor sees."""
    machine = Machine()
    run([PROGRAM, "run", "--quiet", "--dir", os.path.join(folder, "runs"), "--name", case.name,
         "--", *command], folder)
    machine = machine.end()
    keep(folder, case, report_of(run_folder(folder, case)), truth_of(), machine)


def train_demo(folder, case):
    truth = os.path.join(folder, case.name + ".truth.json")
    before = demo_without(folder, case)
    hidden_ms = case.faults.get("callback", 0)
    if before:
        hidden_ms += round(1e3 * statistics.median(before))
    words = [word for fault, size in case.faults.items()
             for word in ("--fault", demo_fault(fault, size, hidden_ms))]
    command = [PROGRAM, "demo", "--plain", "--steps", str(case.steps), "--truth", truth,
               *DEMO_KINDS[case.kind], *words]
    supervise(folder, case, command,
              lambda: demo_truth(truth, case, before + demo_without(folder, case)))


def train_ranks(folder, case):
    truth = os.path.join(folder, case.name + ".truth.json")
    command = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
               os.path.join(HERE, "trainings", "train_ranks.py"), write_cases(folder, [case]), truth]
    supervise(folder, case, command, lambda: read_json(truth))


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_cases(folder, cases):
    listed = os.path.join(folder, "cases.json")
    with open(listed, "w", encoding="ascii") as file:
        json.dump([case._asdict() for case in cases], file)
    return listed


def run_folder(folder, case):
    """Date and time are before the name."""
    return glob.glob(os.path.join(folder, "runs", "*-" + glob.escape(case.name)))[0]


def train_together(folder, cases):
    """Cases of one framework, in one process."""
    machine = Machine()
    run([PYTHON, os.path.join(HERE, "trainings", "each_run.py"), cases[0].trainer,
         os.path.join(folder, "runs"), write_cases(folder, cases)], folder)
    machine = machine.end()
    for case in cases:
        truth = read_json(os.path.join(folder, "runs", case.name + ".truth.json"))
        keep(folder, case, report_of(run_folder(folder, case)), truth, machine)


ALONE = {"demo": train_demo, "ranks": train_ranks}


def batches(cases):
    """Cases that are trained at once."""
    batch = []
    for case in cases:
        if batch and (case.trainer != batch[0].trainer or case.trainer in ALONE
                      or len(batch) == TOGETHER):
            yield batch
            batch = []
        batch.append(case)
    if batch:
        yield batch


def train_all(folder, cases, say):
    """Those that have no result yet; `say` is told after each batch."""
    os.makedirs(os.path.join(folder, "runs"), exist_ok=True)
    missing = [case for case in cases
               if not os.path.exists(os.path.join(folder, case.name + ".json"))]
    done = len(cases) - len(missing)
    for batch in batches(missing):
        for case in batch:  # of an attempt that was interrupted
            for left in glob.glob(os.path.join(folder, "runs", "*-" + glob.escape(case.name))):
                subprocess.run(["rm", "-rf", left], check=True)
        if batch[0].trainer in ALONE:
            ALONE[batch[0].trainer](folder, batch[0])
        else:
            train_together(folder, batch)
        done += len(batch)
        say("%d of %d trained, last %s" % (done, len(cases), batch[-1].name))


def results(folder, cases):
    """What is there of them."""
    found = []
    for case in cases:
        path = os.path.join(folder, case.name + ".json")
        if os.path.exists(path):
            found.append(read_json(path))
    return found
