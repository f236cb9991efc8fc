"""Groups of `outermost` are bits of one word: adapters must leave some for those that come later."""

import json
import unittest

from interpreters import INTERPRETERS, PACKAGES, PythonTest, environment

MOST = 52  # of 63

# Frameworks are played: an adapter asks them for little before it has its rows.
LIST_GROUPS = """
import json, sys, types

for name in ("torch", "torch._C", "keras.src.backend.config"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch"]._C = sys.modules["torch._C"]
sys.modules["torch"].Tensor = type("Tensor", (), {})
sys.modules["keras.src.backend.config"].backend = lambda: "torch"

from stepscope.adapters import (_fit, accelerate, jax, keras, lightning, optax,
                                pytorch_lightning, tensorflow, tf_keras, torch, transformers)

rows = [row for module in (accelerate, jax, keras, lightning, optax, pytorch_lightning, tensorflow,
                           tf_keras, torch, transformers) for row in module.HOOKS]
for backend in keras._TRAINERS:
    rows += keras._rows(backend)
rows += torch._OF_DEVICES
groups = {row.outermost for row in rows}

# Classes of the user's, as if they had all methods.
groups.update(_fit._fields(name)["outermost"] for name in _fit._SCOPES)
groups.update(transformers._event_row(name).outermost for name in transformers._EVENTS)
of_lightning = {
    lightning._callback_row("callback"): (
        *lightning._TRAINS, *lightning._EVALUATES, *lightning._OF_STATE, *lightning._OF_MODULE,
        *lightning._OF_DATA),
    lightning._logger_row: lightning._OF_LOGGER,
}
for stages, whose in (({**lightning._MODULE_WORK, **lightning._DATA_WORK}, ""),
                      ({**lightning._DATA_WORK, "setup": "setup", "teardown": "setup"}, ""),
                      (lightning._STRATEGY_WORK, "strategy, "),
                      (lightning._STRATEGY_SAVES, "strategy, ")):
    of_lightning[lightning._work_row(stages, whose)] = stages
for row_of, names in of_lightning.items():
    groups.update(row_of(name).outermost for name in names)

# Functions that are wrapped.
groups.update((keras._group, tensorflow.CALL, jax._ONE))
print(json.dumps(sorted(groups - {""})))
"""


class Groups(PythonTest):
    def test_all_adapters_together_leave_some(self):
        done = self.execute([INTERPRETERS[0], "-c", LIST_GROUPS], env=environment(PYTHONPATH=PACKAGES))
        groups = json.loads(done.stdout)
        for one in ("data", "update", "jax", "keras function", "lightning strategy, forward"):
            self.assertIn(one, groups)
        self.assertLessEqual(len(groups), MOST, groups)


if __name__ == "__main__":
    unittest.main()
