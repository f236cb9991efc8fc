"""The calls of the module stepscope, by every interpreter: what they record, and what they leave alone."""

import json
import os
import unittest

from interpreters import PythonTest

PLAIN_LOOP = """
import stepscope
stepscope.start()
stepscope.plan(steps=40, batch=8)
with stepscope.loop("fit"):
    for epoch in range(2):
        with stepscope.epoch(epoch):
            for _ in range(20):
                stepscope.step(samples=8)
                with stepscope.stage("data"):
                    sum(range(20000))
                with stepscope.span("forward pass", stage="forward"):
                    sum(range(5000))
                stepscope.counter("loss", 0.5)
stepscope.mark("done", "all of it")
stepscope.stop()
"""

TIMED = """
import asyncio, copy, inspect, pickle
import stepscope
stepscope.start()

@stepscope.timed
def plain(x):
    "its text"
    return x

@stepscope.timed("renamed")
def numbers():
    got = yield 1
    yield got

@stepscope.timed(stage="data")
async def fetch():
    await asyncio.sleep(0)
    return 5

@stepscope.timed
async def stream():
    for i in range(2):
        await asyncio.sleep(0)
        yield i

class Model:
    @stepscope.timed
    def forward(self):
        return self
    @stepscope.timed
    @staticmethod
    def static():
        return 2
    @classmethod
    @stepscope.timed
    def of_class(cls):
        return cls

async def main():
    both = await asyncio.gather(fetch(), asyncio.create_task(fetch()))
    return both, [i async for i in stream()]

assert plain(4) == 4 and plain.__name__ == "plain" and plain.__doc__ == "its text"
assert pickle.loads(pickle.dumps(plain)) is plain and copy.deepcopy(plain) is plain
assert str(inspect.signature(plain)) == "(x)"
plain.mine = 3
assert plain.mine == plain.__wrapped__.mine == 3
made = numbers()
assert next(made) == 1 and made.send(7) == 7 and list(made) == []
assert inspect.isgeneratorfunction(numbers) and inspect.isasyncgenfunction(stream)
assert inspect.iscoroutinefunction(fetch) and not inspect.iscoroutinefunction(plain)
assert asyncio.run(main()) == ([5, 5], [0, 1])
model = Model()
assert model.forward() is model and Model.static() == model.static() == 2
assert Model.of_class() is Model
stepscope.stop()
"""

SAME_TRACEBACK = """
import traceback
%s
def decorate(f):
    return %s
@decorate
def fails():
    raise KeyError("here")
@decorate
def yields():
    yield 1
    raise KeyError("there")
for attempt in (fails, lambda: list(yields())):
    try:
        attempt()
    except KeyError:
        print(traceback.format_exc())
"""

WRONG = """
import stepscope
def raised(call, *arguments, **more):
    try:
        call(*arguments, **more)
    except (TypeError, ValueError) as error:
        return type(error).__name__
assert raised(stepscope.stage, "lunch") == "ValueError"
assert raised(stepscope.stage, "other") == "ValueError"
assert raised(stepscope.span, 3) == "TypeError"
assert raised(stepscope.span) == "TypeError"
assert raised(stepscope.span, "a", what=1) == "TypeError"
assert raised(stepscope.step, -1) == "ValueError"
assert raised(stepscope.step, "x") == "TypeError"
assert raised(stepscope.step, samples=1, steps=2) == "TypeError"
assert raised(stepscope.counter, "x", "y") == "TypeError"
assert raised(stepscope.timed(), 3) == "TypeError"
assert raised(stepscope.timed, dict) == raised(stepscope.timed, type("Own", (), {})) == "TypeError"
assert raised(stepscope.epoch) == raised(stepscope.mark, name="a", number=1) == "TypeError"
assert raised(stepscope.summary) == "ValueError"
stepscope.counter(name="loss", value=1), stepscope.mark(name="a", text="b")
stepscope.loop(name="fit"), stepscope.epoch(number=1), stepscope.stage(stage="data")
stepscope.span("\\ud800"), stepscope.span("a\\0b"), stepscope.step(None)
"""


# No thread is asked to let go of the GIL: another one runs only while load() has let go by itself.
BESIDE = """
import json, sys, threading, time
import stepscope
run = stepscope.start()
for _ in range(50000):
    stepscope.step()
stepscope.stop()
sys.setswitchinterval(1e6)
ready, inside, seen = threading.Event(), [], []

def load():
    end = time.monotonic() + 60
    ready.set()
    while not seen and time.monotonic() < end:
        inside.append(1)
        stepscope.load(run)
        inside.clear()

thread = threading.Thread(target=load)
thread.start()
ready.wait()
while thread.is_alive() and not seen:
    if inside:
        seen.append(1)
    time.sleep(0)  # lets go of the GIL by itself
print(bool(seen))
thread.join()
"""


class Api(PythonTest):
    with_extra = True

    def test_a_plain_loop_gives_a_full_report(self):
        for python in self.each():
            self.python(python, PLAIN_LOOP)
            report = self.report()
            self.assertEqual(report["steps"]["count"], 40)
            self.assertEqual(report["epochs_seen"], 2)
            self.assertEqual(self.spans(), {"data": 40, "forward pass": 40})
            self.assertGreater(report["stages"]["data"]["share"], 0)
            self.assertGreater(report["stages"]["forward"]["share"], 0)

    def test_load_gives_what_the_command_gives(self):
        for python in self.each():
            done = self.python(python, PLAIN_LOOP + "import json\nprint(json.dumps("
                               "[stepscope.load(), stepscope.directory()]))")
            loaded, run = json.loads(done.stdout)
            shown = self.report()
            self.assertEqual((loaded["steps"], loaded["spans"]), (shown["steps"], shown["spans"]))
            self.assertTrue(run.startswith(self.runs))

    def test_summary_prints_the_report(self):
        for python in self.each():
            done = self.python(python, PLAIN_LOOP + "stepscope.summary()")
            self.assertIn("40 steps", done.stdout)
            self.assertIn("forward pass", done.stdout)

    def test_timed_functions_are_themselves_but_for_the_call(self):
        for python in self.each():
            self.python(python, TIMED, "-X", "dev", "-W", "error")
            self.assertEqual(self.spans(), {
                "plain": 1, "renamed": 3, "fetch": 4, "stream": 5, "Model.forward": 1,
                "Model.static": 2, "Model.of_class": 1})

    def test_tracebacks_are_the_same_with_and_without(self):
        for python in self.each():
            plain = self.python(python, SAME_TRACEBACK % ("import os", "f"))
            timed = self.python(python, SAME_TRACEBACK % ("import stepscope", "stepscope.timed(f)"))
            self.assertEqual(timed.stdout, plain.stdout)
            self.assertIn("there", plain.stdout)

    def test_wrong_arguments_are_said_and_odd_ones_taken(self):
        for python in self.each():
            self.python(python, WRONG)

    def test_without_a_recording_nothing_is_written(self):
        script = PLAIN_LOOP.replace("stepscope.start()", "assert not stepscope.recording()")
        for python in self.each():
            self.python(python, script)
            self.assertEqual(self.files(), [])

    def test_any_path_will_do_for_start(self):
        script = """
import os, pathlib, stepscope
for place in (pathlib.Path("here"), os.fsdecode(b"odd-\\xff"), "there"):
    run = stepscope.start(place)
    stepscope.step()
    stepscope.stop()
    assert os.path.dirname(run) == os.path.realpath(place), (run, stepscope.status())
    assert stepscope.load(run)
"""
        for python in self.each():
            self.python(python, script)

    def test_disabled_start_records_nothing_and_says_why(self):
        for python in self.each():
            done = self.python(python, "import stepscope\nprint(stepscope.start())\n"
                               "print(stepscope.status())", STEPSCOPE_DISABLE="1")
            self.assertEqual(done.stdout, "None\noff: STEPSCOPE_DISABLE=1\n")

    def test_a_place_that_cannot_be_written_is_no_error(self):
        for python in self.each():
            self.runs = "/proc/nowhere"
            done = self.python(python, "import stepscope\nprint(stepscope.start())\n"
                               "stepscope.step()\nprint(stepscope.status())")
            self.assertRegex(done.stdout, r"^None\noff: cannot make /proc/nowhere")

    def test_a_run_is_named_after_the_script_whatever_the_options(self):
        script = "import stepscope\nprint(stepscope.start())"
        for python in self.each():
            for options in (("-X", "dev"), ("-uX", "dev", "-W", "error"), ("-Xdev", "-Werror"), ()):
                done = self.python(python, script, *options)
                self.assertRegex(done.stdout, r"-script\.py(-\d+)?\n$", options)

    def test_other_threads_run_while_a_run_is_read(self):
        for python in self.each():
            self.assertEqual(self.python(python, BESIDE).stdout, "True\n")

    def test_start_joins_the_run_of_the_command(self):
        for python in self.each():
            self.hooked(python, PLAIN_LOOP)
            self.assertEqual(self.report()["steps"]["count"], 40)

    def test_start_after_the_environment_was_cleared(self):
        script = "import os, stepscope\nstepscope.step()\nos.environ.clear()\nprint(stepscope.start())"
        for python in self.each():
            done = self.hooked(python, script)
            self.assertEqual(os.path.realpath(done.stdout.strip()), os.path.realpath(f"{self.runs}/latest"))

    def test_nothing_is_kept_alive(self):
        script = """
import gc, sys, weakref
import stepscope
stepscope.start()
class Thing: pass
def make():
    thing = Thing()
    @stepscope.timed
    def held(x):
        return thing
    @stepscope.timed
    def many():
        with stepscope.span("inside"):
            yield thing
    assert held(1) is thing
    left = many()
    assert next(left) is thing
    return weakref.ref(thing), weakref.ref(held), weakref.ref(left)
refs = make()
gc.collect()
assert [ref() for ref in refs] == [None] * 3
value = object()
before = sys.getrefcount(value)
identity = stepscope.timed(lambda x: x)
for _ in range(1000):
    identity(value)
    with stepscope.span("again"):
        pass
assert sys.getrefcount(value) == before
"""
        for python in self.each():
            self.python(python, script, "-X", "dev", "-W", "error")


if __name__ == "__main__":
    unittest.main()
