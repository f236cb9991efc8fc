"""Runs scripts one after the other, each as a run of its own in a folder: keras_seeds.py FOLDER
SCRIPT[:ARGUMENT]...

TensorFlow is imported once, which takes longer than most of them do."""

import os
import runpy
import sys

import stepscope

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")
folder, seeds = sys.argv[1], sys.argv[2:]
for seed in seeds:
    script, _, argument = seed.partition(":")
    sys.argv[1:] = [argument] if argument else []
    assert stepscope.start(folder, seed.replace(":", "-")), stepscope.status()
    runpy.run_path(os.path.join(here, script + ".py"), run_name="__main__")
    stepscope.stop()
