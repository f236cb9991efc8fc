"""What a graph of TensorFlow that has been traced says about the function: what it writes to, and how
it comes by its batches."""

_WRITES = "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"
_GETS = "IteratorGetNext"  # and Sync, AsOptional
_LOOPS = "While", "StatelessWhile"
_BRANCHES = "If", "StatelessIf", "Case", "StatelessCase"
_CALLS = "PartitionedCall", "StatefulPartitionedCall"


def writes(concrete):
    """Whether it writes to a variable that can be trained."""
    inside = {id(outer): inner for outer, inner in concrete.graph.captures}
    handles = [inside.get(id(variable.handle)) for variable in concrete.trainable_variables]
    return any(operation.type in _WRITES or operation.type.startswith("ResourceApply")
               for handle in handles if handle is not None for operation in handle.consumers())


def iterators(concrete):
    """From how many iterators it gets batches by itself, if it may get more than one from any of
    them in a call; 0 if it does not."""
    got = _gets(concrete.graph, {})
    return len(got) if any(many > 1 for many in got.values()) else 0


def _gets(graph, known):
    """{name of an iterator's handle: how many batches it is asked for}; 2 and more are many. The same
    function may be called often: `known` has those that have been looked at."""
    got = {}
    for operation in graph.get_operations():
        kind = operation.type
        if kind.startswith(_GETS):
            _add(got, operation.inputs[0].name, 1)
        elif kind in _CALLS or kind in _LOOPS:
            for name, many in _gets_inside(graph, operation, known).items():
                _add(got, name, many + (kind in _LOOPS))
        elif kind in _BRANCHES:  # one of them: that of a strategy gets what was not there before
            for name, many in _gets_inside(graph, operation, known).items():
                got[name] = max(got.get(name, 0), many)
    return got


def _add(got, name, many):
    got[name] = got.get(name, 0) + many


def _gets_inside(graph, operation, known):
    """The same of the functions that an operation calls, by the names that it has for the handles."""
    found = {}
    for function in _called(operation):
        inner = graph._get_function(function).graph
        if function not in known:
            known[function] = _gets(inner, known)
        given = operation.inputs[len(operation.inputs) - len(inner.inputs):]  # a condition is first
        names = {own.name: outer.name for own, outer in zip(inner.inputs, given)}
        for name, many in known[function].items():
            name = names.get(name, name)
            found[name] = max(found.get(name, 0), many)
    return found


def _called(operation):
    for attribute in operation.node_def.attr.values():
        for function in (attribute.func, *attribute.list.func):
            if function.name:
                yield function.name
