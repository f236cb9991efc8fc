/* What names say about their values ("api-key", "authToken", "num_keys"), and what gives itself
 * away as a secret, whatever it is called. Pure functions, without memory of their own. */
#ifndef BASE_SECRET_WORDS_H
#define BASE_SECRET_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct text_part {
    const char *at;
    size_t size;
};

/* Which values of a name are secrets, from few to all. */
enum secrecy {
    SECRECY_NONE,
    SECRECY_RANDOM, /* those that look random: --token-mixer, --pad-token */
    SECRECY_WEAK,   /* all but plain numbers, true, none: --token, --auth */
    SECRECY_STRONG  /* all: --password */
};

enum secrecy secrecy_of_name(struct text_part name);
bool secrecy_hides(enum secrecy secrecy, struct text_part value);

/* 32 or more hexadecimal digits, or a longer mix of cases and digits that no word or path has. */
bool secret_looks_random(struct text_part text);

/* How long a key of a well-known kind (sk-..., ghp_..., AKIA..., a JWT, a private key in PEM) is
 * that begins here; 0: none does. */
size_t secret_key_length(struct text_part text);

bool text_part_begins(struct text_part text, const char *prefix); /* in any case of letters */
bool text_part_is_one_of(struct text_part text, const char *const *words); /* the same */

/* Bytes at the start that are letters, digits or one of `also`. */
size_t text_part_span(struct text_part text, const char *also);

#endif
