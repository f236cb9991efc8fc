"""What hooks do to a framework, and record of it; run by test_hooks.py in each interpreter.

Each case lays its own hooks, calls, and looks at the spans of the run."""

import array
import asyncio
import copy
import ctypes
import gc
import inspect
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import unittest
import weakref

import fake_framework
from fake_framework import parts
from stepscope import _core, _hooks
from stepscope._hooks import Hook

PARTS = "fake_framework.parts:"
SEES_ALL = sys.version_info[:2] != (3, 11)  # through a Python function's vectorcall


def lay(*rows):
    adapter = types.ModuleType("fake_framework")
    adapter.HOOKS = rows
    return _hooks.install(adapter)


class HookCase(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.addCleanup(_core.hooks_remove)

    def lay(self, *rows):
        self.assertEqual(lay(*rows), {})

    def records(self, run):
        done = subprocess.run([os.environ["STEPSCOPE_BIN"], "dump", "--json", run],
                              check=True, stdout=subprocess.PIPE)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def record(self, work):
        """All records of a run of `work`."""
        _core.start(self.place.name, "hooks")
        self.addCleanup(_core.stop)
        work()
        _core.stop()
        return self.records(_core.directory())

    def spans(self, work):
        return [r for r in self.record(work) if r["kind"] == "span"]

    def names(self, work):
        return [span["name"] for span in self.spans(work)]


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

    def test_slots_of_a_library(self):
        for binding in ("lazy", "now"):
            path = os.path.join(os.environ["STEPSCOPE_BUILD"], "got_caller_%s.so" % binding)
            library = ctypes.CDLL(path)
            self.lay(Hook("got_caller_%s:getppid" % binding, "user", "parent", "library"),
                     Hook("got_caller_%s:usleep" % binding, "data", "wait", "library",
                          flags=("overlay",), ends="duration_us"))

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


class Options(HookCase):
    def test_outermost_calls_only(self):
        self.lay(Hook(PARTS + "Model.__call__", "forward", "call", outermost="forward"))
        self.assertEqual(self.names(lambda: [parts.Model(3)(1) for _ in range(2)]), ["call"] * 2)

    def test_outermost_is_whole_again_after_an_exception(self):
        self.lay(Hook(PARTS + "Model.__call__", "forward", "call", outermost="forward"))

        def work():
            for number in (-5, 1):
                try:
                    parts.Model(3)(number)
                except ValueError:
                    pass

        self.assertEqual([s["flags"] for s in self.spans(work)], [["failed"], []])

    def test_objects_by_type_and_by_instance(self):
        self.lay(Hook(PARTS + "Optimizer.update", "optimizer", "update", object="instance"),
                 Hook(PARTS + "Model.__call__", "forward", "call", object="type"))
        first, second, third = parts.Adam(), parts.Adam(), parts.Optimizer()

        def work():
            for optimizer in (first, second, third, first):
                optimizer.update()
            parts.Deeper()(1)
            parts.Model()(1)

        self.assertEqual([s["object"] for s in self.spans(work)],
                         ["Adam", "Adam#2", "Optimizer", "Adam", "Deeper", "Model"])

    def test_a_new_instance_where_an_old_one_was_is_a_new_one(self):
        self.lay(Hook(PARTS + "Optimizer.update", "optimizer", "update", object="instance"))
        self.assertEqual([s["object"] for s in self.spans(
            lambda: [parts.Adam().update() for _ in range(3)])], ["Adam", "Adam#2", "Adam#3"])

    def test_a_pair_named_by_an_attribute(self):
        rows = []
        for what in ("step", "zero_grad"):
            for method, part in (("__enter__", "begin"), ("__exit__", "end")):
                rows.append(Hook(PARTS + "Record." + method, "optimizer", what, part=part,
                                 object="attribute", attribute="name",
                                 prefix="Optimizer.%s#" % what))
        self.lay(*rows)

        def work():
            parts.Adam().step()
            with parts.Record("something else"):
                pass
            with parts.Record("Optimizer.zero_grad#SGD.zero_grad"):
                pass

        self.assertEqual([(s["name"], s["object"]) for s in self.spans(work)],
                         [("step", "Adam"), ("zero_grad", "SGD")])

    def test_the_object_of_the_caller_and_of_an_argument_are_the_same(self):
        pair = Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin", role="update",
                    object="attribute", attribute="name", prefix="Optimizer.step#",
                    whose="caller.self", outermost="update")
        self.lay(pair, pair._replace(target=PARTS + "Record.__exit__", part="end"),
                 Hook(PARTS + "Scaler.step", "optimizer", "scaled", object="instance", whose="1",
                      outermost="update"))
        first, second = parts.Adam(), parts.Adam()

        def work():
            first.step()
            parts.Scaler().step(second)
            second.step()
            parts.Scaler().step(optimizer=first)  # not an argument that is seen
            with parts.Record("Optimizer.step#SGD.step"):
                pass

        self.assertEqual([(s["name"], s["object"]) for s in self.spans(work)],
                         [("step", "Adam"), ("scaled", "Adam#2"), ("step", "Adam#2"),
                          ("step", "Adam"), ("step", "SGD")])
        skipped = lay(Hook(PARTS + "collate", "user", "collate", whose="1"))
        self.assertIn("'whose' needs 'object'", skipped[PARTS + "collate"])

    def test_only_moves_between_host_and_device(self):
        self.lay(Hook(PARTS + "Tensor.to", "transfer", "to", moves="is_cpu"),
                 Hook(PARTS + "collate", "user", "around"))

        def work():
            tensor = parts.Tensor()
            parts.collate(tensor.to(place).is_cpu for place in (True, False))
            tensor.to(False).to(False).to(True)

        self.assertEqual([(s["name"], s["stage"], s["depth"]) for s in self.spans(work)],
                         [("to", "transfer", 1), ("around", "user", 0), ("to", "transfer", 0),
                          ("to", "sync", 0)])

    def test_rows_of_a_part_that_is_imported_later(self):
        adapter = types.ModuleType("fake_framework")
        adapter.HOOKS = (Hook("fake_framework.lazy:f", "user", "lazy"),
                         Hook(PARTS + "collate", "user", "collate"))
        adapter.LATER = ("fake_framework.lazy",)
        self.assertEqual(_hooks.install(adapter), {})
        lazy = types.ModuleType("fake_framework.lazy")
        lazy.f = lambda: None
        sys.modules[lazy.__name__] = lazy
        self.addCleanup(sys.modules.pop, lazy.__name__)
        self.assertEqual(_hooks.install(adapter, part=lazy.__name__), {})
        self.assertEqual(self.names(lambda: (lazy.f(), parts.ready())), ["lazy", "collate"])

    def test_what_a_pair_leaves_open_ends_with_the_call_around_it(self):
        self.lay(Hook(PARTS + "Record.__enter__", "user", "open", "callable", part="begin"),
                 Hook(PARTS + "Model.__call__", "forward", "call"))
        original = parts.Model.forward
        parts.Model.forward = lambda self, number: parts.Record("x").__enter__()
        self.addCleanup(setattr, parts.Model, "forward", original)
        spans = self.spans(lambda: parts.Model()(1))
        self.assertEqual([(s["name"], s["flags"]) for s in spans],
                         [("open", ["unfinished"]), ("call", [])])

    def test_a_query_says_whether_it_trains(self):
        self.lay(Hook(PARTS + "Model.__call__", "forward", "call",
                      query="fake_framework:is_grad_enabled"))

        def work():
            for fake_framework.grad_enabled in (True, False):
                parts.Model()(1)

        self.addCleanup(setattr, fake_framework, "grad_enabled", True)
        self.assertEqual([s["flags"] for s in self.spans(work)], [["train"], ["eval"]])

    def test_arguments_from_the_call(self):
        self.lay(Hook(PARTS + "Loader.__next__", "data", "next", count="len(result)"),
                 Hook(PARTS + "collate", "user", "collate", count="len(0)"),
                 Hook(PARTS + "Model.default", "user", "default", count="result.size"))

        def work():
            next(parts.Loader(1))
            parts.collate([1, 2])
            parts.Model.default()

        self.assertEqual([s["arg"] for s in self.spans(work)], [32, 2, 2])

    def test_the_end_of_the_data_is_a_failed_wait_and_elsewhere_no_failure(self):
        self.lay(Hook(PARTS + "Loader.__next__", "data", "next"),
                 Hook(PARTS + "Trainer.next_or_none", "data", "fetch", ends="none"))
        spans = self.spans(lambda: list(parts.Loader(1)))
        self.assertEqual([s["flags"] for s in spans], [[], ["failed"]])
        spans = self.spans(lambda: parts.Trainer().next_or_none(iter(())))
        self.assertEqual([s["flags"] for s in spans], [["failed"]])
        _core.hooks_remove()
        self.lay(Hook(PARTS + "Loader.__next__", "user", "next"))
        spans = self.spans(lambda: list(parts.Loader(1)))
        self.assertEqual([s["flags"] for s in spans], [[], []])


class Untouched(HookCase):
    EVERYTHING = tuple(Hook(PARTS + path, "user", path) for path in (
        "Model.__call__", "Model.forward", "Loader.__next__", "Trainer.batches", "Trainer.fetch",
        "Trainer.factorial", "collate"))

    def tracebacks(self):
        texts = []
        for work in (lambda: parts.Model(2)(-5), lambda: parts.Deeper().forward(-5),
                     lambda: parts.collate(None), lambda: parts.Model.forward(),
                     lambda: parts.Trainer().factorial("a"), lambda: math.sqrt(-1)):
            try:
                work()
            except Exception:
                texts.append(traceback.format_exc())
        return texts

    def test_tracebacks_are_the_same_to_the_byte(self):
        plain = self.tracebacks()
        self.assertEqual(len(plain), 6)
        for technique in ("auto", "function", "callable"):
            self.lay(*(row._replace(technique=technique) for row in self.EVERYTHING),
                     Hook("math:sqrt", "user", "sqrt", "method"))
            texts = []
            self.record(lambda: texts.extend(self.tracebacks()))
            self.assertEqual(texts, plain, technique)
            _core.hooks_remove()

    def test_generators_and_coroutines_and_recursion(self):
        self.lay(*self.EVERYTHING)
        got = []

        def work():
            trainer = parts.Trainer()
            got.append((list(trainer.batches(3)), asyncio.run(trainer.fetch()), trainer.factorial(50)))

        names = self.names(work)
        self.assertEqual(got, [([0, 1, 2], 7, math.factorial(50))])
        self.assertEqual(names.count("Trainer.factorial"), 51)

    def test_recursion_without_end_raises_as_ever(self):
        self.lay(Hook(PARTS + "Trainer.factorial", "user", "factorial"))

        def work():
            with self.assertRaises(RecursionError):
                parts.Trainer().factorial(10 ** 6)
            self.assertEqual(parts.Trainer().factorial(3), 6)

        self.record(work)

    def test_references_are_the_same_after_many_calls(self):
        self.lay(*self.EVERYTHING, Hook("fake_framework:compiled", "user", "jit", "object"),
                 Hook("array:array.append", "user", "append", "method"))
        model, items, numbers = parts.Model(), [1, 2], array.array("i")

        def work():
            for _ in range(200):
                model(1)
                parts.collate(items)
                fake_framework.compiled(items)
                numbers.append(1)
                try:
                    model(-1)
                except ValueError:
                    pass

        things = (model, items, numbers, parts.Model, ValueError)
        work()
        gc.collect()
        before = [sys.getrefcount(thing) for thing in things], len(gc.get_objects())
        self.record(work)
        gc.collect()
        self.assertEqual([sys.getrefcount(thing) for thing in things], before[0])
        self.assertLess(len(gc.get_objects()) - before[1], 100)

    def test_what_is_hooked_is_kept_until_the_hook_is_removed(self):
        space = {}
        exec("def short(): return 1", space)
        parts.short = space.pop("short")
        alive = weakref.ref(parts.short)
        self.lay(Hook(PARTS + "short", "user", "short", "function"))
        del parts.short
        gc.collect()
        self.assertEqual(alive()(), 1)
        _core.hooks_remove()
        gc.collect()
        self.assertIsNone(alive())

    def test_nothing_is_kept_alive(self):
        self.lay(Hook(PARTS + "Optimizer.update", "optimizer", "update", object="instance"))
        kind = type("Short", (parts.Optimizer,), {})
        optimizer = kind()
        alive = weakref.ref(optimizer), weakref.ref(kind)
        self.record(optimizer.update)
        del optimizer, kind
        gc.collect()
        self.assertEqual([ref() for ref in alive], [None, None])

    def test_threads(self):
        self.lay(*self.EVERYTHING)

        def work():
            threads = [threading.Thread(target=lambda: [parts.Model(1)(1) for _ in range(200)])
                       for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        spans = [s for s in self.spans(work) if s["name"] == "Model.__call__" and s["depth"] == 0]
        self.assertEqual(len(spans), 8 * 200)
        self.assertFalse(any(s["flags"] for s in spans))

    def test_a_fork_in_the_middle_of_a_call(self):
        self.lay(Hook(PARTS + "Model.__call__", "forward", "call", outermost="forward"))
        original = parts.Model.forward
        self.addCleanup(setattr, parts.Model, "forward", original)
        children = []

        def fork(model, number):
            children.append(os.fork())
            return number

        def work():
            parts.Model.forward = fork
            parts.Model()(1)
            parts.Model.forward = original
            if children == [0]:
                os._exit(0 if parts.Model()(1) == 2 else 1)
            self.assertEqual(os.waitpid(children[0], 0)[1], 0)

        records = self.record(work)
        spans = [(r["process"], r["name"], r["flags"]) for r in records if r["kind"] == "span"]
        self.assertEqual(sorted(spans), [(0, "call", []), (1, "call", [])])
        told = {(r["process"], r["target"]) for r in records if r["kind"] == "hook"}
        self.assertEqual({process for process, _ in told}, {0, 1})


    def test_a_span_that_took_the_place_of_the_call_is_left_open(self):
        self.lay(Hook(PARTS + "Model.__call__", "user", "call"),
                 Hook(PARTS + "Record.__exit__", "user", "call", part="end"),
                 Hook(PARTS + "Record.__enter__", "user", "other", part="begin"),
                 Hook(PARTS + "collate", "user", "collate"))
        original = parts.Model.forward
        self.addCleanup(setattr, parts.Model, "forward", original)
        record = parts.Record("x")

        def replace(model, number):
            record.__class__.__exit__(*(record, None, None, None))
            record.__class__.__enter__(*(record,))

        def work():
            parts.Model.forward = replace
            parts.Model()(1)
            parts.collate(())

        spans = {s["name"]: (s["depth"], s["flags"]) for s in self.spans(work)}
        self.assertEqual((spans["call"], spans["collate"]), ((0, []), (1, [])))

    def test_another_recording_starts_in_the_middle_of_a_call(self):
        self.lay(Hook(PARTS + "Model.__call__", "user", "call"),
                 Hook(PARTS + "Record.__enter__", "user", "open", part="begin"),
                 Hook(PARTS + "Record.__exit__", "user", "open", part="end"),
                 Hook(PARTS + "collate", "user", "collate"))
        original = parts.Model.forward
        self.addCleanup(setattr, parts.Model, "forward", original)
        record = parts.Record("x")

        def restart(model, number):
            _core.stop()
            _core.start(self.place.name, "again")
            record.__class__.__enter__(*(record,))

        def work():
            parts.Model.forward = restart
            parts.Model()(1)
            parts.collate(())
            record.__class__.__exit__(*(record, None, None, None))

        spans = [(s["name"], s["depth"], s["flags"]) for s in self.spans(work)]
        self.assertEqual(spans, [("collate", 1, []), ("open", 0, [])])


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
        self.lay(Hook("got_caller_lazy:usleep", "data", "batch", "library", ends="batch"))
        row = Hook("", "compute", "call", count="batches(4)")
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


class Switch(HookCase):
    ROWS = (Hook(PARTS + "Model.__call__", "user", "function", "function"),
            Hook("array:array.append", "user", "method", "method"),
            Hook("fake_framework:compiled", "user", "object", "object"),
            Hook(PARTS + "collate", "user", "callable", "callable"))

    def work(self):
        parts.Model()(1)
        array.array("i").append(1)
        fake_framework.compiled(())
        parts.collate(())

    def test_off_restores_and_on_lays_again(self):
        plain = parts.collate
        everything = ["callable", "function", "method", "object"]
        self.lay(*self.ROWS)
        self.assertEqual(sorted(self.names(self.work)), everything)
        self.assertEqual(_core.hooks_off(), 0)
        self.assertIs(parts.collate, plain)
        self.assertEqual(self.names(lambda: (self.work(), _core.step())), [])
        self.assertEqual(_core.hooks_on(), 0)
        self.assertEqual(sorted(self.names(self.work)), everything)

    def test_laying_twice_is_reported(self):
        self.lay(*self.ROWS)
        self.assertEqual(set(lay(*self.ROWS).values()), {"it is hooked already"})
        self.assertEqual(len(self.names(self.work)), 4)

    def test_laying_what_is_off_is_reported(self):
        self.lay(*self.ROWS)
        _core.hooks_off()
        self.assertEqual(set(lay(*self.ROWS).values()), {"it is hooked already"})
        self.assertEqual(_core.hooks_on(), 0)
        self.assertEqual(len(self.names(self.work)), 4)

    def test_what_somebody_else_replaced_is_left_alone_and_hands_on(self):
        self.lay(Hook(PARTS + "collate", "user", "collate", "callable"))
        hooked = parts.collate
        parts.collate = lambda items: hooked(items)
        self.addCleanup(setattr, parts, "collate", hooked.__wrapped__)
        self.assertEqual(_core.hooks_off(), 1)
        self.assertEqual(self.names(lambda: (parts.ready(), _core.step())), [])
        self.assertEqual(parts.ready(), [0, 1, 2])

    def test_off_inside_a_call(self):
        self.lay(Hook(PARTS + "Model.__call__", "user", "call"))
        original = parts.Model.forward
        parts.Model.forward = lambda self, number: _core.hooks_remove()
        self.addCleanup(setattr, parts.Model, "forward", original)
        self.assertEqual(self.names(lambda: parts.Model()(1)), ["call"])


if __name__ == "__main__":
    unittest.main()
