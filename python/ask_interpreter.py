"""For the build: version, suffix of extensions and headers of the interpreter that runs this, one a
line. Fails with the reason where no extension can be built for it."""

import os
import sys
import sysconfig

if sys.implementation.name != "cpython" or not (3, 10) <= sys.version_info < (3, 14):
    sys.exit("CPython 3.10 to 3.13 is supported, this is %s" % sys.version.split()[0])
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit("free-threaded builds are not supported")
headers = sysconfig.get_path("include")
if not os.path.exists(os.path.join(headers, "Python.h")):
    sys.exit("its headers are missing (Debian: python3-dev)")
print("%d.%d" % sys.version_info[:2])
print(sysconfig.get_config_var("EXT_SUFFIX"))
print(headers)
