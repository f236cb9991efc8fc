"""What slow steps go with (docs/diagnosis.md): the training and the samples of the machine are written by
hand, so that it is known what made steps slow, how much of it, and when."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import test_scripted_machine as scripted  # noqa: E402
from report_runs import MS, Thread, noise, one_step, process  # noqa: E402
from report_support import ReportTest  # noqa: E402
from support import FINE  # noqa: E402

SECONDS = 30
USUAL, MORE = 50, 15  # ms of a step, and what a slow one takes more
SLOW = (3, 4, 8, 12, 13, 14, 19, 22, 26, 27)  # seconds in which steps are slow
OTHER = (1, 6, 7, 10, 16, 17, 20, 24, 28)
WAIT = "waiting for a core"
QUIET = [line for line in scripted.CORES + scripted.QUIET if line[0] != "thread.wait"]


def train(slow=SLOW, seconds=SECONDS):
    thread = Thread()
    random = noise(5)
    thread.loop(True)
    begin = thread.now
    while thread.now < begin + seconds * 1000 * MS:
        is_slow = (thread.now - begin) // (1000 * MS) in slow
        one_step(thread, data=MS, backward=28 * MS, other=0,
                 forward=(USUAL - 29.5 + MORE * is_slow) * MS + next(random) * MS)
    thread.loop(False)
    return process(thread)


def during(seconds, per_s, before=1000):
    """A total that grows in these seconds only."""
    return lambda s: before + per_s * sum(min(max(s - k, 0), 1) for k in seconds)


def wait(part, seconds=SLOW):
    """Of what a slow step takes more, this part is a wait for a core."""
    return ("thread.wait", scripted.LOOP_THREAD, during(seconds, part * 1e9 * MORE / (USUAL + MORE)))


class Attribution(ReportTest):
    def judge(self, *lines, **how):
        self.runs = getattr(self, "runs", 0) + 1
        seconds = how.get("seconds", SECONDS)
        changed = {line[:2] for line in lines}
        every = [line for line in QUIET if line[:2] not in changed] + list(lines)
        self.run_name = self.make_run("run-%d" % self.runs, p=train(**how),
                                      s=scripted.samples(every, seconds))
        report = json.loads(self.check(["report", "--json", self.run_name], FINE).stdout)
        return report, report["validity"]["attribution"]

    def counters(self, *lines, **how):
        return {c["counter"]: c for c in self.judge(*lines, **how)[1]["counters"]}

    def test_what_made_steps_slow_is_supported(self):
        report, found = self.judge(wait(1))
        self.assertIsNone(found["refused"])
        self.assertGreaterEqual(found["windows"], 20)
        self.assertAlmostEqual(found["excess"], 1 / 3 * MORE / (USUAL + MORE / 3), delta=0.03)
        first = found["counters"][0]
        self.assertEqual((first["counter"], first["verdict"]), ("thread.wait", "supported"))
        self.assertAlmostEqual(first["explained"], 1, delta=0.15)
        self.assertLess(first["p"], 0.01)
        preempted, = (f for f in report["findings"] if f["id"] == "preempted")
        self.assertRegex(preempted["evidence"], r"; slow steps coincide with it \(\d+ % of their "
                                                r"extra time, p [<=] 0\.0\d+\)$")
        text = " ".join(self.report(run=self.run_name).split())
        self.assertRegex(text, r"[Ss]low steps coincide with waiting for a core \(\d+ % of their")

    def test_the_part_that_it_explains(self):
        """Half of it is enough to be supported; a tenth goes with them all the same."""
        half, tenth = (self.counters(wait(part))["thread.wait"] for part in (0.5, 0.1))
        self.assertEqual((half["verdict"], tenth["verdict"]), ("supported", "consistent"))
        self.assertAlmostEqual(half["explained"], 0.5, delta=0.1)
        self.assertAlmostEqual(tenth["explained"], 0.1, delta=0.05)

    def test_what_happens_at_other_times_is_not_listed(self):
        found = self.counters(wait(1, OTHER), ("cpu.steal", 0, during(OTHER, 0.4e9)))
        self.assertEqual({c["verdict"] for c in found.values()}, {"unlisted"}, found)
        self.assertNotIn("\nSlow  ", self.report(run=self.run_name))

    def test_what_is_always_there_explains_nothing(self):
        """A fifth of all time is a fifth of slow steps as well: the level is not the excess."""
        found = self.counters(("thread.wait", scripted.LOOP_THREAD, scripted.total(0.2e9)))
        self.assertEqual(found["thread.wait"]["verdict"], "unlisted", found)

    def test_what_only_counts_is_at_most_consistent(self):
        found = self.counters(wait(1), ("swap.in", 0, during(SLOW, 4 << 20)))
        self.assertEqual(found["swap.in"]["verdict"], "consistent")
        self.assertIsNone(found["swap.in"]["explained"])
        self.assertEqual(list(found)[0], "thread.wait")  # time is before counts
        self.assertLess(found["swap.in"]["p"], 0.01)

    def test_what_comes_later_is_no_cause(self):
        slow, late = range(12, 22), range(14, 24)
        found = self.counters(wait(1, late), ("cpu.steal", 0, during(slow, 0.4e9)), slow=slow)
        self.assertTrue(found["thread.wait"]["late"], found)
        self.assertEqual(found["thread.wait"]["verdict"], "unlisted")
        self.assertFalse(found["cpu.steal"]["late"])
        self.assertEqual(found["cpu.steal"]["verdict"], "supported", found)

    def test_what_is_not_known_of_slow_steps_explains_nothing(self):
        slow = range(22, 30)
        for counter in ("cgroup.throttled", "psi.memory.some", "psi.io.some", "cpu.steal", "swap.in"):
            with self.subTest(counter=counter):
                ends = (counter, 0, lambda s: 1e7 * s if s < 22 else None)
                found = self.counters(ends, slow=slow)
                self.assertIn(found.get(counter, {}).get("verdict"), (None, "unlisted"), found)

    def test_what_is_less_in_slow_steps_is_not_listed(self):
        """Though there is more than enough of it."""
        others = [s for s in range(SECONDS) if s not in SLOW]
        found = self.counters(("psi.io.some", 0, lambda s: 0.5e9 * s + during(others, 0.3e9)(s)))
        self.assertLess(found["psi.io.some"]["rho"], 0)
        self.assertEqual(found["psi.io.some"]["verdict"], "unlisted", found)

    def test_clocks_lose_time(self):
        """A clock of 50 / 65 makes 65 of 50 ms."""
        low = 3e9 * USUAL / (USUAL + MORE)
        found = self.counters(("cpu.frequency", 1, lambda s: low if int(s) in SLOW else 3e9))
        self.assertEqual(found["cpu.frequency"]["verdict"], "supported", found)
        self.assertAlmostEqual(found["cpu.frequency"]["explained"], 1, delta=0.2)

    def test_a_drift_names_it(self):
        report, _ = self.judge(wait(1, range(10, 30)), slow=range(10, 30))
        drift, = (f for f in report["findings"] if f["id"] == "drift")
        self.assertIn("; slow steps coincide with " + WAIT, drift["evidence"])

    def test_nothing_is_tested_where_there_is_nothing_to_explain(self):
        _, found = self.judge(wait(1), slow=())
        self.assertEqual((found["counters"], found["refused"]),
                         ([], "slow steps take hardly longer than the fastest quarter"))

    def test_too_few_windows_are_refused(self):
        """Looks every 2 s are 15 windows in 30 s."""
        run = self.make_run(p=train(), s=scripted.samples(QUIET + [wait(1)], SECONDS, per_s=0.5))
        found = json.loads(self.check(["report", "--json", run], FINE).stdout)["validity"]["attribution"]
        self.assertEqual((found["counters"], found["refused"]),
                         ([], "no counter covers 20 windows"))

    def test_a_machine_that_nobody_watched(self):
        run = self.make_run(p=train())
        found = json.loads(self.check(["report", "--json", run], FINE).stdout)["validity"]["attribution"]
        self.assertEqual((found["counters"], found["refused"]), ([], "system metrics were not collected"))


if __name__ == "__main__":
    unittest.main()
