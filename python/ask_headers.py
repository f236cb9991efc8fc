"""For the build: what ask_interpreter.py says, of headers of a CPython that need not run here.

    ask_headers.py FOLDER TRIPLET      the folder of the headers, and the machine, as x86_64-linux-gnu
    ask_headers.py FOLDER TRIPLET t    as if it were built without the GIL: its headers are the same, but for
                                       one definition. Of versions that cannot be, nothing is said
"""

import os
import re
import sys

folder, triplet, letter = (*sys.argv[1:], "")[:3]
try:
    with open(os.path.join(folder, "patchlevel.h"), encoding="utf-8") as file:
        text = file.read()
except OSError as error:
    sys.exit("these are no headers of CPython: %s" % error)
major, minor = (int(re.search(r"define\s+PY_%s_VERSION\s+(\d+)" % part, text)[1]) for part in ("MAJOR", "MINOR"))
if (major, minor) < (3, 10):
    sys.exit("CPython 3.10 and later is supported, these are of %d.%d" % (major, minor))
if letter and (major, minor) < (3, 13):
    sys.exit(2)
print("%d.%d%s" % (major, minor, letter))
print(".cpython-%d%d%s-%s.so" % (major, minor, letter, triplet))
print(folder)
