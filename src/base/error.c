#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "stepscope/reader.h"

int error_set(struct ss_error *error, int code, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return code;
    error->code = code;
    va_start(arguments, format);
    if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0)
        error->message[0] = '\0';
    va_end(arguments);
    return code;
}

int error_code_of_errno(int os_error)
{
    switch (os_error) {
    case 0:
        return SS_E_OK;
    case ENOMEM:
        return SS_E_NOMEM;
    case ENOENT:
    case ENOTDIR:
        return SS_E_NOTFOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return SS_E_ACCESS;
    case ENOSPC:
    case EDQUOT:
        return SS_E_NOSPACE;
    case EMFILE:
    case ENFILE:
    case EFBIG:
        return SS_E_LIMIT;
    case EINVAL:
        return SS_E_INVALID;
    default:
        return SS_E_IO;
    }
}

const char *ss_error_text(int code)
{
    switch (code) {
#define MESSAGE_CASE(id, number, message)                                                          \
    case number:                                                                                   \
        return message;
        SS_ERRORS(MESSAGE_CASE)
    default:
        return "unknown error";
    }
}
