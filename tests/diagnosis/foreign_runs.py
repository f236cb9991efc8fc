"""Runs foreign scripts, plain and under `stepscope run`, and keeps of each what was said and printed."""

import json
import os
import shlex
import shutil
import subprocess
import time

from matrix_runs import BUILD, PROGRAM, PYTHON, Machine, environment, read_json, report_of

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "foreign")
INCLUDE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "include")
PATIENCE_S = 1800  # for what takes half a minute alone, beside eight busy processes
KEPT = ("verdict", "findings", "unsure", "steps", "stages", "books", "validity", "job", "run")


def command_of(one, folder):
    """As a user calls it. A program in C is compiled first."""
    if one.framework != "c":
        return [PYTHON, os.path.join(SCRIPTS, one.name + ".py")]
    program = os.path.join(folder, one.name)
    compiler = shlex.split(os.environ.get("CC", "cc"))
    execute([*compiler, "-std=c11", "-O2", "-I", INCLUDE,
             os.path.join(SCRIPTS, one.name + ".c"), os.path.join(BUILD, "libstepscope.a"),
             "-lpthread", "-o", program], folder)
    return [program]


def execute(command, folder):
    """What it printed, and its seconds."""
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise ChildProcessError("%s\nfailed: %s" % (done.stderr[-3000:], " ".join(command)))
    return done.stdout, time.monotonic() - start


def loop_of(loop):
    return {key: loop[key] for key in ("rank", "name", "books", "negative_ns")} | {
        "steps": loop["steps"]["count"], "wall_ns": loop["books"]["wall_ns"]}


def evaluations_of(spans):
    """How often each evaluation was called, by name; and how many passes were in none of the other
    places. One after the last step is after the loop, so in no place."""
    passes = 0
    for span in spans:
        if span["stage"] in ("forward", "compute"):
            elsewhere = sum(row["count"] for row in span["loop"] if row["place"] != "eval")
            passes += span["count"] - elsewhere
    return {"calls": {span["name"]: span["count"] for span in spans if span["stage"] == "eval"},
            "passes": passes}


def trim(report):
    kept = {key: report[key] for key in KEPT}
    kept["loops"] = [loop_of(loop) for loop in report["loops"]]
    kept["evaluations"] = evaluations_of(report["spans"])
    kept["lines"] = report["hot"]["lines"][:12]
    return kept


def place_of(folder, one):
    return os.path.join(folder, "runs", one.name)


def record(folder, one):
    place = place_of(folder, one)
    shutil.rmtree(place, ignore_errors=True)
    machine = Machine()
    printed, seconds = execute(
        [PROGRAM, "run", "--quiet", "--dir", place, "--", *command_of(one, folder)], folder)
    return {"report": trim(report_of(os.path.join(place, "latest"))), "machine": machine.end(),
            "printed": printed, "seconds": seconds}


def run_plain(folder, one):
    """Without us, for what it prints."""
    return {"plain": execute(command_of(one, folder), folder)[0]}


def path_of(folder, one):
    return os.path.join(folder, one.name + ".json")


def keep(path, result):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(path + ".new", path)


def run_all(folder, cases, say):
    """What has no result yet: all recorded ones, then all plain ones. One that fails is said, and the
    others go on."""
    os.makedirs(os.path.join(folder, "runs"), exist_ok=True)
    todo = [(one, path_of(folder, one), record) for one in cases]
    todo += [(one, path_of(folder, one) + ".plain", run_plain) for one in cases]
    for one, path, run in todo:
        if os.path.exists(path):
            continue
        start = time.monotonic()
        try:
            keep(path, run(folder, one))
        except (ChildProcessError, subprocess.TimeoutExpired) as error:
            say(str(error))
            continue
        say("%.0f s: %s%s" % (time.monotonic() - start, one.name,
                              "" if run is record else ", plain"))


def report_again(folder, cases):
    """What the present program says about the same runs."""
    for one in cases:
        place = os.path.join(place_of(folder, one), "latest")
        if os.path.exists(path_of(folder, one)) and os.path.exists(place):
            result = read_json(path_of(folder, one))
            keep(path_of(folder, one), {**result, "report": trim(report_of(place))})


def result_of(folder, one):
    plain = path_of(folder, one) + ".plain"
    return {**read_json(path_of(folder, one)),
            "plain": read_json(plain)["plain"] if os.path.exists(plain) else None}


def results(folder, cases):
    return [(one, result_of(folder, one)) for one in cases
            if os.path.exists(path_of(folder, one))]
