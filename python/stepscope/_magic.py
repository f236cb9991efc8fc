"""%%stepscope, for a cell of a notebook: records the cell as a run of its own and sums it up.

    %load_ext stepscope

    %%stepscope [NAME]
    train(model, loader)

Where something is recorded already, the cell is a part of that, and the summary is that of all so far.
"""

import stepscope as _stepscope


def _raise(error):
    """The cell has shown it: so it fails without showing it again."""
    error._render_traceback_ = lambda: []
    raise error


def _run(shell, cell):
    """In the place of the cell with the magic, whose number and lines it has. From IPython 9 on the shell
    counts a cell when it begins."""
    after = shell.execution_count
    shell.execution_count = max(getattr(shell.compile, "_filename_map", {}).values(), default=after)
    try:
        return shell.run_cell("# %%stepscope\n" + cell)
    finally:
        shell.execution_count = after


def stepscope(line, cell):
    from IPython import get_ipython

    is_own = not _stepscope.recording()
    if is_own and _stepscope.start(name=line.strip() or "cell") is None:
        print("stepscope: %s" % _stepscope.status())
    result = _run(get_ipython(), cell)
    recorded = _stepscope.recording()
    if is_own:
        _stepscope.stop()
    error = result.error_before_exec or result.error_in_exec
    if recorded and (error is None or _stepscope.load()["loops"]):
        _stepscope.summary()
    if error is not None:
        _raise(error)
