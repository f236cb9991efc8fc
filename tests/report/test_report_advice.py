"""Which advice is given: by what the line of the script does, and none that is followed already."""

import json
import unittest

import report_runs as runs
from builder import frame, info, sample
from report_runs import COMPILE, DATA, MS, SETUP
from report_support import ReportTest
from support import FINE

SITE = b"/usr/lib/python3/site-packages"
LOADER, START, COMPILED, FETCH = 30, 31, 32, 33
NAMES = runs.NAMES + ((LOADER, b"DataLoader", b"", DATA, 0, 0),
                      (START, b"DataLoader start", b"", SETUP, 0, 0),
                      (COMPILED, b"torch.compile", b"", COMPILE, 0, 0),
                      (FETCH, b"fetch", b"", runs.PRODUCE, 0, 0))


def train(function=b"", leaf=None, other=0, start=0, workers=False, compiled=False, infos=(), wait=MS / 20,
          call=b"call", every=1):
    """Steps of 6 ms, each with that much time of the script in a function of its own and what that calls; or with
    such a wait for data, in which each so manieth sample is in what is called."""
    thread, sampler = runs.Thread(), runs.Thread(tid=9, text=b"stepscope")
    worker = runs.Thread(runs.PID + 1, text=b"worker")
    random = runs.noise(3)
    thread.wait(50 * MS)
    if compiled:
        thread.span(COMPILED, 200 * MS, 0)
    for i in range(200):
        thread.mark(runs.step, 32)
        if start:
            thread.span(START, start)
        worker.now = thread.now
        if wait >= MS:
            sampler.now = int(thread.now + wait / 2)
            sampler.records.append(sample(sampler.now, runs.PID, [3, 2, 1] if i % every == 0 else [2, 1]))
        thread.span(LOADER, wait)
        if workers:
            worker.span(FETCH, MS / 20, flags=runs.PRODUCER)
        thread.span(2, 2 * MS * (1 + 0.02 * next(random)))
        thread.span(3, 3 * MS)
        thread.span(4, MS / 2)
        if other:
            sampler.now = int(thread.now + other / 2)
            sampler.records.append(sample(sampler.now, runs.PID, [3, 2, 1] if leaf else [2, 1]))
        thread.wait(other)
    told = [frame(1, 90, b"<module>", b"train.py"), frame(2, 12, function, b"train.py")]
    if leaf:
        told.append(frame(3, 7, call, leaf))
    threads = [thread, sampler] + ([worker] if workers else [])
    return runs.process(*threads, names=NAMES, control=told + [info(*pair) for pair in infos])


class Advice(ReportTest):
    count = 0

    def judge(self, wanted, **how):
        return self.judge_all(**how)[wanted]["advice"]

    def judge_all(self, **how):
        self.count += 1
        run = self.make_run("run-%d" % self.count, p=train(**how))
        findings = json.loads(self.check(["report", "--json", run], FINE).stdout)["findings"]
        return {found["id"]: found for found in reversed(findings)}

    def test_code_of_the_script_by_what_it_does(self):
        for function, leaf, wanted in (
                (b"show", SITE + b"/wandb/sdk/wandb_run.py", "log less often"),
                (b"log_metrics", None, "log less often"),
                (b"logits", None, "do it less often"),
                (b"act", SITE + b"/gymnasium/core.py", "environments at once"),
                (b"rollout", None, "environments at once"),
                (b"show", SITE + b"/matplotlib/figure.py", "draw less often"),
                (b"score", None, "do it less often")):
            with self.subTest(function=function, leaf=leaf):
                advice = self.judge("user-code", function=function, leaf=leaf, other=4 * MS)
                self.assertIn(wanted, advice)
                self.assertNotRegex(advice, "DataLoader|Dataset")

    def test_what_the_wait_for_data_goes_into(self):
        for leaf, call, work, wanted in (
                (b"/usr/lib/python3.11/gzip.py", b"read", "decompression", "uncompressed"),
                (b"/usr/lib/python3.11/socket.py", b"readinto", "reading from the network", "local disk"),
                (SITE + b"/PIL/ImageFile.py", b"load", "decoding", "store the data decoded"),
                (SITE + b"/PIL/Image.py", b"resize", "augmentation", "whole batches"),
                (SITE + b"/torchvision/transforms/functional.py", b"rotate", "augmentation", "device"),
                (SITE + b"/numpy/lib/format.py", b"read_array", "reading files", "large pieces"),
                (SITE + b"/numpy/lib/format.py", b"header", None, None),
                (b"/home/me/train_zip.py", b"load", None, None)):
            with self.subTest(leaf=leaf, call=call):
                found = self.judge_all(function=b"__getitem__", leaf=leaf, call=call, wait=12 * MS)["input-bound"]
                if work:
                    self.assertIn("100 %% of the time goes into %s" % work, found["evidence"])
                    self.assertIn(wanted, found["advice"])
                else:
                    self.assertNotIn("goes into", found["evidence"])

    def test_a_little_of_it_is_not_named(self):
        found = self.judge_all(function=b"__getitem__", leaf=b"/usr/lib/python3.11/gzip.py", wait=12 * MS,
                               every=6)["input-bound"]
        self.assertNotIn("goes into", found["evidence"])

    def test_workers_are_kept_only_where_there_are_some(self):
        advice = self.judge("setup-heavy", start=3 * MS)
        self.assertNotIn("persistent_workers", advice)
        self.assertIn("iter(loader)", advice)
        self.assertIn("persistent_workers=True", self.judge("setup-heavy", start=3 * MS, workers=True))


if __name__ == "__main__":
    unittest.main()
