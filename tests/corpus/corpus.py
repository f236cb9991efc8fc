"""The corpus: recorded runs under tests/data, and what the command prints about each of them.

Outputs depend on the run and on the program alone. Pinned: the working directory and the path of a run
(relative), time zone, locale, width, no terminal, no STEPSCOPE_ variables. Masked, because nothing
outside the program can set it: the program's own version, the names of TensorBoard's files (host and
process id), and the bundled style and script of the page, which come from web/ and npm.
"""

import glob
import hashlib
import os
import re
import shutil
import struct
import subprocess
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data")
PACKS = os.path.join(DATA, "corpus")
EXPECTED = os.path.join(PACKS, "expected.txt")
TEXTS = os.path.join(PACKS, "texts")
TIMEOUT_S = 120
DIGITS = 16  # of a SHA-256 that are kept

# What is asked of each run: name of the output, program, words; RUN and OUT are filled in.
COMMANDS = (
    ("report.txt", "stepscope", "report RUN"),
    ("report.json", "stepscope", "report --json RUN"),
    ("narrow.txt", "stepscope", "report RUN"),
    ("epochs.txt", "stepscope", "report --epochs RUN"),
    ("hot.txt", "stepscope", "report --hot RUN"),
    ("steps.txt", "stepscope", "report --steps RUN"),
    ("steps.json", "stepscope", "report --steps --json RUN"),
    ("deadline.txt", "stepscope", "report --deadline 1h --fail-on input-bound:50% RUN"),
    ("deadline.json", "stepscope", "report --deadline 1s --json RUN"),
    ("page.html", "stepscope", "report --html OUT RUN"),
    ("info.txt", "stepscope", "info RUN"),
    ("info.json", "stepscope", "info --json RUN"),
    ("dump.txt", "stepscope", "dump RUN"),
    ("dump.json", "stepscope", "dump --json RUN"),
    ("csv", "stepscope", "export csv RUN OUT"),
    ("csv-spans", "stepscope", "export csv-spans RUN OUT"),
    ("perfetto", "stepscope", "export perfetto RUN OUT"),
    ("tensorboard", "stepscope", "export tensorboard RUN OUT"),
    ("summary.txt", "report_view", "summary RUN"),
    ("status.txt", "report_view", "status RUN"),
)
# Other terminals: no blocks but ASCII, and hardly any columns.
ENVIRONMENTS = {"narrow.txt": {"COLUMNS": "47", "LC_ALL": "C"}}

# Sides of `compare`, by name; a side may be several runs with commas between them.
COMPARED = {
    "faults": ("demo/healthy", "demo/slow-input", "demo/heavy-layer"),
    "same": ("demo/healthy", "demo/healthy-2"),
    "three-a-side": ("demo/healthy,demo/healthy-2,demo/healthy-3",
                     "demo/slow-callback,demo/slow-callback-2,demo/slow-callback-3"),
    "batches": ("demo/healthy", "demo/tiny-batch"),
    "warm-up": ("demo/healthy", "demo/long-warm-up"),
    "killed": ("demo/healthy", "demo/killed"),
    "itself": ("demo/healthy", "demo/healthy"),
    "golden": ("golden/whole", "golden/killed"),
    "nothing": ("demo/healthy", "golden/damaged"),
}
EXPLAINED = "explain"

# Whole texts that are kept beside the hashes, so that a diff of the repository can be read.
READABLE = (("demo/slow-input", "report.txt"), ("demo/slow-input", "info.txt"),
            ("demo/killed", "report.txt"), ("golden/whole", "report.json"),
            ("golden/damaged", "info.txt"), ("life/live", "report.txt"),
            ("compare/three-a-side", "compare.txt"))

# Offsets in the header of a process file (format 2).
PID, PROCESS_START, BOOT_ID = 40, 48, 56
THIS_BOOT = b"\xffthis machine's\xff"  # stands for the boot id of the machine that reads
LIVING = 1  # a process that there always is


def environment(**more):
    env = {"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "80",
           "NO_COLOR": "1", "TERM": "dumb"}
    for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if key in os.environ:
            env[key] = os.environ[key]
    return {**env, **more}


# Runs


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return bytes.fromhex(file.read().strip().replace("-", ""))


def start_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def come_alive(data):
    """Puts a process of this machine into a header."""
    data = bytearray(data)
    data[BOOT_ID:BOOT_ID + 16] = boot_id()
    if struct.unpack_from("<I", data, PID)[0] == LIVING:
        struct.pack_into("<Q", data, PROCESS_START, start_of(LIVING))
    return bytes(data)


def settle(files):
    """{name: content} of a run. If one of its processes asks for this machine (THIS_BOOT), all of them
    ran on it: samples of the machine belong to trainings of the same boot only."""
    if any(data[BOOT_ID:BOOT_ID + 16] == THIS_BOOT for data in files.values()):
        return {name: come_alive(data) if name.endswith(".ssp") else data
                for name, data in files.items()}
    return files


def unpack(folder):
    """Writes all runs below `folder`; their names, sorted."""
    runs = {}
    for pack in sorted(glob.glob(os.path.join(PACKS, "*.tar.xz"))):
        with tarfile.open(pack) as tar:
            for member in tar:
                group, run, file = member.name.split("/")
                runs.setdefault(f"{group}/{run}", {})[file] = tar.extractfile(member).read()
    for run, files in runs.items():
        os.makedirs(os.path.join(folder, run))
        for file, data in settle(files).items():
            with open(os.path.join(folder, run, file), "wb") as out:
                out.write(data)
    names = set(runs)
    for path in glob.glob(os.path.join(DATA, "golden", "*")):
        run = "golden/" + os.path.basename(path)
        shutil.copytree(path, os.path.join(folder, run))
        names.add(run)
    return sorted(names)


# Outputs


class Program:
    """A build of the command, asked about the runs of a folder."""

    def __init__(self, binary, folder, scratch):
        self.binary = os.path.abspath(binary)
        self.folder = folder
        self.scratch = scratch
        self.version = self._start("stepscope", ["--version"]).stdout.split()[-1]

    def has_script(self):
        """Whether the pages of this build have one: without npm there is none."""
        return os.path.exists(os.path.join(os.path.dirname(self.binary), "web", "page_script.js"))

    def _start(self, program, words, env=None):
        path = self.binary
        if program != "stepscope":
            path = os.path.join(os.path.dirname(self.binary), program)
        return subprocess.run([path, *words], cwd=self.folder, env=env or environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)

    def outputs(self, run):
        """Names of the outputs of a run, with a function that makes each."""
        if run.startswith("compare/"):
            sides = COMPARED[run.partition("/")[2]]
            yield "compare.txt", lambda: self.output("compare.txt", "stepscope", ["compare", *sides])
            yield "compare.json", lambda: self.output("compare.json", "stepscope",
                                                      ["compare", "--json", *sides])
        elif run == EXPLAINED:
            for name in self._start("stepscope", ["explain"]).stdout.decode().split():
                yield name, lambda name=name: self.output(name, "stepscope", ["explain", name])
        else:
            for name, program, words in COMMANDS:
                yield name, lambda name=name, program=program, words=words: self.output(
                    name, program, [run if word == "RUN" else word for word in words.split()])

    def output(self, name, program, words):
        """What it prints and writes, as bytes."""
        out = os.path.join(self.scratch, "out")
        done = self._start(program, [out if word == "OUT" else word for word in words],
                           environment(**ENVIRONMENTS.get(name, {})))
        made = done.stdout
        if done.stderr:
            made += b"\nstandard error:\n" + done.stderr.replace(out.encode(), b"OUT")
        if done.returncode:
            made += b"\nexit code %d\n" % done.returncode
        return self._masked(name, made + take(out))

    def _masked(self, name, made):
        if name != "page.html":
            return made
        made = made.replace(b"<dd>stepscope " + self.version + b"</dd>", b"<dd>stepscope VERSION</dd>")
        made = re.sub(rb"<style>.*?</style>", b"<style></style>", made, flags=re.DOTALL)
        return re.sub(rb"<script>.*?</script>", b"<script></script>", made, flags=re.DOTALL)


def take(path):
    """The content of a file, or of all files of a directory after their names; removes it."""
    if os.path.isdir(path):
        made = b""
        for place, _, files in sorted(os.walk(path)):
            for file in sorted(files):
                name = re.sub(r"(tfevents\.-?\d+)\..*\.\d+(\.\d+\.)", r"\1.HOST.PID\2", file)
                with open(os.path.join(place, file), "rb") as content:
                    made += f"\nfile {os.path.relpath(place, path)}/{name}\n".encode() + content.read()
        shutil.rmtree(path)
        return made
    if os.path.exists(path):
        with open(path, "rb") as content:
            made = content.read()
        os.remove(path)
        return made
    return b""


def digest(made):
    return hashlib.sha256(made).hexdigest()[:DIGITS]


def subjects(runs):
    """Everything that has outputs: the runs, comparisons of them, and the explanations."""
    known = set(runs)
    pairs = [f"compare/{name}" for name, sides in COMPARED.items()
             if {run for side in sides for run in side.split(",")} <= known]
    return [*runs, *pairs, EXPLAINED]


def read_expected():
    """{(run, output): digest}"""
    with open(EXPECTED, encoding="ascii") as file:
        return {(run, output): sha for sha, run, output in map(str.split, file)}
