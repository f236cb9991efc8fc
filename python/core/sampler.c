#include "core.h"

int sampler_add(PyObject *module)
{
    (void)module;
    return 0;
}
