/* Takes secrets out of a command line before it is written anywhere. */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stddef.h>

/* `raw` holds n bytes of arguments, each ended by NUL (as in /proc/PID/cmdline). Writes them to
 * `out`, separated by spaces, cut to `size`; arguments with blanks are quoted for a shell.
 * Replaced by "***": the value of an option or assignment whose name speaks of a secret
 * (--api-key X, --token=X, AWS_SECRET=X, {"api_key": X}, Authorization: X; -p is not guessed at), the
 * password in scheme://user:X@,
 * and words that look like a well-known kind of key (sk-..., hf_..., ghp_..., AKIA...). */
void redact_command(const char *raw, size_t n, char *out, size_t size);

#endif
