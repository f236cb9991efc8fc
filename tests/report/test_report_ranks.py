"""Ranks of one job, each of whose steps is known: what the report says that they wait for."""

import json

import report_runs as runs
from report_runs import COMM, MS
from report_support import ReportTest
from support import FINE

EXCHANGE = MS / 5
NAMES = runs.NAMES + ((22, b"all_reduce", b"Group", COMM, 0, 0),)


def job(ranks, work, steps=200, world=None):
    """A file for each rank. `work` gives what a rank works in a step, in ns; the step ends when the last
    rank has come and all have exchanged something."""
    threads = [runs.Thread(runs.PID + i) for i in range(ranks)]
    for thread in threads:
        thread.wait(50 * MS)
        thread.loop(True)
    for step in range(steps):
        each = [work(i, step) for i in range(ranks)]
        for thread, ns in zip(threads, each, strict=True):
            thread.mark(runs.step, 32)
            thread.span(2, ns)
            thread.span(22, max(each) + EXCHANGE - ns)
    files = {}
    for i, thread in enumerate(threads):
        thread.loop(False)
        files["p%d" % i] = runs.process(thread, names=NAMES, rank=i, pid=runs.PID + i)
        files["p%d" % i].poke(92, "I", world or ranks)
    return files


def noisy(seed, spread=0.01):
    """Factors around 1, other ones for each call."""
    random = runs.noise(seed)
    return lambda: 1 + spread * next(random)


class Ranks(ReportTest):
    count = 0

    def judge(self, files):
        self.count += 1
        run = self.make_run("run-%d" % self.count, **files)
        self.text = self.report(run=run)
        self.check_lines(self.text)
        report = json.loads(self.check(["report", "--json", run], FINE).stdout)
        report["found"] = {f["id"]: f for f in report["findings"] if f["severity"] != "info"}
        return report

    def test_a_straggler_costs_what_the_step_would_gain(self):
        """The second slowest rank is what remains to be waited for: not the others' median."""
        for ranks in (2, 3, 16):
            factor, works = noisy(ranks, 0.1), {}

            def work(rank, step, factor=factor, works=works):
                works[rank, step] = (9 if rank == 1 else 6) * MS * factor()
                return works[rank, step]
            report = self.judge(job(ranks, work))
            late = total = 0
            for step in range(200):
                most, second = sorted((works[i, step] for i in range(ranks)), reverse=True)[:2]
                late += most - second
                total += most + EXCHANGE
            self.assertEqual(report["verdict"], "straggler", report["findings"])
            found = report["findings"][0]
            self.assertIn("rank 1 is slower", found["claim"])
            self.assertRegex(found["evidence"], r"forward takes [89]\.\d+ ms there, and [56]\.\d+ ms on the others")
            low, high = found["share_ci"]
            self.assertTrue(low <= late / total <= high, (late / total, found))
            self.assertNotIn("comm-bound", report["found"])
            blame = report["job"]["blame"][0]
            self.assertEqual((blame["rank"], blame["stage"]), (1, "forward"))
            self.assertAlmostEqual(blame["share"], late / total, delta=0.002)
            self.assertAlmostEqual(report["job"]["exchange_ns"], EXCHANGE, delta=0.01 * MS)
            self.assertIn("Ranks: %d on 1 host, compared in 200 steps" % ranks, self.text)

    def test_more_ranks_than_256(self):
        factor = noisy(5, 0.02)
        report = self.judge(job(300, lambda rank, _: (9 if rank == 277 else 6) * MS * factor(), steps=60))
        self.assertEqual(report["verdict"], "straggler", report["findings"])
        self.assertEqual([blame["rank"] for blame in report["job"]["blame"]], [277])

    def test_equal_ranks_have_no_straggler(self):
        for seed in range(6):
            factor = noisy(seed + 1, 0.02)
            report = self.judge(job(4, lambda *_, factor=factor: 6 * MS * factor()))
            self.assertFalse({"straggler", "rank-jitter"} & set(report["found"]), report["findings"])

    def test_ranks_that_are_late_in_turn(self):
        factor = noisy(3)
        report = self.judge(job(4, lambda rank, step: (9 if rank == step % 2 else 6) * MS * factor()))
        self.assertEqual(report["verdict"], "rank-jitter", report["findings"])
        found = report["findings"][0]
        self.assertAlmostEqual(found["share"], 0.75 * 3 / 9.2, delta=0.01)
        self.assertIn("rank 1 in 50 %", found["evidence"])
        comm = next((f for f in report["findings"] if f["id"] == "comm-bound"), None)
        self.assertAlmostEqual(comm["share"], 0.18 * 0.2 / (0.2 + 2.25), delta=0.005)
        self.assertFalse({"straggler", "comm-bound"} & set(report["found"]), report["findings"])

    def test_a_rank_that_was_disturbed_for_a_while_is_no_straggler(self):
        factor = noisy(9)
        report = self.judge(job(4, lambda rank, step: (9 if rank == 2 and 60 <= step < 120 else 6) * MS
                                * factor()))
        self.assertNotIn("straggler", [f["id"] for f in report["findings"]], report["findings"])

    def test_ranks_that_recorded_nothing_are_named(self):
        report = self.judge(job(3, lambda *_: 6 * MS, world=9))
        self.assertEqual((report["job"]["missing"], report["job"]["missing_count"]), ([3, 4, 5, 6, 7, 8], 6))
        self.assertIn("Missing: 6 of 9 ranks recorded nothing here (3, 4, 5, 6, 7, ...)", self.text)
        report = self.judge(job(2, lambda *_: 6 * MS, world=4_000_000_000))
        self.assertEqual(report["job"]["missing_count"], 3_999_999_998)
        self.assertEqual(len(report["job"]["missing"]), 64)

    def test_stages_that_hardly_differ_are_not_named(self):
        report = self.judge(job(2, lambda rank, _: (6.03 if rank else 6) * MS))
        self.assertIsNone(report["job"]["blame"][0]["stage"])
        self.assertGreater(report["job"]["blame"][0]["share"], 0)

    def test_without_communication_nothing_is_compared(self):
        """Each step takes equally long on all ranks: what of it was a wait is not known."""
        report = self.judge({"p%d" % i: runs.rank(i) for i in range(2)})
        self.assertEqual(report["job"]["steps"], 0)
        self.assertEqual((report["job"]["step_ns"], report["job"]["blame"]), (None, []))
        self.make_run("alone", p=runs.healthy())
        self.assertIsNone(json.loads(self.check(["report", "--json", "alone"], FINE).stdout)["job"])
