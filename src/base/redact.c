#include "base/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Whole words of a name: "key" in "wandb-key" and "apiKey", not in "keyboard". */
static const char *const SECRET_WORDS[] = {
    "password",   "passwd",      "passphrase", "pass",          "pwd",    "secret",
    "secrets",    "token",       "apikey",     "apikeys",       "key",    "keys",
    "credential", "credentials", "auth",       "authorization", "bearer", NULL};
static const char *const KEY_PREFIXES[] = {"sk-",         "hf_",    "ghp_",  "gho_",
                                           "github_pat_", "glpat-", "xoxb-", "xoxp-",
                                           "AKIA",        "ASIA",   "AIza",  NULL};
enum { SHORTEST_KEY = 16 };

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

static size_t word_length(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && isalnum((unsigned char)text[i]) &&
           !(i > 0 && isupper((unsigned char)text[i]) &&
             islower((unsigned char)text[i - 1]))) {
        i++;
    }
    return i;
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp(text, word, n) == 0;
}

/* A number of tokens is none; tokens of an interface are. */
static bool speaks_of_a_secret(const char *name, size_t n)
{
    bool tokens = false, access = false;
    for (size_t at = 0; at < n;) {
        size_t length = word_length(name + at, n - at);
        for (const char *const *word = SECRET_WORDS; *word; word++) {
            if (is_word(name + at, length, *word)) {
                return true;
            }
        }
        tokens = tokens || is_word(name + at, length, "tokens");
        access = access || is_word(name + at, length, "api") ||
                 is_word(name + at, length, "access");
        at += length ? length : 1;
    }
    return tokens && access;
}

/* Where the value of a secret begins inside an argument (NAME=X, {"name": "X"}, Name: X). */
static const char *secret_value(const char *text, size_t n)
{
    size_t name = 0;
    for (size_t i = 0; i < n; i++) {
        if (strchr("=:", text[i]) && speaks_of_a_secret(text + name, i - name)) {
            return text + i + 1;
        }
        name = strchr("=:,;&? ", text[i]) ? i + 1 : name;
    }
    return NULL;
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
    const char *secret = secret_value(text, n);
    if (is_secret || looks_like_a_key(text, n)) {
        put(out, "***", 3);
    } else if (equals && looks_like_a_key(equals + 1, n - name - 1)) {
        put(out, text, name + 1);
        put(out, "***", 3);
    } else if (password) {
        put(out, text, (size_t)(password - text));
        put(out, "***", 3);
        put(out, password + bytes, n - (size_t)(password - text) - bytes);
    } else if (secret) {
        put(out, text, (size_t)(secret - text));
        put(out, "***", 3);
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
