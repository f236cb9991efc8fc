"""For the build: puts the Python files of the package where it is imported from.

    place_package.py STAMP SOURCE TARGET FILE...
                                           copies the files, as they lie below SOURCE, to TARGET
    place_package.py STAMP --compile TARGET
                                           compiles them for the interpreter that runs this
    place_package.py --compile TARGET      the same, where `meson install` has put them

Compiled files are of the kind that is never compared with its source: an interpreter that starts
under `stepscope run` has to be quick. They are rewritten whenever a source changes.
"""

import os
import py_compile
import shutil
import sys


def copy(source, target, files):
    for file in files:
        to = os.path.join(target, os.path.relpath(file, source))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(file, to)


def compile_all(target):
    for folder, _, files in os.walk(target):
        for file in files:
            if file.endswith(".py"):
                path = os.path.join(folder, file)
                py_compile.compile(
                    path, doraise=True,
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def main():
    arguments = sys.argv[1:]
    stamp = None if arguments[0] == "--compile" else arguments.pop(0)
    if arguments[0] == "--compile":
        compile_all(os.environ.get("DESTDIR", "") + arguments[1] if stamp is None else arguments[1])
    else:
        copy(arguments[0], arguments[1], arguments[2:])
    if stamp:
        with open(stamp, "w", encoding="ascii"):
            pass


main()
