#include "core.h"

int hook_add(PyObject *module)
{
    (void)module;
    return 0;
}
