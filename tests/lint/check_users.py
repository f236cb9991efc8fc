#!/usr/bin/python3
"""Checks that no header serves one file only: its text belongs into that file, or into the header
of the module that the two are part of.

    tests/lint/check_users.py [ROOT]

A header serves each file that includes it, but for the source of the same name; tests, benchmarks
and fuzz targets count. One that another folder includes is the way into its own folder, whoever
else needs it. EXCEPTIONS lists the others, each with its reason: an entry that no longer holds is
found, too.
"""

import os
import re
import sys

TOPS = ("include", "src", "demo", "python", "bench", "fuzz", "tests")
CHECKED = ("src/", "demo/", "python/")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
EXCEPTIONS = {
    # One stage of a way from bytes to records or items after the other: each knows only the next.
    "src/import/device_lane.h": "records of a device, for the lanes of a run",
    "src/import/host_stages.h": "stages of the host, for the lane of the run",
    "src/import/wire_pull.h": "protocol buffers as they come, for what knows their fields",
    "src/import/xplane_event.h": "what an event is, for what reads the file",
    "src/import/xplane_meta.h": "names of a plane, for what an event is",
    "src/import/xplane_steps.h": "steps of a plane, for what an event is",
    "src/import/run_writer.h": "bytes of a run, for what records",
    "src/model/pipe.h": "puts the stages together, for model.c, which feeds them",
    "src/base/secret_words.h": "what names say, for what hides their values",
    "src/pack/block.h": "one segment, for the file of many",
    # What may run where its user may not: without the GIL, in another thread, in a test of its own.
    "python/core/window.h": "when a profiler watches, for what adapters call",
    "python/core/frames.h": "stacks without the GIL, for the thread that takes them",
    "python/core/frames_code.h": "code objects of another interpreter's memory",
    "src/record/helper.h": "the thread that makes system calls",
    "src/supervise/gpu_questions.h": "the table of NVML, for the thread that asks",
    # Parts of a struct that its users know as a whole.
    "src/diagnose/attribution.h": "part of struct diagnosis",
    "src/diagnose/compare_layers.h": "part of struct compare_run",
    "src/experiment/sweep_sum.h": "sums of a sweep, of which its users know the result",
    "src/experiment/mounts.h": "what is mounted, for the protection of files",
    "src/diagnose/input_pipeline.h": "one of the causes of a slow input",
    "src/diagnose/input_replay.h": "a step with more workers, for the causes of a slow input",
    "src/diagnose/input_work.h": "what makes batches, for the causes of a slow input",
    "src/diagnose/other_programs.h": "part of struct validity",
    "src/model/layers.h": "part of struct call_log",
}


def sources(root):
    """Paths of all C files, without what was built."""
    for top in TOPS:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = [name for name in folders if name not in ("build", "data", "corpus")]
            for name in sorted(files):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def resolve(root, path, name):
    """The file that an #include "name" of path finds, or None."""
    for base in (os.path.dirname(path), "include", "src", "python", ""):
        found = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(root, found)):
            return found
    return None


def users(root):
    """For each header that is looked at, the files that it serves."""
    found = {}
    for path in sources(root):
        if path.endswith(".h") and path.startswith(CHECKED):
            found.setdefault(path, set())
        with open(os.path.join(root, path), encoding="utf-8") as text:
            for name in INCLUDE.findall(text.read()):
                header = resolve(root, path, name)
                if header and header.startswith(CHECKED) and path != header[:-2] + ".c":
                    found.setdefault(header, set()).add(path)
    return found


def main():
    here = os.path.dirname(__file__)
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f"{here}/../..")
    complaints = []
    found = users(root)
    for header, files in sorted(found.items()):
        is_entrance = any(os.path.dirname(file) != os.path.dirname(header) for file in files)
        serves_one = len(files) < 2 and not is_entrance
        if serves_one and header not in EXCEPTIONS:
            complaints.append(f"{header}: serves {' '.join(files) or 'no file'} only")
        if header in EXCEPTIONS and not serves_one:
            complaints.append(f"{header}: is no exception any more")
    print("".join(f"{line}\n" for line in complaints), end="")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
