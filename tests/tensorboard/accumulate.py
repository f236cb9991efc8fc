"""Follows event files with TensorBoard's own reader, for test_tensorboard.py. For each line on
standard input it reads what is new in FOLDER, and prints all that it has as one line of JSON:

    PYTHON accumulate.py FOLDER
"""

import json
import sys
import types

# TensorBoard as it is without TensorFlow: its own file reader.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")

from tensorboard.backend.event_processing import event_accumulator  # noqa: E402
from tensorboard.plugins.hparams import plugin_data_pb2  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402

ROW = "_hparams_/session_start_info"


def value_of(event):
    return [event.step, event.wall_time, tensor_util.make_ndarray(event.tensor_proto).tolist()]


def row_of(accumulator):
    """What TensorBoard's plugin reads of the row of the run."""
    content = accumulator.SummaryMetadata(ROW).plugin_data.content
    start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    return {key: getattr(value, value.WhichOneof("kind")) for key, value in start.hparams.items()}


def main():
    accumulator = event_accumulator.EventAccumulator(
        sys.argv[1], size_guidance={event_accumulator.TENSORS: 0, event_accumulator.SCALARS: 0})
    for _ in sys.stdin:
        accumulator.Reload()
        tags = accumulator.Tags()
        found = {tag: [[e.step, e.wall_time, e.value] for e in accumulator.Scalars(tag)]
                 for tag in tags["scalars"]}
        tensors = {}
        for tag in tags["tensors"]:
            content = accumulator.SummaryMetadata(tag)
            tensors[tag] = {"plugin": content.plugin_data.plugin_name,
                            "description": content.summary_description,
                            "points": [value_of(e) for e in accumulator.Tensors(tag)]}
        row = row_of(accumulator) if tensors.pop(ROW, None) else None
        print(json.dumps({"scalars": found, "tensors": tensors, "row": row},
                         default=lambda value: value.decode()), flush=True)


if __name__ == "__main__":
    main()
