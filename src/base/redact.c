#include "base/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *const SECRET_WORDS[] = {
    "password",    "passwd",     "secret",     "token",      "apikey",
    "api-key",     "api_key",    "access-key", "access_key", "private-key",
    "private_key", "credential", "auth",       NULL};
static const char *const KEY_PREFIXES[] = {"sk-",         "hf_",    "ghp_",  "gho_",
                                           "github_pat_", "glpat-", "xoxb-", "xoxp-",
                                           "AKIA",        "ASIA",   "AIza",  NULL};
enum { SHORTEST_KEY = 16 };

/* Words of names like "tokenizer" and "author" are no secrets; nor is a number of tokens. */
static const char *const HARMLESS_WORDS[] = {"tokenizer", "tokens", "author", "tokenize",
                                             NULL};

struct out {
    char *p;
    size_t left; /* the terminator is not counted */
};

static void put(struct out *out, const char *text, size_t n)
{
    n = n < out->left ? n : out->left;
    memcpy(out->p, text, n);
    out->p += n;
    out->left -= n;
}

static const char *find_word(const char *text, size_t n, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= n; i++) {
        if (strncasecmp(text + i, word, len) == 0) {
            return text + i;
        }
    }
    return NULL;
}

static bool speaks_of_a_secret(const char *name, size_t n)
{
    for (const char *const *word = HARMLESS_WORDS; *word; word++) {
        if (find_word(name, n, *word)) {
            return false;
        }
    }
    for (const char *const *word = SECRET_WORDS; *word; word++) {
        if (find_word(name, n, *word)) {
            return true;
        }
    }
    return false;
}

static bool looks_like_a_key(const char *text, size_t n)
{
    for (const char *const *prefix = KEY_PREFIXES; *prefix; prefix++) {
        size_t len = strlen(*prefix);
        if (n >= SHORTEST_KEY && strncmp(text, *prefix, len) == 0) {
            return true;
        }
    }
    return false;
}

/* The password of scheme://user:password@host, or NULL. */
static const char *url_password(const char *text, size_t n, size_t *bytes)
{
    const char *scheme = find_word(text, n, "://");
    if (!scheme) {
        return NULL;
    }
    const char *start = scheme + 3;
    const char *end = memchr(start, '@', (size_t)(text + n - start));
    const char *colon = end ? memchr(start, ':', (size_t)(end - start)) : NULL;
    if (!colon || memchr(start, '/', (size_t)(end - start))) {
        return NULL;
    }
    *bytes = (size_t)(end - colon - 1);
    return colon + 1;
}

static void put_plain(struct out *out, const char *text, size_t n)
{
    static const char safe[] = "-_./=:,+@%^~";
    bool quote = n == 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        quote = quote || !(isalnum(c) || c >= 0x80 || strchr(safe, c));
    }
    if (!quote) {
        put(out, text, n);
        return;
    }
    put(out, "'", 1);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'') {
            put(out, "'\\''", 4);
        } else {
            put(out, text + i, 1);
        }
    }
    put(out, "'", 1);
}

/* Returns true if the next argument is the value of a secret option. */
static bool put_argument(struct out *out, const char *text, size_t n, bool is_secret)
{
    const char *equals = memchr(text, '=', n);
    size_t name = equals ? (size_t)(equals - text) : n;
    size_t bytes = 0;
    const char *password = url_password(text, n, &bytes);
    if (is_secret || looks_like_a_key(text, n)) {
        put(out, "***", 3);
    } else if (equals && (speaks_of_a_secret(text, name) ||
                          looks_like_a_key(equals + 1, n - name - 1))) {
        put(out, text, name + 1);
        put(out, "***", 3);
    } else if (password) {
        put(out, text, (size_t)(password - text));
        put(out, "***", 3);
        put(out, password + bytes, n - (size_t)(password - text) - bytes);
    } else {
        put_plain(out, text, n);
        return n > 2 && text[0] == '-' && !equals && speaks_of_a_secret(text, n);
    }
    return false;
}

void redact_command(const char *raw, size_t n, char *out, size_t size)
{
    struct out to = {out, size - 1};
    bool secret = false;
    for (size_t at = 0; at < n;) {
        size_t len = strnlen(raw + at, n - at);
        if (at > 0) {
            put(&to, " ", 1);
        }
        secret = put_argument(&to, raw + at, len, secret);
        at += len + 1;
    }
    *to.p = '\0';
}
