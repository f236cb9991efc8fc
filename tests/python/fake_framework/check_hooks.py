"""How hooks are laid in a framework, and what an adapter receives; run by test_hooks.py in each
interpreter."""

import array
import asyncio
import copy
import ctypes
import gc
import inspect
import math
import os
import pickle
import signal
import sys
import threading
import types
import unittest
import weakref

import fake_framework
from fake_framework import parts
from fake_framework.hook_case import PARTS, HookCase, lay
from stepscope import _core, _hooks
from stepscope._hooks import Count, Hook

SEES_ALL = sys.version_info[:2] != (3, 11)  # through a Python function's vectorcall


class Techniques(HookCase):
    def test_a_python_function_is_hooked_and_stays_what_it_is(self):
        function = parts.Model.__dict__["__call__"]
        before = (function.__code__, function.__globals__, vars(parts.Model).copy())
        self.lay(Hook(PARTS + "Model.__call__", "forward", "call", "function"))
        model = parts.Model()
        self.assertEqual(self.names(lambda: [model(1) for _ in range(100)]), ["call"] * 100)
        self.assertIs(parts.Model.__dict__["__call__"], function)
        self.assertIs(type(function), types.FunctionType)
        self.assertEqual((function.__code__, function.__globals__, vars(parts.Model)), before)
        self.assertIs(pickle.loads(pickle.dumps(parts.collate)), parts.collate)

    def test_every_form_of_call_is_seen_also_where_it_was_specialised_before(self):
        model = parts.Model(2)

        def work():
            for _ in range(50):
                model.forward(1)
                parts.Model.forward(model, 1)
                model.size
                model[0]
                model.forward(*(1,), **{})

        work()
        self.lay(*(Hook(PARTS + "Model." + path, "user", path, "function")
                   for path in ("forward", "size.fget", "__getitem__")))
        names = self.names(work)
        self.assertEqual(names.count("forward"), 150 if SEES_ALL else 50)
        self.assertEqual(names.count("size.fget"), 50)
        if SEES_ALL:
            self.assertEqual(names.count("__getitem__"), 50)

    def test_auto_sees_each_call_in_every_version(self):
        self.lay(Hook(PARTS + "Model.__init__", "setup", "made"),
                 Hook(PARTS + "Model.forward", "forward", "forward"),
                 Hook(PARTS + "Model.build", "user", "build"),
                 Hook(PARTS + "Model.default", "user", "default"),
                 Hook(PARTS + "collate", "user", "collate"))

        def work():
            for _ in range(50):
                parts.Model()
                parts.Model.build(0)
                parts.Model.default()
                parts.Deeper().forward(1)
                parts.ready()

        names = self.names(work)
        for name, count in (("made", 50 + 50 + 3 * 50 + 50), ("forward", 50), ("build", 50),
                            ("default", 50), ("collate", 50)):
            self.assertEqual(names.count(name), count, name)

    def test_c_methods_of_every_calling_convention(self):
        targets = ("array:array.append", "array:array.tolist", "array:array.insert",
                   "math:gcd", "math:sqrt", "builtins:str.encode", "builtins:int.from_bytes",
                   "builtins:list.sort", "builtins:str.format", "builtins:dict.get")
        self.lay(*(Hook(target, "user", target, "method") for target in targets))
        got = []

        def work():
            numbers = array.array("i")
            numbers.append(4)
            numbers.insert(0, 6)
            got.append((numbers.tolist(), math.gcd(4, 6), math.sqrt(9), "a".encode(encoding="ascii"),
                        int.from_bytes(b"\1\2", "big"), [2, 1].sort(reverse=True),
                        "{}{a}".format(1, a=2), {1: 2}.get(1)))

        spans = self.names(work)
        self.assertEqual(got, [([6, 4], 2, 3.0, b"a", 258, None, "12", 2)])
        for target in targets:
            self.assertIn(target, spans)

    def test_an_object_with_its_own_vectorcall(self):
        self.lay(Hook("fake_framework:compiled", "compute", "jit", "object", role="jit_call",
                      of="train_step"))
        spans = self.spans(lambda: fake_framework.compiled((1, 2)))
        self.assertEqual([(s["name"], s["object"]) for s in spans], [("jit", "train_step")])

    def test_the_callable_type_looks_like_the_function(self):
        plain = parts.collate
        self.lay(Hook(PARTS + "collate", "user", "collate", "callable"))
        hooked = parts.collate
        self.assertIs(hooked.__wrapped__, plain)
        self.assertEqual(inspect.signature(hooked), inspect.signature(plain))
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__code__"):
            self.assertEqual(getattr(hooked, name), getattr(plain, name))
        self.assertIs(pickle.loads(pickle.dumps(hooked)), hooked)
        self.assertIs(copy.deepcopy(hooked), hooked)
        self.assertIs(weakref.ref(hooked)(), hooked)
        hooked.note = 1
        self.assertEqual(plain.__dict__.pop("note"), 1)
        self.lay(Hook(PARTS + "Model.forward", "user", "forward", "callable"))
        model = parts.Model()
        self.assertEqual(pickle.loads(pickle.dumps(parts.Model.forward)), parts.Model.forward)
        self.assertEqual(model.forward(1), 2)
        self.assertTrue(inspect.ismethod(model.forward))

    def test_a_callable_of_a_subclass_is_pickled_as_what_it_stands_for(self):
        self.lay(Hook(PARTS + "Adam.update", "user", "update", "callable"))
        self.assertIs(pickle.loads(pickle.dumps(parts.Adam.update)), parts.Optimizer.update)
        _core.hooks_off()
        self.assertNotIn("update", vars(parts.Adam))

    def test_two_classes_that_inherit_one_function_are_two_places(self):
        self.lay(*(Hook(PARTS + kind + ".update", "user", kind, "callable")
                   for kind in ("Adam", "Momentum")))

        def work():
            for kind in (parts.Adam, parts.Momentum, parts.Nesterov, parts.Optimizer):
                kind().update()

        self.assertEqual(self.names(work), ["Adam", "Momentum", "Momentum"])
        again = Hook(PARTS + "Momentum.update", "user", "again", "callable")
        self.assertEqual(lay(again), {again.target: "it is hooked already"})
        function = Hook(PARTS + "Optimizer.update", "user", "all", "function")
        self.assertEqual(lay(function), {function.target: "it is hooked already"})
        self.assertEqual(_core.hooks_off(), 0)
        self.assertEqual([kind for kind in (parts.Adam, parts.Momentum) if "update" in vars(kind)],
                         [])
        self.assertEqual(_core.hooks_on(), 0)
        self.assertEqual(self.names(work), ["Adam", "Momentum", "Momentum"])

    def test_a_class_that_inherits_what_stands_for_a_function_is_hooked_with_it(self):
        self.lay(Hook(PARTS + "Optimizer.update", "user", "update", "callable"))
        inherits = Hook(PARTS + "Adam.update", "user", "again", "callable")
        self.assertEqual(lay(inherits), {inherits.target: "it is hooked already"})
        self.assertEqual(self.names(lambda: parts.Adam().update()), ["update"])

    def test_each_resume_of_a_generator_is_a_span(self):
        rows = tuple(Hook(PARTS + "Trainer." + name, "data", name)
                     for name in ("batches", "fetch", "stream"))
        self.lay(*rows)
        got = []

        async def consume():
            trainer = parts.Trainer()
            return [i async for i in trainer.stream(2)], await trainer.fetch()

        def work():
            for i in parts.Trainer().batches(3):
                with _core.span("outside"):
                    got.append(i)
            got.append(asyncio.run(consume()))

        spans = self.spans(work)
        self.assertEqual(got, [0, 1, 2, ([0, 1], 7)])
        names = [span["name"] for span in spans]
        self.assertEqual({name: names.count(name) for name in names},
                         {"batches": 4, "outside": 3, "stream": 3, "fetch": 1})
        self.assertFalse(any(span["depth"] for span in spans))

    def test_a_row_that_could_only_time_the_making_of_a_generator_is_skipped(self):
        target = PARTS + "Trainer.batches"
        reason = "a call of it only makes a generator or coroutine"
        for row in (Hook(target, "data", "x", "function"), Hook(target, "data", "x", keep=True),
                    Hook(target, "data", "x", object="type"),
                    Hook(target, "data", "x", flags=("train",))):
            self.assertEqual(lay(row), {target: reason})
        told = []
        self.lay(Hook(target, "", "x", before=told.append))
        self.assertEqual(list(parts.Trainer().batches(2)), [0, 1])
        self.assertEqual(len(told), 1)

    def test_slots_of_a_library(self):
        for binding in ("lazy", "now"):
            path = os.path.join(os.environ["STEPSCOPE_BUILD"], "got_caller_%s.so" % binding)
            library = ctypes.CDLL(path)
            self.lay(Hook("got_caller_%s:getppid" % binding, "user", "parent", "library"),
                     Hook("got_caller_%s:usleep" % binding, "data", "wait", "library",
                          flags=("overlay",), tells="duration_us"))

            def work():
                self.assertEqual(library.got_caller_parent(), os.getppid())
                self.assertEqual(library.got_caller_wait(10), 0)

            self.assertEqual([(s["name"], s["flags"]) for s in self.spans(work)],
                             [("parent", []), ("wait", ["overlay", "appended"])])
            self.assertEqual(_core.hooks_off(), 0)
            self.assertEqual(self.names(lambda: (work(), _core.step())), [])
            self.assertEqual(_core.hooks_on(), 0)
            self.assertEqual(self.names(work), ["parent", "wait"])
            _core.hooks_remove()

    def test_what_does_not_fit_is_skipped_with_a_reason(self):
        skipped = lay(Hook(PARTS + "Model.gone", "user", "x"),
                      Hook("not_imported:f", "user", "x"),
                      Hook(PARTS + "collate", "nonsense", "x"),
                      Hook(PARTS + "collate", "user", "x", versions=">=3"),
                      Hook(PARTS + "collate", "user", "x", "method"),
                      Hook("builtins:int.__add__", "user", "x", "method"),
                      Hook("builtins:str.upper", "user", "x", "callable"))
        self.assertEqual(len(skipped), 5)  # of seven rows, three with the same target
        self.assertIn("vocabulary", lay(Hook(PARTS + "ready", "nonsense", "x"))[PARTS + "ready"])
        records = self.record(lambda: _core.step())
        self.lay(Hook(PARTS + "collate", "user", "x", versions=">=2.0,<3"))
        records = self.record(parts.ready)
        reasons = {r["target"]: r["reason"] for r in records if r["kind"] == "hook"}
        self.assertEqual(reasons["not_imported:f"], "module not_imported is not imported")


class Adapters(HookCase):
    """What a row tells an adapter, and what an adapter wraps by itself."""

    def test_an_adapter_is_told_of_a_call_and_nothing_is_recorded(self):
        told = []
        self.lay(Hook(PARTS + "Model.forward", "", "forward", before=lambda *a: told.append(a),
                      after=lambda *a: told.append(a)))
        model = parts.Model()
        self.assertEqual(self.names(lambda: (model.forward(1), _core.step())), [])
        self.assertEqual(told, [((model, 1),), ((model, 1), 2, False)])

    def test_a_failed_call_keeps_its_exception_whatever_the_adapter_does(self):
        told = []

        def after(arguments, result, failed):
            told.append((result, failed))
            raise KeyError("ours")

        self.lay(Hook(PARTS + "Model.forward", "forward", "forward", before=after, after=after))
        with self.assertRaises(ValueError) as caught:
            parts.Model().forward(-1)
        self.assertIsNone(caught.exception.__context__)
        self.assertEqual(told, [(None, True)])
        self.assertEqual(parts.Model().forward(1), 2)

    def test_an_interrupt_while_an_adapter_runs_is_the_scripts(self):
        told = []

        def before(arguments):
            signal.raise_signal(signal.SIGINT)
            told.append("not reached")

        self.lay(Hook(PARTS + "Model.forward", "", "forward", before=before))
        with self.assertRaises(KeyboardInterrupt):
            parts.Model().forward(1)
            for _ in range(1000):
                told.append("soon")
        self.assertLess(len(told), 1000)
        self.assertNotIn("not reached", told)

    def test_numbers_of_a_result_are_counted_inside_of_a_group(self):
        outer = _core.hook_wrap(_core.hook_wrapper(_hooks._point(
            Hook("", "", "fit", outermost="numbers fit", before=lambda arguments: None))),
            lambda work: work())
        inner = _core.hook_wrap(_core.hook_wrapper(_hooks._point(
            Hook("", "sync", "logs", outermost="numbers logs", numbers="numbers fit"))),
            lambda result: result)
        logs = {"loss": 0.5, "steps": 3, 4: 1.0, "text": "x", "accuracy": 0.25}
        found = self.record(lambda: (inner(logs), outer(lambda: inner(logs)),
                                     outer(lambda: inner(None)), outer(lambda: inner([1.0]))))
        self.assertEqual([(r["name"], r["value"]) for r in found if r["kind"] == "counter"],
                         [("loss", 0.5), ("accuracy", 0.25)])
        self.assertEqual([r["name"] for r in found if r["kind"] == "span" and r["stage"] == "sync"],
                         ["logs"] * 3)  # None has no numbers

    def test_a_call_that_is_open_at_a_fork_is_not_open_in_the_child(self):
        row = Hook("", "data", "next", outermost="forked data")
        wrapper = _core.hook_wrapper(_hooks._point(row))
        inner = _core.hook_wrap(wrapper, lambda: None)

        def fork():
            child = os.fork()
            inner()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)

        spans = self.spans(_core.hook_wrap(wrapper, fork))
        found = [(s["tid"] == threading.get_native_id(), s["name"]) for s in spans]
        self.assertEqual(sorted(found), [(False, "next"), (True, "next")])

    def test_a_function_that_is_wrapped_anywhere(self):
        wrapper = _core.hook_wrapper({"stage": "compute", "name": "step", "role": "train_call"})
        alive = parts.Model()
        wrapped = _core.hook_wrap(wrapper, alive.forward)
        self.assertEqual(self.names(lambda: self.assertEqual(wrapped(1), 2)), ["step"])
        ref = weakref.ref(alive)
        del alive, wrapped
        gc.collect()
        self.assertIsNone(ref())
        self.assertRaises(ValueError, _core.hook_wrapper, {"stage": "nonsense", "name": "x"})

    def test_batches_that_a_library_got_meanwhile(self):
        path = os.path.join(os.environ["STEPSCOPE_BUILD"], "got_caller_lazy.so")
        library = ctypes.CDLL(path)
        self.lay(Hook("got_caller_lazy:usleep", "data", "batch", "library", tells="batch"))
        row = Hook("", "compute", "call", count=Count("batches", most=4))
        call = _core.hook_wrap(_core.hook_wrapper(_hooks._point(row)),
                               lambda *amounts: [library.got_caller_wait(a) for a in amounts])

        def work():
            call(1, 1, 1, 1)
            call(1, 1, 0)  # the last one was the end
            call(1, 1, 1, 1, 1)
            call()  # not known: as many as it may be

        before = _core.hook_batches()
        self.assertEqual([s["arg"] for s in self.spans(work)], [4, 2, 4, 4])
        self.assertEqual(_core.hook_batches() - before, 11)

    def test_batches_that_several_iterators_got_parts_of(self):
        library = ctypes.CDLL(os.path.join(os.environ["STEPSCOPE_BUILD"], "got_caller_lazy.so"))
        self.lay(Hook("got_caller_lazy:usleep", "data", "batch", "library", tells="batch"))

        class Function:
            replicas = 2

            def __call__(self, parts):
                for _ in range(parts):
                    library.got_caller_wait(1)

        function = Function()
        rows = [Hook("", "compute", "call", count=Count("batches", iterators=name))
                for name in ("replicas", "unknown")]
        call, other = (_core.hook_wrap(_core.hook_wrapper(_hooks._point(row)), Function.__call__)
                       for row in rows)

        def work():
            for parts in (6, 5, 1, 0):  # the last batch may have a part for some of them only
                call(function, parts)
            other(function, 3)

        self.assertEqual([s["arg"] for s in self.spans(work)], [3, 3, 1, 1, 3])

    def test_what_nobody_asked_for_is_no_batch(self):
        libraries = [ctypes.CDLL(os.path.join(os.environ["STEPSCOPE_BUILD"], "got_caller_%s.so" % way))
                     for way in ("lazy", "now")]
        ask = libraries[0].got_caller_parent
        wait, batch = (library.got_caller_wait for library in libraries)
        self.lay(Hook("got_caller_lazy:getppid", "data", "ask", "library", tells="asks"),
                 Hook("got_caller_lazy:usleep", "data", "wait", "library", flags=("overlay",),
                      tells="duration_us"),
                 Hook("got_caller_now:usleep", "data", "batch", "library", tells="batch"))

        def work():
            for asks in (True, False, True):
                self.assertTrue(not asks or ask() == os.getppid())
                wait(10)
                batch(30)
            wait(10)

        def work_in_a_thread():  # one that nothing has been told of
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

        before = _core.hook_batches()
        self.assertEqual([(s["name"], s["arg"]) for s in self.spans(work_in_a_thread)],
                         [("wait", 30)] * 2)
        self.assertEqual(_core.hook_batches() - before, 2)

    def test_the_size_of_a_batch_is_the_argument_of_its_wait(self):
        libraries = [ctypes.CDLL(os.path.join(os.environ["STEPSCOPE_BUILD"], "got_caller_%s.so" % way))
                     for way in ("lazy", "now")]
        wait, batch = (library.got_caller_wait for library in libraries)
        self.lay(Hook("got_caller_lazy:usleep", "data", "wait", "library", flags=("overlay",),
                      tells="duration_us"),
                 Hook("got_caller_now:usleep", "data", "batch", "library", tells="batch"))

        def work():
            for size in (30, 40):
                wait(10)
                batch(size)
            batch(50)  # other versions tell it before
            wait(200_000)
            batch(60)  # its wait was not seen
            wait(10)
            batch(0)  # the end of the data
            for _ in range(6):
                wait(10)  # no size comes, and after three of them none is waited for

        self.assertEqual([(s["name"], s["arg"]) for s in self.spans(work)],
                         [("wait", size) for size in (30, 40, 50, *[0] * 7)])


if __name__ == "__main__":
    unittest.main()
