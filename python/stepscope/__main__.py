"""`python -m stepscope ...` is the command `stepscope ...`, the one that belongs to this package."""

import os
import sys

from . import _command


def main():
    command = _command.find()
    if command is None:
        print("stepscope: the command was not found next to the package in %s. Install stepscope again."
              % os.path.dirname(os.path.abspath(__file__)), file=sys.stderr)
        sys.exit(3)
    sys.stdout.flush()
    os.execv(command, ["stepscope"] + sys.argv[1:])


main()
