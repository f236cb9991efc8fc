#!/usr/bin/python3
"""Records the corpus again: tests/corpus/make_corpus.py [--build BUILD] GROUP...

A group is a file GROUP.tar.xz of tests/data/corpus; GROUPS below says what is in it. Most runs are those
that the existing tests make: the tests run, and what is in their directories when they remove them is
collected. Of these, runs are kept that let the command say something that no run before let it say.
Then `check_corpus.py --update` writes what the program says about them; run it with a program that is
known to be right. Needs a release build, and for frameworks `tools/frameworks`.
"""

import argparse
import glob
import io
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

import corpus

ROOT = os.path.dirname(os.path.dirname(corpus.HERE))
TESTS = os.path.join(ROOT, "tests")
COLLECT = os.path.join(corpus.HERE, "collect_runs.py")
MOST_BYTES = 3 << 20  # of one run
STEPS = "150"
LEAST_NEW = 6  # parts of sentences that a collected run must add
STATE, RUNNING = 256, 1  # offset in the header, and what it says of a process that did not end

# Runs of the built-in trainer: faults and options. Sizes are such that few steps show them.
DEMO = {
    "healthy": (), "healthy-2": ("--seed", "2"), "healthy-3": ("--seed", "3"),
    "slow-input": ("--fault", "slow-input"),
    "slow-callback": ("--fault", "slow-callback"),
    "slow-callback-2": ("--fault", "slow-callback", "--seed", "2"),
    "slow-callback-3": ("--fault", "slow-callback", "--seed", "3"),
    "slow-callback-every": ("--fault", "slow-callback-every=MetricLog:25:20ms"),
    "tiny-batch": ("--fault", "tiny-batch"),
    "cpu-hog": ("--fault", "cpu-hog=4"),
    "checkpoint-stall": ("--fault", "checkpoint-stall"),
    "growing-step": ("--fault", "growing-step=50us"),
    "leak": ("--fault", "leak=1MB"),
    "periodic-pause": ("--fault", "periodic-pause=25:50ms"),
    "long-warm-up": ("--fault", "long-warm-up"),
    "heavy-layer": ("--fault", "heavy-layer"),
    "two-faults": ("--fault", "slow-input=8ms", "--fault", "slow-callback"),
    "few-steps": ("--steps", "9"),
    "one-step": ("--steps", "1"),
    "epochs": ("--epochs", "3", "--batch", "256"),
}

# Tests that make the runs of a group; after a colon, which of them.
GROUPS = {
    "demo": (),
    "life": (),
    "made": ("report/test_report_text.py", "report/test_report_json.py", "report/test_report_sense.py",
             "report/test_report_findings.py", "report/test_report_calls.py",
             "report/test_report_own_code.py", "report/test_report_summary.py",
             "report/test_report_argument.py", "export/test_csv.py", "export/test_perfetto.py",
             "tensorboard/test_event_files.py:Values", "page/test_page_values.py",
             "diagnosis/test_attribution.py", "diagnosis/test_sure_findings.py",
             "diagnosis/test_scripted_machine.py:Scripted", "cli/test_compare.py", "cli/test_info.py",
             "cli/test_dump.py"),
    "format": (),
    "keras": ("frameworks/test_keras.py", "frameworks/test_keras_seeds.py",
              "frameworks/test_keras_callbacks.py", "frameworks/test_tensorflow.py"),
    "torch": ("frameworks/test_torch.py", "frameworks/test_torch_inputs.py",
              "frameworks/test_torch_ranks.py", "frameworks/test_torch_traps.py",
              "frameworks/test_device_events.py"),
    "jax": ("frameworks/test_jax.py",),
    "trainers": ("frameworks/test_lightning.py", "frameworks/test_hf_train.py",
                 "frameworks/test_trainer_traps.py", "frameworks/test_callback_findings.py"),
}


def record(build, out, *words, kill_after_s=None):
    """Runs `stepscope run` and moves the run to `out`."""
    program = os.path.join(build, "stepscope")
    with tempfile.TemporaryDirectory(prefix="stepscope-corpus-") as folder:
        env = {key: value for key, value in os.environ.items() if not key.startswith("STEPSCOPE_")}
        command = [program, "run", "--quiet", "--no-pack", "--dir", "runs", "--", *words]
        with subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as supervisor:
            if kill_after_s:
                time.sleep(kill_after_s)
                recorded, = glob.glob(os.path.join(folder, "runs", "*-*", "p-*.ssp"))
                os.kill(int(os.path.basename(recorded).split("-")[1]), signal.SIGKILL)
        run, = (path for path in glob.glob(os.path.join(folder, "runs", "*"))
                if not os.path.islink(path))
        shutil.move(run, out)


def demo_runs(build, out):
    trainer = [os.path.join(build, "stepscope"), "demo", "--plain", "--hidden", "64,32"]
    for name, options in DEMO.items():
        steps = () if {"--steps", "--epochs"} & set(options) else ("--steps", STEPS)
        record(build, os.path.join(out, name), *trainer, *steps, *options)
    record(build, os.path.join(out, "killed"), *trainer, "--fault", "slow-input", kill_after_s=0.8)
    record(build, os.path.join(out, "nothing-recorded"), "true")
    record(build, os.path.join(out, "command-failed"), "sh", "-c", "exit 7")


def life_runs(_, out):
    """Processes of the machine that reads: one that is gone, one that goes on. No span is open in the
    latter: it would last until now. It has no helper thread just now, so that no beat is missed."""
    sys.path[:0] = [os.path.join(TESTS, "report")]
    os.environ.setdefault("STEPSCOPE_BUILD", "")
    import report_runs as runs
    from builder import plan

    def goes_on(rank=-1, **header):
        thread = runs.steady(steps=100, seed=rank + 9)
        thread.records.pop()  # the loop's end
        thread.records.insert(1, plan(runs.START, 1000))
        return runs.alive(thread, thread.now, boot_id=corpus.THIS_BOOT, rank=rank, **header)

    living = {"pid": corpus.LIVING, "paused": 1}
    gone = {"pid": 4_200_000, "process_start": 1}
    killed = runs.killed()
    killed.poke(corpus.PID, "IIQ16s", 4_200_000, 0, 1, corpus.THIS_BOOT)
    for name, files in {
            "live": [goes_on(**living)], "killed": [killed],
            "live-ranks": [goes_on(0, **living), goes_on(1, **living)],
            "one-of-two-killed": [runs.rank(0), goes_on(1, **gone)],
            "live-without-steps": [runs.alive(runs.Thread(), runs.START + 5 * runs.MS, **living,
                                              boot_id=corpus.THIS_BOOT)]}.items():
        os.mkdir(os.path.join(out, name))
        for number, file in enumerate(files):
            with open(os.path.join(out, name, f"p-{number}.ssp"), "wb") as written:
                written.write(file.bytes())


def format_runs(_, out):
    """Damaged and odd files of every sort."""
    sys.path[:0] = [os.path.join(TESTS, "format")]
    import make_runs
    make_runs.write_all(out)


def collected_runs(build, out, group):
    """Runs that the tests of the group make."""
    frameworks = os.path.join(os.path.dirname(build), "frameworks", "bin", "python")
    env = {**os.environ, "STEPSCOPE_BUILD": build, "PYTHONPATH": TESTS,
           "STEPSCOPE_BIN": os.path.join(build, "stepscope"), "PYTHONDONTWRITEBYTECODE": "1",
           "STEPSCOPE_RECORD_PROGRAM": os.path.join(build, "example_loop")}
    if os.path.exists(frameworks):
        env["STEPSCOPE_FRAMEWORKS_PYTHON"] = frameworks
    for test in GROUPS[group]:
        print(test, flush=True)
        subprocess.run([sys.executable, COLLECT, os.path.join(TESTS, test), out], env=env, check=True)


# What is kept


def shapes(program, run):
    """What the command says about a run, without its numbers."""
    said = set()
    for name, make in program.outputs(run):
        if name in ("report.txt", "report.json", "hot.txt", "info.txt", "epochs.txt", "summary.txt"):
            text = make().decode("utf-8", "replace")
            said |= {name[:4] + re.sub(r"[\d.,]+", "0", part) for part in re.split(r"[\n{}]|\. |; ", text)
                     if re.search(r"[a-z]{3}", part) and len(part) < 200}
    return {re.sub(r"\s+|[\u2580-\u259f]+", " ", part) for part in said}


def size_of(folder):
    return sum(os.path.getsize(path) for path in glob.glob(os.path.join(folder, "*")))


def drop_alike(program, folder, group, least):
    """Removes runs about which the command says nothing new: fewer than `least` parts of a sentence."""
    seen = set()
    runs = [os.path.join(folder, group, name) for name in os.listdir(os.path.join(folder, group))]
    for path in sorted(runs, key=lambda run: (size_of(run), run)):
        said = shapes(program, os.path.relpath(path, folder))
        if len(said - seen) < least or size_of(path) > MOST_BYTES:
            shutil.rmtree(path)
        else:
            seen |= said


# Packs


def neutral(data, is_process):
    """Without the path of this tree, which becomes another one of the same length, and as a run of the
    machine that reads if it did not end."""
    path = ROOT.encode()
    data = data.replace(path, (b"/home/user/" + b"project/" * len(path))[:len(path) - 1] + b"t")
    if is_process and data[:8] == b"stepscop" and len(data) > STATE + 4:
        data = bytearray(data)
        if (struct.unpack_from("<I", data, STATE)[0] == RUNNING
                and data[corpus.BOOT_ID:corpus.BOOT_ID + 16] == corpus.boot_id()):
            data[corpus.BOOT_ID:corpus.BOOT_ID + 16] = corpus.THIS_BOOT
    return bytes(data)


def pack(folder, group):
    path = os.path.join(corpus.PACKS, group + ".tar.xz")
    files = sorted(glob.glob(os.path.join(folder, group, "*", "*")))
    with tarfile.open(path, "w:xz", preset=9 | 1 << 31, format=tarfile.USTAR_FORMAT) as tar:
        for file in files:
            with open(file, "rb") as content:
                data = neutral(content.read(), file.endswith(".ssp"))
            member = tarfile.TarInfo(os.path.relpath(file, folder))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    print(f"{group}: {len({os.path.dirname(file) for file in files})} runs, "
          f"{os.path.getsize(path) // 1024} KB")


def make(build, group):
    with tempfile.TemporaryDirectory(prefix="stepscope-corpus-") as folder:
        out = os.path.join(folder, group)
        os.mkdir(out)
        program = corpus.Program(os.path.join(build, "stepscope"), folder,
                                 tempfile.mkdtemp(dir=folder))
        own = {"demo": demo_runs, "life": life_runs, "format": format_runs}.get(group)
        if own:
            own(build, out)
        else:
            collected_runs(build, out, group)
        if group not in ("demo", "life"):
            drop_alike(program, folder, group, LEAST_NEW)
        pack(folder, group)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("groups", nargs="+", choices=GROUPS)
    wish = parser.parse_args()
    os.makedirs(corpus.PACKS, exist_ok=True)
    for group in wish.groups:
        make(os.path.abspath(wish.build), group)


if __name__ == "__main__":
    main()
