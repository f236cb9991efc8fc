/* Takes secrets out of what is written anywhere: command lines, values of the environment, names of
 * spans, marks. A pure function of the text and of STEPSCOPE_REDACT (redact_pattern.h).
 *
 * Replaced by "***": the value of an option or assignment whose name speaks of a secret, in any
 * spelling (--api-key X, --authtoken=X, PGPASSWORD=X, {"api_key": X}, Authorization: X), unless it
 * is a number that a name such as --num-keys may have; what looks random behind such a word; the
 * password, or a long user, of scheme://user:X@host; keys of well-known kinds (secret_words.h)
 * wherever they stand; hooks and signatures in URLs; -p X of programs that take a password there;
 * what the expression of the user matches. */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* `raw` holds n bytes of arguments, each ended by NUL (as in /proc/PID/cmdline), and a NUL behind
 * them. Writes them to `out`, separated by spaces, cut to `size`; arguments with blanks are quoted
 * for a shell, unless something in them is hidden. */
void redact_command(const char *raw, size_t n, char *out, size_t size);

/* The same for a text that is no command, where "key: word" or "2:30@noon" are most likely none. If
 * there is nothing to hide, false, and `out` is not written. */
bool redact_text(const char *text, char *out, size_t size);

/* False: redact_text() would find nothing, known without much work. True: it may, or not. */
bool redact_may_change(const char *text);

#endif
