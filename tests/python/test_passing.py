"""Hooks on objects that come and go, and on the buffers of a class, in every interpreter."""

import json
import unittest

from interpreters import PROGRAM, PythonTest

BEGIN = """
import functools, gc, weakref
import stepscope
from stepscope import _core, _hooks

def wrapper(name, **more):
    return _core.hook_wrapper(_hooks._point(_hooks.Hook("", "compute", name, **more)))

stepscope.start()
"""

PASSING = BEGIN + """
def outer(x):
    return inner(x) + 1

add = functools.partial(outer)
inner = functools.partial(abs)
say = wrapper("called", outermost="group")
assert _core.hook_follow(say, add) is None
assert _core.hook_follow(say, inner) is None
assert _core.hook_follow(say, add) == "it is hooked already"
assert "slot" in _core.hook_follow(say, object())
assert [add(x=-2), add(-3), inner(-1)] == [3, 4, 1]  # 3
_core.hooks_off()
assert add(-2) == 3
_core.hooks_on()
assert add(-2) == 3  # 1
try:
    add("x")  # 1, failed
except TypeError as error:
    assert "bad operand type for abs()" in str(error)

seen = []
for _ in range(2000):  # in the same place again and again: none is kept
    made = functools.partial(abs)
    assert _core.hook_follow(say, made) is None
    seen.append(weakref.ref(made))
    assert made(-1) == 1
del made
gc.collect()
assert not any(ref() for ref in seen)
_core.hooks_off()
_core.hooks_on()
strangers = [functools.partial(abs) for _ in range(2000)]
assert sum(stranger(-1) for stranger in strangers) == 2000
"""

TRAINS = BEGIN + """
def step(trains):
    if trains:
        _core.hook_trains(None)

once, never = functools.partial(step), functools.partial(step)
_core.hook_trains(None)  # outside any
assert _core.hook_follow(wrapper("once", outermost="a"), once) is None
never_says = wrapper("never", outermost="b")
assert _core.hook_follow(never_says, never) is None
for trains in (False, True, False):
    once(trains)
    never(False)
_core.hook_trains(never_says)  # from outside
never(False)
"""

BECOMES = BEGIN + """
before, after = wrapper("before", outermost="a"), wrapper("after", outermost="a")

def step(number):
    if number == 1:
        assert _core.hook_called() is before
        with stepscope.span("inside"):
            _core.hook_trains(None)
            _core.hook_become(after)
    return number

call = functools.partial(step)
_core.hook_follow(before, call)
assert [call(number) for number in range(4)] == [0, 1, 2, 3]
assert _core.hook_called() is None
_core.hook_become(before)  # outside any
assert call(4) == 4
"""

BUFFERS = BEGIN + """
class Memory(bytearray):
    pass

row = _hooks._point(_hooks.Hook("", "sync", "buffer", outermost="group"))
assert "buffers" in _core.hook_lay("buffer", int, None, None, row)
assert _core.hook_lay("buffer", Memory, None, None, row) is None
memory = Memory(b"abc")
assert bytes(memoryview(memory)) == b"abc"  # 1
assert bytes(memoryview(bytearray(b"x"))) == b"x"
class Inherits(Memory):
    pass
assert bytes(memoryview(Inherits(b"de"))) == b"de"  # 1 before 3.12, where the slot is inherited
_core.hooks_off()
assert bytes(memoryview(memory)) == b"abc"
_core.hooks_on()
assert bytes(memoryview(memory)) == b"abc"  # 1
"""


class Passing(PythonTest):
    def test_calls_are_recorded_and_nothing_is_kept(self):
        for python in self.each():
            self.python(python, PASSING)
            self.assertEqual(self.spans(), {"called": 5 + 2000})

    def test_training_is_told_from_inside(self):
        for python in self.each():
            self.python(python, TRAINS)
            self.assertEqual(self.flags("once"), [[], ["train"], ["train"]])
            self.assertEqual(self.flags("never"), [[], [], [], ["train"]])

    def test_a_call_becomes_another(self):
        for python in self.each():
            self.python(python, BECOMES)
            self.assertEqual(self.spans(), {"before": 1, "after": 4, "inside": 1})
            self.assertEqual(self.flags("after"), [["train"]] * 4)

    def flags(self, name):
        done = self.execute([PROGRAM, "dump", "--json", f"{self.runs}/latest"])
        records = [json.loads(line) for line in done.stdout.splitlines()]
        return [record["flags"] for record in records
                if record["kind"] == "span" and record["name"] == name]

    def test_buffers(self):
        for python in self.each():
            self.python(python, BUFFERS)
            self.assertIn(self.spans(), ({"buffer": 2}, {"buffer": 3}))


if __name__ == "__main__":
    unittest.main()
