"""For the build: version (3.14t: without the GIL), suffix of extensions and headers of the interpreter
that runs this, one a line. Fails with the reason where no extension can be built for it."""

import os
import sys
import sysconfig

if sys.implementation.name != "cpython" or sys.version_info < (3, 10):
    sys.exit("CPython 3.10 and later is supported, this is %s" % sys.version.split()[0])
headers = sysconfig.get_path("include")
if not os.path.exists(os.path.join(headers, "Python.h")):
    sys.exit("its headers are missing (Debian: python3-dev)")
print("%d.%d" % sys.version_info[:2] + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))
print(sysconfig.get_config_var("EXT_SUFFIX"))
print(headers)
