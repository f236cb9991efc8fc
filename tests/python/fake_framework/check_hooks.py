"""How hooks are laid in a framework, and what is recorded of it; run by test_hooks.py in each
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
from operator import attrgetter

import fake_framework
from fake_framework import parts
from fake_framework.hook_case import PARTS, HookCase, lay
from stepscope import _core, _hooks
from stepscope._hooks import Hook

SEES_ALL = sys.version_info[:2] != (3, 11)  # through a Python function's vectorcall


def tensor(*shape):
    made = parts.Tensor()
    made.shape = shape
    return made


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

    def test_functions_that_begin_scopes_in_turn(self):
        """From the second call on the caller's code says which scope it is."""
        step = Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin",
                    object="attribute", attribute="name", prefix="step#", whose="caller.self",
                    whose_module=__name__)
        self.lay(step, step._replace(name="zero_grad", prefix="zero_grad#"),
                 Hook(PARTS + "Record.__exit__", "optimizer", "step", part="end",
                      object="attribute", attribute="name", prefix=""))

        class Both:
            def step(self):
                with parts.Record("step#x"):
                    pass

            def zero_grad(self):
                with parts.Record("zero_grad#x"):
                    pass

            def other(self):
                with parts.Record("something else"):
                    pass

            def shared(self):  # `self` is a variable of two functions
                with parts.Record("step#x"):
                    return lambda: self

        one, two = Both(), Both()

        def work():
            for _ in range(3):
                for both in (one, two):
                    both.zero_grad(), both.other(), both.step(), both.shared()

        self.assertEqual([(s["name"], s["object"]) for s in self.spans(work)],
                         [(name, whose) for whose in ("Both", "Both#2")
                          for name in ("zero_grad", "step", "step")] * 3)

    def test_one_function_with_scopes_of_two_kinds(self):
        """It is of a module that promises nothing, so that each is asked what it is."""
        self.lay(Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin",
                      object="attribute", attribute="name", prefix="step#", whose="caller.self",
                      whose_module="fake_framework"),
                 Hook(PARTS + "Record.__exit__", "optimizer", "step", part="end",
                      object="instance"))

        class Both:
            def step(self):
                for name in ("step#x", "forward"):
                    with parts.Record(name):
                        pass

        self.assertEqual(self.names(lambda both=Both(): (both.step(), both.step())),
                         ["step", "step"])

    def test_a_scope_ends_before_the_call_that_ends_it(self):
        self.lay(Hook(PARTS + "Record.__enter__", "user", "scope", "callable", part="begin"),
                 Hook(PARTS + "Record.__exit__", "user", "scope", "callable", part="end"),
                 Hook(PARTS + "collate", "user", "inside"))

        def exit_and_raise():
            parts.collate(())
            raise KeyError("at the end")

        scope = parts.Record("x")
        scope.leave = exit_and_raise

        def work():
            with self.assertRaises(KeyError), scope:
                pass

        self.assertEqual([(s["name"], s["depth"], s["flags"]) for s in self.spans(work)],
                         [("scope", 0, []), ("inside", 0, [])])

    def test_arguments_of_a_class_are_not_counted(self):
        self.lay(Hook(PARTS + "Loader.__next__", "data", "next", outermost="data", count="0.left",
                      count_never_of=PARTS + "Loader"))
        skipped = lay(Hook(PARTS + "collate", "user", "collate", count="len(result)",
                           count_never_of=PARTS + "Loader"))
        self.assertIn("needs an argument", skipped[PARTS + "collate"])
        skipped = lay(Hook(PARTS + "ready", "user", "ready", part="end", count="len(0)"))
        self.assertIn("nothing else", skipped[PARTS + "ready"])

        class Other(parts.Loader):
            pass

        self.assertEqual([s["arg"] for s in self.spans(lambda: [
            next(loader) for loader in (parts.Loader(5), Other(5), parts.Loader(8))])], [0, 4, 0])

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

    def samples(self, work):
        """What was told of batches, and in how many open spans."""
        self.lay(Hook(PARTS + "Loader.__next__", "data", "next", outermost="data",
                      samples=(PARTS + "Tensor", attrgetter("shape"))))
        return [(r["value"], r["depth"]) for r in self.record(work) if r["kind"] == "counter"]

    def test_samples_of_the_first_batch_and_of_each_16th(self):
        def work():
            batch = [tensor(4, 2), tensor(4)]
            for count in (33, 1, 0, 16):
                for _ in parts.Loader(count, batch):
                    pass
            kept = [parts.Loader(20, batch), parts.Loader(20, batch)]
            for _ in range(20):  # in turn
                for loader in kept:
                    next(loader)

        self.assertEqual(self.samples(work), [(4, 1)] * (3 + 1 + 0 + 1 + 40))

    def test_samples_of_batches_of_all_kinds(self):
        class Other(parts.Tensor):
            pass

        other = Other()
        other.shape = (4,)
        kinds = ((tensor(4), 4), ((tensor(4), tensor(4, 1), tensor(5)), 4), ({"x": [tensor(3)]}, 3),
                 ([tensor(4), tensor(5)], 0), ([tensor(4), tensor()], 0), (tensor(), 0),
                 (tensor("many"), 0), (tensor(-1), 0), ([other, 1, "x", None], 0), ((), 0),
                 # Too deep, too far behind, and one without a shape.
                 ([[[[[tensor(4)]]]]], 0), ([0] * 99 + [tensor(4)], 0), (parts.Tensor(), 0))

        def work():
            for batch, _ in kinds:
                next(parts.Loader(1, batch))
                next(parts.Loader(0), None)

        self.assertEqual([value for value, _ in self.samples(work)], [size for _, size in kinds])

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

    def test_the_size_of_a_batch_is_the_argument_of_its_wait(self):
        libraries = [ctypes.CDLL(os.path.join(os.environ["STEPSCOPE_BUILD"], "got_caller_%s.so" % way))
                     for way in ("lazy", "now")]
        wait, batch = (library.got_caller_wait for library in libraries)
        self.lay(Hook("got_caller_lazy:usleep", "data", "wait", "library", flags=("overlay",),
                      ends="duration_us"),
                 Hook("got_caller_now:usleep", "data", "batch", "library", ends="batch"))

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
