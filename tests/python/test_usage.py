"""What the sampler's thread sees outside the loop thread's stacks: its page faults and CPU time, the stacks of
other threads; and how it reads memory where the kernel does not let it the usual way."""

import json
import os
import platform
import unittest

from interpreters import NEWEST, PACKAGES, PROGRAM, PythonTest, environment

# Says itself what it used so far, again and again.
USES = """
import mmap, resource, sys, time
from stepscope import _core

def tell():
    _core.counter("own faults", resource.getrusage(resource.RUSAGE_THREAD).ru_minflt)
    _core.counter("own cpu", time.thread_time())

def fault():
    with mmap.mmap(-1, 1 << 20) as pages:
        for at in range(0, len(pages), mmap.PAGESIZE):
            pages[at] = 1

work = fault if sys.argv[1] == "busy" else lambda: time.sleep(0.01)
end = time.perf_counter() + 3.3
_core.step()
_core.sampler_start(hz=100)
while time.perf_counter() < end:
    tell()
    work()
_core.sampler_stop()
"""

THREADS = """
import threading, time
from stepscope import _core

def spin(end):
    while time.monotonic() < end:
        sum(range(2000))

def in_the_loop(end): spin(end)
def in_a_worker(end): spin(end)
def in_another(end): spin(end)

_core.step()
end = time.monotonic() + 2
threads = [threading.Thread(target=work, args=(end,)) for work in (in_a_worker, in_another)]
for thread in threads: thread.start()
_core.sampler_start(hz=200)
in_the_loop(end)
for thread in threads: thread.join()
_core.sampler_stop()
"""

# A filter of system calls that answers process_vm_readv() with EPERM, as sandboxes do.
REFUSED = """
import ctypes, platform, resource, struct, sys, time
from stepscope import _core

def refuse(call):
    rows = ((0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_rights, set_filter = 38, 22
    if libc.prctl(no_new_rights, 1, 0, 0, 0) or libc.prctl(set_filter, 2, program, 0, 0):
        print("no filter")
        sys.exit()

refuse({"x86_64": 310, "aarch64": 270}[platform.machine()])
_core.step()
if sys.argv[1] == "no files":
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
_core.sampler_start(hz=200)
end = time.monotonic() + 1
while time.monotonic() < end:
    sum(range(2000))
_core.sampler_stop()
print(_core.sampler_stats())
"""

# The program gives the number of our file to one of its own, in the way that a daemon does.
TAKEN = REFUSED.partition("_core.sampler_start")[0] + """
import os
_core.sampler_start(hz=200)
ours = []
while not ours:
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + name).endswith("/mem"):
                ours.append(int(name))
        except OSError:
            pass
print("low" if min(ours) < 100 else "high")
own = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o600)
os.dup2(own, ours[0])
child = os.fork()
_core.step()
end = time.monotonic() + 0.2
while time.monotonic() < end:
    sum(range(2000))
_core.sampler_stop()
os.write(ours[0], b"mine")
if child == 0:
    os._exit(0)
print("child", os.waitpid(child, 0)[1])
"""


class Recorded(PythonTest):
    def records(self, python, script, *arguments):
        """All records of a run of the script; what it printed is in self.out."""
        path = self.write("script.py", script)
        run = self.path("run-%d" % len(os.listdir(self.folder)))
        self.out = self.execute([python, path, *arguments],
                                env=environment(PYTHONPATH=PACKAGES, STEPSCOPE_RUN=run)).stdout
        done = self.execute([PROGRAM, "dump", "--json", run])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def counters(self, records, name):
        return [r["value"] for r in records if r["kind"] == "counter" and r["name"] == name]


class Usage(Recorded):
    def grown(self, records, name, first, last):
        """By how much a counter of the script grew between two moments."""
        told = [(r["time_ns"], r["value"]) for r in records
                if r["kind"] == "counter" and r["name"] == name]
        before, after = (max(value for at, value in told if at <= when) for when in (first, last))
        return after - before

    def test_faults_and_cpu_time_of_the_loop_are_what_it_says_itself(self):
        for python in self.each():
            records = self.records(python, USES, "busy")
            looks = [r for r in records if r["kind"] == "counter" and r["name"] == "loop cpu"]
            first, last = looks[0]["time_ns"], looks[-1]["time_ns"]
            self.assertGreater(last, first)
            seen = self.counters(records, "loop minor faults")[1:]  # each since the one before
            faults = self.grown(records, "own faults", first, last)
            self.assertGreater(faults, 1000)
            self.assertAlmostEqual(sum(seen), faults, delta=faults * 0.15)
            shares = [look["value"] for look in looks[1:]]
            cpu = self.grown(records, "own cpu", first, last) * 1e9 / (last - first)
            self.assertAlmostEqual(sum(shares) / len(shares), cpu, delta=0.15)
            self.assertTrue(self.counters(records, "loop major faults"))

    def test_a_loop_that_waits_uses_nothing(self):
        shares = self.counters(self.records(NEWEST, USES, "idle"), "loop cpu")
        self.assertTrue(shares)
        self.assertLess(max(shares), 0.3)

    def test_the_sampler_says_what_it_takes_itself_and_where_it_is(self):
        for python in self.each():
            records = self.records(python, USES, "idle")
            shares = self.counters(records, "stack sampler cpu")
            self.assertTrue(shares)
            self.assertTrue(all(0 < share < 0.3 for share in shares), shares)
            version = self.execute([python, "-c", "import sys; print(sys.version)"]).stdout.strip()
            told = [r["value"] for r in records if r["kind"] == "info" and r["key"] == "python"]
            self.assertEqual(told, [version])

    def test_other_threads_are_sampled_too_but_less_often(self):
        for python in self.each():
            records = self.records(python, THREADS)
            names = {r["id"]: r["function"] for r in records if r["kind"] == "frame"}
            stacks = [(r["tid"], {names[number] for number in r["frames"]})
                      for r in records if r["kind"] == "sample"]
            counts = {work: sum(work in stack for _, stack in stacks)
                      for work in ("in_the_loop", "in_a_worker", "in_another")}
            self.assertGreater(min(counts.values()), 2, counts)
            self.assertGreater(counts["in_the_loop"],
                               counts["in_a_worker"] + counts["in_another"], counts)
            works = {}
            for tid, stack in stacks:
                works.setdefault(tid, set()).update(stack & set(counts))
            self.assertTrue(all(len(work) <= 1 for work in works.values()), works)


@unittest.skipUnless(platform.machine() in ("x86_64", "aarch64"), "not known how to filter calls here")
class Refused(Recorded):
    def test_a_sandbox_without_the_call_is_read_through_a_file(self):
        for python in self.each():
            records = self.records(python, REFUSED, "files")
            if "no filter" in self.out:
                self.skipTest("calls cannot be filtered here")
            self.assertIn("'reason': None", self.out)
            self.assertGreater(sum(r["kind"] == "sample" for r in records), 5, self.out)

    def test_a_file_of_the_program_is_not_taken_for_it(self):
        for python in self.each():
            own = os.path.join(self.folder, "own")
            self.records(python, TAKEN, "files", own)
            if "no filter" in self.out:
                self.skipTest("calls cannot be filtered here")
            self.assertEqual(self.out.split(), ["high", "child", "0"])
            with open(own, "rb") as file:
                self.assertEqual(file.read(), b"minemine")
            os.remove(own)

    def test_without_either_it_is_off_and_says_so(self):
        for python in self.each():
            records = self.records(python, REFUSED, "no files")
            if "no filter" in self.out:
                self.skipTest("calls cannot be filtered here")
            self.assertFalse([r for r in records if r["kind"] == "sample"])
            reasons = [r["reason"] for r in records
                       if r["kind"] == "hook" and r["target"] == "stack samples"]
            self.assertEqual(reasons, ["neither process_vm_readv() nor /proc/self/mem is available here"])


if __name__ == "__main__":
    unittest.main()
