/* Error codes of the library and the tools: negative, one list, each with its message. */
#ifndef STEPSCOPE_ERROR_H
#define STEPSCOPE_ERROR_H

#include "stepscope/vocabulary.h"

#define SS_ERRORS(X)                                                                               \
    X(OK, 0, "no error")                                                                           \
    X(NOMEM, -1, "out of memory")                                                                  \
    X(NOTFOUND, -2, "no such run")                                                                 \
    X(NOTRUN, -3, "not a run: it holds no recording")                                              \
    X(ACCESS, -4, "permission denied")                                                             \
    X(VERSION, -5, "written by a newer version of stepscope")                                      \
    X(DAMAGED, -6, "damaged")                                                                      \
    X(IO, -7, "input or output error")                                                             \
    X(NOSPACE, -8, "no space left on the device")                                                  \
    X(LIMIT, -9, "a resource limit of the process is reached")                                     \
    X(OFF, -10, "not recording: no run directory was given")                                       \
    X(BUSY, -11, "already recording")                                                              \
    X(NODIR, -12, "the run directory cannot be made")                                              \
    X(CAP, -13, "the run reached its cap")                                                         \
    X(THREAD, -14, "the helper thread cannot be started")                                          \
    X(STOLEN, -15, "the file descriptor was closed by the program")                                \
    X(INVALID, -16, "invalid argument")                                                            \
    X(GONE, -17, "its file was deleted")                                                           \
    X(TRUNCATED, -18, "its file was truncated by another program")                                 \
    X(BEHIND, -19, "its last moments had not been written when it ended")                          \
    X(PACKED, -20, "packed, and this stepscope was built without zstd")

#define SS_ENUM_ERROR(id, number, message) SS_E_##id = number,
enum ss_error_code { SS_ERRORS(SS_ENUM_ERROR) SS_E_END = -21 };

#ifdef __cplusplus
extern "C" {
#endif
SS_API const char *ss_error_text(int code);
#ifdef __cplusplus
}
#endif

/* What went wrong, for a person: code, and a sentence that names the file. */
struct ss_error {
    int code;
    char message[512];
};

#endif
