/* Takes secrets out of a command line before it is written anywhere. */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stddef.h>

/* `raw` holds n bytes of arguments, each ended by NUL (as in /proc/PID/cmdline). Writes them to
 * `out`, separated by spaces, cut to `size`; arguments with blanks are quoted for a shell.
 * Replaced by "***": the value of an option or assignment whose name speaks of a secret, in any
 * spelling (--api-key X, --authtoken=X, PGPASSWORD=X, {"api_key": X}, Authorization: X; -p is not
 * guessed at), unless it is a number that a name such as --num-keys may have; the password, or a
 * long user, of scheme://user:X@host; keys of well-known kinds (sk-..., ghp_..., AKIA..., JWTs)
 * wherever they stand; hooks and signatures in URLs. */
void redact_command(const char *raw, size_t n, char *out, size_t size);

#endif
