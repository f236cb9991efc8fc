"""Lightning under its older name: the same classes once more, in a package of their own."""

from .lightning import rows

HOOKS = rows("pytorch_lightning")
