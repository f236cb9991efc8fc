#include "core.h"

int record_add(PyObject *module)
{
    (void)module;
    return 0;
}
