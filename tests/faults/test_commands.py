"""Each command, whatever call of it fails: it says what it says without, or that it cannot, with the
right exit code; a file that it writes is whole or not there; it never crashes and never hangs."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import injection
from injection import PROGRAM, Injection

FINE, CHECK_FAILED, DATA = 0, 1, 3
DAMAGED = re.compile(rb'DAMAGED|Whole     NO|"whole":false')


def judge(outcome, undisturbed):
    if outcome.code == "hang":
        return "it hangs"
    if outcome.code < 0:
        return f"it is killed by signal {-outcome.code}"
    if outcome.code not in (undisturbed.code, DATA):
        return f"exit code {outcome.code}: {outcome.err.decode(errors='replace')}"
    if outcome.code == DATA and undisturbed.code != DATA:
        if not outcome.err.startswith(b"stepscope"):
            return f"no message, but {outcome.err!r}"
        return half_done(outcome, undisturbed)
    if outcome.err or says_damaged(outcome, undisturbed):
        return None
    if outcome.out != undisturbed.out:
        return f"another result, and no word: {difference(outcome.out, undisturbed.out)}"
    if outcome.files != undisturbed.files:
        names = {name for name in {**outcome.files, **undisturbed.files}
                 if outcome.files.get(name) != undisturbed.files.get(name)}
        return f"other files, and no word: {names}"
    return None


def half_done(outcome, undisturbed):
    """A command that failed has made no file, or all of it."""
    extra = set(outcome.files) - set(undisturbed.files)
    if extra:
        return f"left behind: {extra}"
    other = [name for name, bytes_ in outcome.files.items() if bytes_ != undisturbed.files[name]]
    return f"half-written: {other}" if other else None


def says_damaged(outcome, undisturbed):
    """That what it shows is not all there is."""
    return any(DAMAGED.search(got) and not DAMAGED.search(expected) for got, expected in
               [(outcome.out, undisturbed.out),
                *((outcome.files[name], undisturbed.files[name])
                  for name in set(outcome.files) & set(undisturbed.files)
                  if isinstance(outcome.files[name], bytes))])


def difference(got, expected):
    """Where it begins."""
    at = len(os.path.commonprefix([got, expected]))
    around = slice(max(0, at - 40), at + 40)
    return f"{got[around]!r} instead of {expected[around]!r}"


class Commands(injection.InjectionTest):
    """On a run of a small program, and a copy of it that is called `other`."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp(prefix="stepscope-faults-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([PROGRAM, "run", "-q", "--dir", "runs", "--",
                        os.path.join(injection.BUILD, "example_loop")],
                       cwd=cls.folder, env=injection.environment(), check=True,
                       stdout=subprocess.DEVNULL)
        os.rename(os.path.realpath(os.path.join(cls.folder, "runs/latest")),
                  os.path.join(cls.folder, "run"))
        shutil.rmtree(os.path.join(cls.folder, "runs"))

    def prepare(self, folder):
        for name in ("run", "other"):
            shutil.copytree(os.path.join(self.folder, "run"), os.path.join(folder, name))

    def command(self, *words, prepare=None, judge_=judge, is_steady=True, **options):
        self.check(Injection([PROGRAM, *words], prepare or self.prepare, **options), judge_, is_steady)

    def test_report(self):
        self.command("report", "run")

    def test_report_json(self):
        self.command("report", "--json", "run")

    def test_report_steps(self):
        self.command("report", "--steps", "run")

    def test_report_page(self):
        self.command("report", "--html", "page.html", "run")

    def test_compare(self):
        self.command("compare", "run", "other")

    def test_info(self):
        self.command("info", "run")

    def test_dump(self):
        self.command("dump", "--json", "run")

    def test_list(self):
        def prepare(folder):
            os.mkdir(os.path.join(folder, "stepscope-runs"))
            self.prepare(os.path.join(folder, "stepscope-runs"))
        self.command("list", prepare=prepare)

    def test_remove(self):
        """A user who learns that it failed may find a part of it left."""
        def judge_removal(outcome, undisturbed):
            there = [name for name in outcome.files if not name.startswith("other/")]
            return judge(outcome._replace(files={name: outcome.files[name] for name in there}),
                         undisturbed)
        self.command("remove", "--yes", "other", judge_=judge_removal)

    def test_export_csv(self):
        self.command("export", "csv", "run", "steps.csv")

    def test_export_spans(self):
        self.command("export", "csv-spans", "run", "-")

    def test_export_perfetto(self):
        self.command("export", "perfetto", "run", "trace")

    def test_export_tensorboard(self):
        """Names have a host and a process in them, and so have contents."""
        def look(folder):
            return {re.sub(r"\d+\.[^.]+\.\d+", "N", name): len(content)
                    for name, content in injection.contents(folder).items() if "tfevents" in name}
        self.command("export", "tensorboard", "run", "board", look=look)

    def test_import(self):
        def prepare(folder):
            with open(os.path.join(folder, "trace.json"), "w", encoding="ascii") as file:
                json.dump(trace(), file)
        def look(folder):
            files = injection.contents(folder)
            return {name: [line for line in content.splitlines() if b"created: " not in line]
                    for name, content in files.items() if name != "run"}
        self.command("import", "trace.json", "-o", "made", prepare=prepare, look=look)

    def test_explain(self):
        self.command("explain", "input-bound")

    def test_help(self):
        self.command("report", "--help")

    def test_doctor(self):
        """What it says is another thing each time."""
        def judge_advice(outcome, undisturbed):
            try:
                json.loads(outcome.out)
            except ValueError:
                if outcome.code != DATA:
                    return f"no JSON: {outcome.code} {outcome.out[:80]} {outcome.err}"
            if b"it was made to try the place" in outcome.out:
                return None
            plain = outcome._replace(out=b"", code=FINE if outcome.code == CHECK_FAILED else
                                     outcome.code)
            return judge(plain, undisturbed._replace(out=b"", code=FINE))
        self.command("doctor", "--json", judge_=judge_advice, is_steady=False)


def trace():
    """As torch.profiler writes it: three steps with a kernel each."""
    events = []
    for step in range(3):
        at = 1000 * step
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1,
             "tid": 1, "ts": at, "dur": 900},
            {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1,
             "ts": at + 100, "dur": 300}]
    return {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}


if __name__ == "__main__":
    unittest.main()
