"""Jobs made of parts alone, of which all is known: what `report`, `ranks` and `join` say of them."""

import csv
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "cli"))

import part_writer as parts  # noqa: E402
from support import DATA, FINE, USAGE, CommandTest  # noqa: E402

SOAK = os.environ.get("SOAK") == "1"
MS = 1_000_000


class PartTest(CommandTest):
    def make(self, name, launches):
        folder = self.path(name)
        os.makedirs(folder)
        for number, data in enumerate(launches):
            with open(os.path.join(folder, "%05d.ssj" % number), "wb") as file:
                file.write(data)
        return name

    def load(self, name, stderr=""):
        return json.loads(self.check(["report", "--json", name], FINE, stderr=stderr).stdout)

    def straggler(self, report):
        return next((f for f in report["findings"] if f["id"] == "straggler"), None)


class Truth(PartTest):
    def check_straggler(self, world, slow, ns, seed):
        job = parts.Job(world, slow={slow: ns}, seed=seed)
        name = self.make("job-%d-%d" % (world, slow), job.launches())
        report = self.load(name)
        found = self.straggler(report)
        self.assertIsNotNone(found, report["job"]["blame"][:3])
        blame = report["job"]["blame"][0]
        self.assertEqual((blame["rank"], blame["host"], blame["stage"]), (slow, "host-%d" % (slow // 8), "forward"))
        low, high = blame["share_ci"]
        self.assertTrue(low <= job.share(slow) <= high, (job.share(slow), blame))
        self.assertAlmostEqual(blame["share"], job.share(slow), delta=1e-9)
        told = report["job"]
        self.assertEqual((told["ranks"], told["world"], told["hosts"], told["missing_count"]),
                         (world, world, (world + 7) // 8, 0))
        self.assertAlmostEqual(told["exchange_ns"], job.EXCHANGE, delta=1)
        return found

    def test_the_slow_rank_of_many(self):
        for world, slow in ((8, 3), (100, 77)):
            found = self.check_straggler(world, slow, 2 * MS, seed=world)
            self.assertIn("rank %d is slower" % slow, found["claim"])
            self.assertEqual("host-%d" % (slow // 8) in found["evidence"], world > 8)

    def test_equal_ranks_have_no_straggler(self):
        for seed in range(3):
            report = self.load(self.make("equal-%d" % seed, parts.Job(40, seed=seed).launches()))
            self.assertIsNone(self.straggler(report))

    def test_ranks_that_are_late_by_turns_are_jitter(self):
        report = self.load(self.make("turns", parts.Job(16, late=3 * MS).launches()))
        self.assertEqual([f["id"] for f in report["findings"]], ["rank-jitter"])

    @unittest.skipUnless(SOAK, "takes minutes")
    def test_thousands(self):
        for world, slow in ((1000, 17), (1000, 888), (10000, 4711)):
            self.check_straggler(world, slow, 2 * MS, seed=world + slow)
            name = self.path("job-%d-%d" % (world, slow))
            began = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([os.environ["STEPSCOPE_BIN"] if "STEPSCOPE_BIN" in os.environ else
                            os.path.join(os.environ["STEPSCOPE_BUILD"], "stepscope"), "report", name],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
            print("%d ranks: %.2f s of CPU, %d MB" % (world, cpu, ended.ru_maxrss / 1024), file=sys.stderr)
            self.assertLess(ended.ru_maxrss, 200 * 1024)
            self.assertLess(cpu, 10)

    @unittest.skipUnless(SOAK, "takes minutes")
    def test_many_jobs(self):
        """Of planted stragglers 97 % are named, and 90 % of the shares are in their interval."""
        named = inside = claimed = 0
        for seed in range(100):
            world, slow = 16 + seed, seed % (16 + seed)
            job = parts.Job(world, steps=200, slow={slow: (1 + seed % 3) * MS // 2}, seed=seed)
            report = self.load(self.make("planted-%d" % seed, job.launches()))
            blame = report["job"]["blame"][0]
            named += bool(self.straggler(report)) and blame["rank"] == slow
            inside += blame["share_ci"][0] <= job.share(slow) <= blame["share_ci"][1]
            equal = self.load(self.make("balanced-%d" % seed, parts.Job(world, steps=200, seed=seed + 999).launches()))
            claimed += self.straggler(equal) is not None
        print("named %d, inside %d, claimed %d of 100" % (named, inside, claimed), file=sys.stderr)
        self.assertGreaterEqual(named, 97)
        self.assertGreaterEqual(inside, 90)
        self.assertLessEqual(claimed, 2)


class Reading(PartTest):
    def test_missing_ranks_and_hosts_that_go_on(self):
        job = parts.Job(32, slow={20: 2 * MS})
        launches = list(job.launches())
        del launches[1]
        launches[0] = next(job.launches(ended=False))
        name = self.make("part", launches)
        text = self.check(["report", name], FINE, stderr="").stdout
        self.assertIn("Job slurm-7.0: 24 of 32 ranks on 3 hosts in 3 launches", text)
        self.assertIn("Missing: 8 of 32 ranks recorded nothing here (8, 9, 10, 11, 12, ...)", text)
        self.assertIn("1 launch did not report an end: still running, or lost (node-0 on host-0)", " ".join(text.split()))
        self.assertIn("Records: none of this job are here", text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertLess(len(text.splitlines()), 40)
        self.assertEqual(self.load(name)["job"]["missing"], list(range(8, 16)))

    def test_ranks_as_table_csv_and_json(self):
        name = self.make("job", parts.Job(24, slow={9: 2 * MS}).launches())
        table = self.check(["ranks", name], FINE, stderr="").stdout.splitlines()
        self.assertEqual(table[2].split()[0], "9")
        self.assertIn("and 8 more", table[-1])
        for line in table:
            self.assertLessEqual(len(line), 80, line)
        hosts = self.check(["ranks", "--by", "host", name], FINE, stderr="").stdout.splitlines()
        self.assertEqual(hosts[2].split()[0], "host-1")
        rows = list(csv.DictReader(io.StringIO(self.check(["ranks", "--csv", name], FINE, stderr="").stdout)))
        self.assertEqual(sorted(int(row["rank"]) for row in rows), list(range(24)))
        self.assertEqual((rows[0]["rank"], rows[0]["host"], rows[0]["job"]), ("9", "host-1", "slurm-7.0"))
        ranks = json.loads(self.check(["ranks", "--by", "forward", "--json", name], FINE, stderr="").stdout)
        self.assertEqual([rank["rank"] for rank in ranks["ranks"]][0], 9)
        self.assertEqual(len(ranks["ranks"]), 24)
        self.check(["ranks", "--by", "nothing", name], USAGE, "")
        self.check(["ranks", "--json", "--csv", name], USAGE, "")
        self.check(["ranks", "no-such"], DATA, "")

    def test_joined_in_any_order(self):
        launches = list(parts.Job(24).launches())
        one, other = self.make("one", launches[:2]), self.make("other", launches[2:])
        self.check(["join", "out", one, other], FINE, "3 launches in out\n", "")
        self.check(["join", "again", other, "one/00001.ssj", one, "out"], FINE, "3 launches in again\n", "")
        with open(self.path("out/parts.ssj"), "rb") as first, open(self.path("again/parts.ssj"), "rb") as second:
            self.assertEqual(first.read(), second.read())
        self.assertEqual(self.load("out")["job"]["ranks"], 24)

    def test_what_cannot_be_used_is_skipped_and_named(self):
        launches = list(parts.Job(32).launches())
        launches[0] = launches[0][:-7]
        launches[1] = launches[1][:600] + b"\0\0\0" + launches[1][603:]
        launches[2] = next(parts.Job(8).launches(version=2))
        launches.append(b"no part at all, but quite some bytes of it")
        launches.append(next(parts.Job(8).launches(job="slurm-8.0", launch=1)))
        launches.append(launches[3])
        launches.append(b"")
        name = self.make("damaged", launches)
        result = self.check(["report", "--json", name], FINE)
        told = json.loads(result.stdout)["job"]
        self.assertEqual((told["id"], told["ranks"], told["missing_count"]), ("slurm-7.0", 8, 24))
        reasons = " ".join(skipped["reason"] for skipped in told["skipped"])
        for reason in ("end is missing", "checksum", "version 2", "not a part", "another job, slurm-8.0", "empty"):
            self.assertIn(reason, reasons)
            self.assertIn(reason, result.stderr)
        self.assertIn("several jobs", self.check(["join", "out", name], DATA, "").stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_names_in_parts_are_no_paths(self):
        """The directory of a launch is untrusted: it is looked for in the job's alone."""
        job = parts.Job(2)
        data = parts.launch_bytes([job.rank(0), job.rank(1)], directory="../elsewhere", host="a\x1b[31mb")
        name = self.make("evil", [data])
        shutil.copytree(self.path("evil"), self.path("elsewhere"))
        text = self.check(["report", name], FINE, stderr="").stdout
        self.assertIn("Records: none of this job are here", text)
        self.assertNotIn("\x1b", text)


if __name__ == "__main__":
    unittest.main()
