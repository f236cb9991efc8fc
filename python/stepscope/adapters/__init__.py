"""One module a framework: the table of its hook points (see stepscope/_hooks.py)."""
