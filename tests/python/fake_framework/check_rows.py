"""What a row of a table of hooks can ask for; run by test_hooks.py in each interpreter."""

import sys
import types
import unittest
from operator import attrgetter

import fake_framework
from fake_framework import parts
from fake_framework.hook_case import PARTS, HookCase, lay
from stepscope import _core, _hooks
from stepscope._hooks import Count, Hook


def tensor(*shape):
    made = parts.Tensor()
    made.shape = shape
    return made


class Rows(HookCase):
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
                    whose="self", outermost="update")
        self.lay(pair, pair._replace(target=PARTS + "Record.__exit__", part="end"),
                 Hook(PARTS + "Scaler.step", "optimizer", "scaled", object="instance", whose=1,
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
        skipped = lay(Hook(PARTS + "collate", "user", "collate", whose=1))
        self.assertIn("'whose' needs 'object'", skipped[PARTS + "collate"])

    def test_a_scope_inside_one_of_the_same_object_is_a_part_of_it(self):
        """As of a step that calls super().step()."""
        pair = Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin", role="update",
                    object="attribute", attribute="name", prefix="Optimizer.step#",
                    whose="self")
        self.lay(pair, Hook(PARTS + "Record.__exit__", "optimizer", "step", part="end",
                            object="instance"))

        class Careful(parts.Adam):
            def step(self, inside=lambda: None):
                with parts.Record("Optimizer.step#Careful.step"):
                    super().step()
                    inside()
                    super().step()

        first, second = Careful(), Careful()

        def refuse():
            raise KeyError

        def work():
            first.step()
            first.step(second.step)  # another one is another one
            with self.assertRaises(KeyError):
                first.step(refuse)
            first.step()

        spans = self.spans(work)
        failed = ["failed"]  # an update that was not made
        self.assertEqual([(s["object"], s["depth"], s["flags"]) for s in spans],
                         [("Careful", 0, []), ("Careful#2", 1, []), ("Careful", 0, []),
                          ("Careful", 0, failed), ("Careful", 0, [])])

    def test_a_scope_that_is_entered_again_lasts_to_its_last_end(self):
        self.lay(Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin",
                      object="attribute", attribute="name", prefix="step#"),
                 Hook(PARTS + "Record.__exit__", "optimizer", "step", part="end", object="instance"),
                 Hook(PARTS + "collate", "user", "collate"))
        record = parts.Record("step#x")

        def work():
            with record:
                with record:
                    with record:
                        pass
                parts.collate([])
            parts.collate([])

        self.assertEqual([(s["name"], s["depth"]) for s in self.spans(work)],
                         [("collate", 1), ("step", 0), ("collate", 0)])

    def test_functions_that_begin_scopes_in_turn(self):
        """From the second call on the caller's code says which scope it is."""
        step = Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin",
                    object="attribute", attribute="name", prefix="step#", whose="self",
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

    def test_the_callers_own_object_in_turn(self):
        """Scopes have no text here; twelve callers, more than are remembered."""
        self.lay(Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin",
                      object="instance", whose="self", whose_module=__name__),
                 Hook(PARTS + "Record.__exit__", "optimizer", "step", part="end",
                      object="instance"))

        class Scheduler:
            def step(self):
                with parts.Record("x"):
                    pass

            def other_step(self):
                with parts.Record("x"):
                    pass

        kinds = [type("Kind%d" % number, (Scheduler,), {}) for number in range(12)]
        all_of_them = [kind() for kind in kinds]

        def work():
            for _ in range(3):
                for one in all_of_them:
                    one.step(), one.other_step()

        self.assertEqual([s["object"] for s in self.spans(work)],
                         [kind.__name__ for kind in kinds for _ in range(2)] * 3)

    def test_one_function_with_scopes_of_two_kinds(self):
        """It is of a module that promises nothing, so that each is asked what it is."""
        self.lay(Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin",
                      object="attribute", attribute="name", prefix="step#", whose="self",
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

    def test_scopes_inside_a_call_of_another_kind_are_not_looked_at(self):
        """A loader tells a profiler of its own calls; no attribute of those scopes is asked for."""
        self.lay(Hook(PARTS + "Record.__enter__", "optimizer", "step", part="begin",
                      object="attribute", attribute="name", prefix="step#", never_in="data"),
                 Hook(PARTS + "Record.__exit__", "optimizer", "step", part="end", object="instance",
                      never_in="data"),
                 Hook(PARTS + "collate", "data", "collate", outermost="data"))
        asked = []

        class Told(parts.Record):
            @property
            def name(self):
                asked.append(1)
                return "step#x"

            @name.setter
            def name(self, text):
                pass

        class Batch:
            def __iter__(self):
                with Told(""):
                    return iter(())

        def work():
            parts.collate(Batch())
            with Told(""):
                pass

        self.assertEqual(self.names(work), ["collate", "step"])
        self.assertEqual(len(asked), 1)

    def test_the_call_that_ends_a_scope_is_a_part_of_it(self):
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
                         [("inside", 1, []), ("scope", 0, [])])

    def test_arguments_of_a_class_are_not_counted(self):
        self.lay(Hook(PARTS + "Loader.__next__", "data", "next", outermost="data",
                      count=Count(0, attribute="left", never_of=PARTS + "Loader")))
        skipped = lay(Hook(PARTS + "collate", "user", "collate",
                           count=Count("result", never_of=PARTS + "Loader")))
        self.assertIn("needs an argument", skipped[PARTS + "collate"])
        skipped = lay(Hook(PARTS + "ready", "user", "ready", part="end", count=Count(0)))
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
        self.lay(Hook(PARTS + "Loader.__next__", "data", "next", count=Count("result")),
                 Hook(PARTS + "collate", "user", "collate", count=Count(0)),
                 Hook(PARTS + "Model.default", "user", "default", count=Count("result", attribute="size")))

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

    def test_samples_of_the_first_batch_of_a_recording(self):
        loader = parts.Loader(20, [tensor(4)])
        self.assertEqual(self.samples(lambda: next(loader)), [(4, 1)])
        again = self.record(lambda: next(loader))
        self.assertEqual([r["value"] for r in again if r["kind"] == "counter"], [4])

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
        self.lay(Hook(PARTS + "Loader.__next__", "data", "next"))
        spans = self.spans(lambda: list(parts.Loader(1)))
        self.assertEqual([s["flags"] for s in spans], [[], ["failed"]])
        _core.hooks_remove()
        self.lay(Hook(PARTS + "Loader.__next__", "user", "next"))
        spans = self.spans(lambda: list(parts.Loader(1)))
        self.assertEqual([s["flags"] for s in spans], [[], []])


if __name__ == "__main__":
    unittest.main()
