/* Fills struct ss_error: a code of SS_ERRORS and a sentence for a person. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/compiler.h"
#include "stepscope/error.h"

/* Returns code, so that a function can fail with `return error_set(...)`. A message that is too
 * long is cut. `error` may be NULL. The text is not made safe for a terminal. */
int error_set(struct ss_error *error, int code, const char *format, ...) ATTR_PRINTF(3, 4);

/* The SS_E code that fits an errno value. */
int error_code_of_errno(int os_error);

#endif
