"""tf_keras, Keras 2: `tf.keras` where TF_USE_LEGACY_KERAS is set.

Its train function is a tf.function that gets its batch by itself, so adapters/tensorflow.py has
the steps: each call of a function that applied an optimizer while it was traced.
"""

from .._hooks import Hook
from ._fit import made_batches, rows
from .tensorflow import CALL, applies

_OPTIMIZERS = "tf_keras.src.optimizers."

HOOKS = rows("tf_keras.src.engine.training:Model.", "tf_keras.src.callbacks:CallbackList.",
             "tf_keras.src.engine.training:Model.",
             ["tf_keras.src.utils.tf_utils:sync_to_numpy_or_python_type"]) + (
    Hook("tf_keras.src.engine.data_adapter:DataHandler.__init__", "setup", "make dataset",
         of="keras", after=made_batches),
    Hook(_OPTIMIZERS + "optimizer:Optimizer.apply_gradients", "optimizer", "apply_gradients",
         role="update", object="instance", outermost=CALL),
    Hook(_OPTIMIZERS + "optimizer:_BaseOptimizer.apply_gradients", "", "applies", before=applies),
    Hook(_OPTIMIZERS + "legacy.optimizer_v2:OptimizerV2.apply_gradients", "optimizer",
         "apply_gradients", role="update", object="instance", outermost=CALL),
    Hook(_OPTIMIZERS + "legacy.optimizer_v2:OptimizerV2._create_all_weights", "", "applies",
         before=applies),
)
