/* What is to be done while the interpreter is still whole, when the script has ended. */
#ifndef PYTHON_AT_EXIT_H
#define PYTHON_AT_EXIT_H

#include "core.h"

/* Registers a function with the module atexit. Without one (it may be gone) nothing is done. */
void at_exit_call(PyMethodDef *method);

#endif
