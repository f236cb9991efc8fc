"""What hooks leave as it was: errors, references, threads, forks, whatever else has a hand in the
framework; and that they can be taken away. Run by test_hooks.py in each interpreter."""

import array
import asyncio
import gc
import math
import os
import sys
import threading
import traceback
import types
import unittest
import weakref

import fake_framework
from fake_framework import parts
from fake_framework.hook_case import PARTS, HookCase, lay
from stepscope import _core
from stepscope._hooks import Count, Hook


def in_a_scope():
    with parts.Record("x"):
        return 1 / 0


# One for each place where something of ours is on the way of an error.
ERRORS = (
    lambda: parts.Model(2)(-5), lambda: parts.Model.forward(), lambda: parts.Deeper().forward(-5),
    lambda: parts.collate(None), lambda: parts.collate(), lambda: parts.collate(1, x=2),
    lambda: parts.Model.build("a"), lambda: parts.Model.default(1), lambda: parts.Model("a"),
    lambda: parts.Model()[3], lambda: next(parts.Loader(0)), lambda: parts.Trainer().factorial("a"),
    lambda: list(parts.Trainer().fails(2)), lambda: asyncio.run(parts.Trainer().fails_later()),
    lambda: in_a_scope(), lambda: math.sqrt(-1), lambda: math.gcd("a"), lambda: array.array("i").append("a"),
    lambda: array.array("i").pop(1, 2), lambda: int.from_bytes(b"", "middle"),
    lambda: fake_framework.compiled(None), lambda: fake_framework.compiled())


def tracebacks():
    texts = []
    for work in ERRORS:
        try:
            work()
        except Exception:
            texts.append(traceback.format_exc())
    return texts


class Errors(HookCase):
    NAMES = ("Model.__init__", "Model.__call__", "Model.forward", "Model.__getitem__", "Model.build",
             "Model.default", "Loader.__next__", "Trainer.factorial", "Record.__enter__",
             "Record.__exit__", "collate")
    FLOWS = ("Trainer.fails", "Trainer.fails_later")
    IN_C = (*(Hook(target, "user", target, "method")
              for target in ("math:sqrt", "math:gcd", "array:array.append", "array:array.pop",
                             "builtins:int.from_bytes")),
            Hook("fake_framework:compiled", "user", "compiled", "object"))

    def check(self, *rows):
        plain = tracebacks()
        self.assertEqual(len(plain), len(ERRORS))
        self.lay(*rows)
        texts = []
        spans = self.spans(lambda: texts.extend(tracebacks()))
        self.assertEqual(texts, plain)
        _core.hooks_remove()
        return spans

    def test_of_every_technique_are_the_same_to_the_byte(self):
        for technique in ("auto", "function", "callable"):
            with self.subTest(technique):
                names = self.NAMES + self.FLOWS if technique != "function" else self.NAMES
                spans = self.check(*(Hook(PARTS + name, "user", name, technique) for name in names),
                                   *self.IN_C)
                failed = {span["name"] for span in spans if "failed" in span["flags"]}
                self.assertLessEqual({row.name for row in self.IN_C}, failed)
                if technique == "auto":
                    self.assertLessEqual({*names} - {"Loader.__next__", "Record.__enter__",
                                                     "Record.__exit__"}, failed)

    def test_where_rows_have_options(self):
        told = []
        self.check(Hook(PARTS + "Model.__call__", "forward", "call", object="instance",
                        outermost="forward", query="fake_framework:is_grad_enabled"),
                   Hook(PARTS + "collate", "data", "collate", count=Count("result")),
                   Hook(PARTS + "Trainer.factorial", "user", "factorial", object="type"),
                   Hook(PARTS + "Record.__enter__", "user", "scope", part="begin"),
                   Hook(PARTS + "Record.__exit__", "user", "scope", part="end"),
                   Hook(PARTS + "Model.build", "", "build", before=told.append,
                        after=lambda *call: 1 / 0))
        self.assertTrue(told)


class Untouched(HookCase):
    EVERYTHING = tuple(Hook(PARTS + path, "user", path) for path in (
        "Model.__call__", "Model.forward", "Loader.__next__", "Trainer.batches", "Trainer.fetch",
        "Trainer.factorial", "collate"))

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
        if sys.version_info[:2] != (3, 13) or "t" not in sys.abiflags:  # it keeps all functions from its first thread on
            self.assertIsNone(alive())

    def test_the_collector_counts_no_more_than_without(self):
        model, items, numbers = parts.Model(), [1, 2], array.array("i")

        def grown():
            """How many more objects the collector counts after many calls."""
            gc.collect()
            before = gc.get_count()[0]
            for _ in range(300):
                model(1)
                parts.collate(items)
                fake_framework.compiled(items)
                numbers.append(1)
            return gc.get_count()[0] - before

        gc.disable()
        self.addCleanup(gc.enable)
        grown()
        plain = grown()
        for technique in ("function", "callable"):
            self.lay(*(Hook(PARTS + name, "user", name, technique)
                       for name in ("Model.__call__", "Model.forward", "collate")),
                     Hook("fake_framework:compiled", "user", "jit", "object"),
                     Hook("array:array.append", "user", "append", "method"))
            hooked = []
            self.record(lambda: (grown(), hooked.append(grown())))
            self.assertLessEqual(abs(hooked[0] - plain), 3)
            _core.hooks_remove()

    def test_nothing_is_kept_alive(self):
        rows = (Hook(PARTS + "Optimizer.update", "optimizer", "update", object="instance"),
                Hook(PARTS + "Model.__call__", "forward", "call", object="type", outermost="model"),
                Hook(PARTS + "Scaler.step", "optimizer", "scaled", object="instance", whose=1),
                Hook(PARTS + "Tensor.to", "transfer", "to", moves="is_cpu"),
                Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin", object="attribute",
                     attribute="name", prefix="Optimizer.step#", whose="self"),
                Hook(PARTS + "Record.__exit__", "optimizer", "step", part="end", object="attribute",
                     attribute="name", prefix="Optimizer.step#"),
                Hook(PARTS + "collate", "data", "collate", "callable", count=Count("result")),
                Hook(PARTS + "Trainer.batches", "data", "batches"))
        self.lay(*rows)

        def work(kinds, refs):
            optimizer, model, tensor = kinds["Optimizer"](), kinds["Model"](), kinds["Tensor"]()
            trainer, item = kinds["Trainer"](), kinds["Tensor"]()
            optimizer.update()
            parts.Scaler().step(optimizer)
            model(1)
            moved = tensor.to(False)
            parts.collate([item])
            half = trainer.batches(3)
            next(half)
            parts.Record("Optimizer.step#Never.step").__enter__()  # and never left
            refs.extend(map(weakref.ref, (optimizer, model, tensor, moved, trainer, item, half)))

        kinds = {name: type("Short", (getattr(parts, name),), {})
                 for name in ("Optimizer", "Model", "Tensor", "Trainer")}
        refs = [weakref.ref(kind) for kind in kinds.values()]
        self.record(lambda: work(kinds, refs))
        kinds.clear()
        gc.collect()
        self.assertEqual([ref() for ref in refs], [None] * 11)

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
