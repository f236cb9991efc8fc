"""Trains the pairs of the advice trials, and keeps of each what was printed and what was gained."""

import json
import os
import shutil
import subprocess
import time

import advice_pairs
from matrix_runs import PROGRAM, PYTHON, TRAININGS, environment, read_json, report_of

ROUNDS, ROUNDS_OF_PROCESSES, PATIENCE_S = 7, 3, 600


def run(command, folder, env=None):
    """Its error, in case it fails; else None."""
    done = subprocess.run(command, cwd=folder, env={**environment(), **(env or {})},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise ChildProcessError("%s\nfailed: %s" % (done.stdout[-3000:], " ".join(command)))


def training_of(pair, cure, *way):
    backend = advice_pairs.BACKENDS.get(pair.trainer)
    return [*(["env", "KERAS_BACKEND=" + backend] if backend else []), PYTHON,
            os.path.join(TRAININGS, "advice_train.py"), "keras" if backend else pair.trainer,
            pair.kind, json.dumps(cure), str(pair.steps), *way]


def fresh(folder, name):
    """A place for one run."""
    place = os.path.join(folder, "runs", name)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    return place


def only_run(place):
    (run_folder,) = [entry.path for entry in os.scandir(place) if not entry.is_symlink()]
    return run_folder


def record(folder, pair, cure, name, env=None):
    """What a user sees: the command under `stepscope run`."""
    place = fresh(folder, name)
    run([PROGRAM, "run", "--quiet", "--dir", place, "--", *training_of(pair, cure, "once")],
        folder, env)
    return report_of(only_run(place))


def train_in_turns(folder, pair, cure):
    """In one process."""
    out, place = os.path.join(folder, pair.name + ".turns"), fresh(folder, pair.name)
    run(training_of(pair, cure, "turns", str(ROUNDS), place, out), folder)
    return read_json(out), report_of(only_run(place))


def train_processes(folder, pair, cure):
    """What is in the environment is read when a process starts."""
    out, pairs = os.path.join(folder, pair.name + ".turns"), []

    def seconds(this):
        run(training_of(pair, this, "timed", out), folder, this["set"] if this else None)
        return read_json(out)["seconds"]

    for number in range(ROUNDS_OF_PROCESSES):
        order = (None, cure) if number % 2 else (cure, None)
        took = {str(this): seconds(this) for this in order}
        pairs.append((took["None"], took[str(cure)]))
    return {"pairs": pairs}, record(folder, pair, cure, pair.name, cure["set"])


def finding_of(report, name):
    """The first of that name; None: there is none."""
    return next((one for one in report["findings"] if one["id"] == name), None)


def trim(report):
    return {key: report[key] for key in ("verdict", "findings", "validity")}


def train(folder, pair):
    report = record(folder, pair, None, pair.name + "-fault")
    finding = finding_of(report, pair.finding)
    cure = advice_pairs.cure_of(pair, finding["advice"]) if finding else None
    result = {"pair": pair._asdict(), "report": trim(report), "cure": cure}
    if cure:
        way = train_processes if cure["is"] == advice_pairs.ENVIRONMENT else train_in_turns
        result["turns"], cured = way(folder, pair, cure)
        result["cured"] = trim(cured)
    return result


def keep(path, result):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(path + ".new", path)


def path_of(folder, pair):
    return os.path.join(folder, pair.name + ".json")


def train_all(folder, pairs, say):
    """Those that have no result yet. One that fails is said, and the others go on."""
    os.makedirs(os.path.join(folder, "runs"), exist_ok=True)
    missing = [pair for pair in pairs if not os.path.exists(path_of(folder, pair))]
    for number, pair in enumerate(missing):
        start = time.monotonic()
        try:
            keep(path_of(folder, pair), train(folder, pair))
        except (ChildProcessError, subprocess.TimeoutExpired) as error:
            say(str(error))
            continue
        say("%d of %d, %.0f s: %s" % (number + 1, len(missing), time.monotonic() - start,
                                      pair.name))


def results(folder, pairs):
    return [read_json(path_of(folder, pair)) for pair in pairs
            if os.path.exists(path_of(folder, pair))]
