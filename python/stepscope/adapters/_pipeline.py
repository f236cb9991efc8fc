"""What gives a training its batches, in words for the run (src/model/input_source.h): read from the
objects themselves, so that no advice repeats what is done already."""

import weakref

from .. import _core

_MARK = "input"
_PYTHON = "EagerPyFunc", "PyFunc", "PyFuncStateless"
# Above a prefetch, these hand on what it has ready.
_THIN = "_OptionsDataset", "_TakeDataset", "_SkipDataset", "_RepeatDataset", "_IgnoreErrorsDataset"
_MOST = 64  # datasets of a pipeline

_known = weakref.WeakKeyDictionary()  # of datasets


def tell(describe):
    """A mark with what `describe` says; none if it does not fit this version."""
    try:
        _core.mark(_MARK, describe())
    except Exception:
        pass


def of_dataset(dataset):
    """tf.data.Dataset."""
    if dataset not in _known:
        words = []
        for one in _all_of(dataset):
            words += (word for word in _words_of(one) if word not in words)
        if _is_ahead(dataset):
            words.append("prefetch")
        _known[dataset] = " ".join(["tf.data", *words])
    return _known[dataset]


def of_py_dataset(dataset):
    """keras.utils.PyDataset, or a Sequence of Keras 2."""
    words = ["PyDataset", "workers=%d" % getattr(dataset, "workers", 1)]
    if getattr(dataset, "use_multiprocessing", False):
        words.append("processes")
    return " ".join(words)


def of_adapter(adapter):
    """What fit() was given, by the object of Keras that makes batches of it."""
    kind = type(adapter).__name__
    if kind == "TFDatasetAdapter":
        return of_dataset(adapter._dataset)
    if kind == "PyDatasetAdapter":
        return of_py_dataset(adapter.py_dataset)
    return {"GeneratorDataAdapter": "generator", "ArrayDataAdapter": "arrays"}[kind]


def _all_of(dataset):
    found = [dataset]
    for one in found:
        found += one._inputs()
        if len(found) > _MOST:
            break
    return found


def _is_ahead(dataset):
    while type(dataset).__name__ in _THIN:
        (dataset,) = dataset._inputs()
    return type(dataset).__name__ == "_PrefetchDataset"


def _words_of(dataset):
    kind = type(dataset).__name__
    if kind == "CacheDataset":
        yield "cache"
    elif kind == "_InterleaveDataset":
        yield "interleave:serial"
    elif kind == "_FlatMapDataset" and "GeneratorDataset" in _operations(dataset):
        yield "generator"
    elif kind in ("_MapDataset", "_ParallelMapDataset"):
        if _operations(dataset).intersection(_PYTHON):
            yield "map:python"
        if kind == "_MapDataset":
            yield "map:serial"


def _operations(dataset):
    """Those of the function that it applies, and of the functions that are called there."""
    graph = dataset._map_func.function.graph
    found, functions = set(), [graph]
    for one in functions:
        for operation in one.get_operations():
            found.add(operation.type)
            for value in (operation.get_attr(key) for key in ("f", "then_branch", "else_branch")
                          if key in operation.node_def.attr):
                functions.append(graph._get_function(value.name).graph)
        if len(functions) > _MOST:
            break
    return found
