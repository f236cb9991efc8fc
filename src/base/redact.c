#include "base/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Whole words of a name: "key" in "wandb-key" and "apiKey", not in "keyboard". What weak ones name
 * may be a number, or a thing of another kind: --num-keys 5, --pad-token X. */
static const char *const STRONG_WORDS[] = {"passphrase", "pass",   "pwd", "apikey", "apikeys",
                                           "creds",      "bearer", "jwt", NULL};
static const char *const WEAK_WORDS[] = {"token", "key", "keys", "auth", "authorization", NULL};
static const char *const HARMLESS_WORDS[] = {
    "num",  "max",     "min",   "size",   "dim",   "length", "count",   "type",
    "pad",  "eos",     "bos",   "unk",    "sep",   "cls",    "special", "mask",
    "sort", "primary", "image", "target", "label", "metric", "text",    NULL};
/* Of names without a border between their words: PGPASSWORD, dbpassword, authtoken, secretkey. */
static const char *const PARTS[] = {"password", "passwd", "secret", "credential", NULL};
static const char *const KEY_OWNERS[] = {"access",  "api",    "private", "signing", "ssh",
                                         "account", "master", "service", "shared",  NULL};
static const char *const KEY_PREFIXES[] = {
    "sk-",   "hf_",   "ghp_",  "gho_",  "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-",
    "xoxp-", "xoxa-", "xapp-", "pypi-", "npm_", "AKIA", "ASIA", "AIza",        NULL};
static const char *const SECRET_PATHS[] = {"hooks.slack.com/services/", "/api/webhooks/", NULL};
static const char *const SECRET_PARAMETERS[] = {"sig=", "signature=", NULL};
enum {
    SHORTEST_KEY = 16,
    SHORTEST_USER_KEY = 20,
    SHORTEST_JWT = 20,
    HEX_KEY = 40,
    MASKS_MOST = 16
};

enum secrecy { PUBLIC, WEAK, STRONG };

struct text {
    const char *at;
    size_t size;
};

/* What is hidden of an argument: from `start` on, up to `end`. */
struct mask {
    size_t start, end;
};

struct masks {
    struct mask mask[MASKS_MOST];
    size_t count;
};

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

/* With more than there is room for, what found none is hidden with all behind it. */
static void hide(struct masks *masks, size_t start, size_t end)
{
    if (end <= start)
        return;
    if (masks->count == MASKS_MOST)
        masks->mask[MASKS_MOST - 1] = (struct mask){
            start < masks->mask[MASKS_MOST - 1].start ? start : masks->mask[MASKS_MOST - 1].start,
            SIZE_MAX};
    else
        masks->mask[masks->count++] = (struct mask){start, end};
}

static bool begins_with(struct text text, const char *prefix)
{
    const size_t size = strlen(prefix);
    return text.size >= size && strncasecmp(text.at, prefix, size) == 0;
}

static bool ends_with(struct text text, const char *suffix)
{
    const size_t size = strlen(suffix);
    return text.size >= size && strncasecmp(text.at + text.size - size, suffix, size) == 0;
}

static bool is_one_of(struct text text, const char *const *words)
{
    for (; *words; words++)
        if (text.size == strlen(*words) && strncasecmp(text.at, *words, text.size) == 0)
            return true;
    return false;
}

static bool contains(struct text text, const char *part)
{
    for (; text.size > 0; text.at++, text.size--)
        if (begins_with(text, part))
            return true;
    return false;
}

static size_t word_length(struct text text)
{
    size_t i = 0;
    while (i < text.size && isalnum((unsigned char)text.at[i]) &&
           !(i > 0 && isupper((unsigned char)text.at[i]) && islower((unsigned char)text.at[i - 1])))
        i++;
    return i;
}

static enum secrecy secrecy_of_word(struct text word)
{
    if (is_one_of(word, STRONG_WORDS))
        return STRONG;
    for (const char *const *part = PARTS; *part; part++)
        if (contains(word, *part))
            return STRONG;
    if (is_one_of(word, WEAK_WORDS))
        return WEAK;
    if (ends_with(word, "token"))
        return STRONG;
    for (const char *const *owner = KEY_OWNERS; *owner && ends_with(word, "key"); owner++)
        if (begins_with(word, *owner))
            return STRONG;
    return PUBLIC;
}

/* A number of tokens is none; tokens of an interface are. */
static enum secrecy secrecy_of_name(struct text name)
{
    static const char *const interfaces[] = {"api", "access", NULL};
    static const char *const tokens[] = {"tokens", NULL};
    enum secrecy most = PUBLIC;
    bool has_tokens = false, has_interface = false, is_harmless = false;
    while (name.size > 0) {
        const struct text word = {name.at, word_length(name)};
        const enum secrecy secrecy = secrecy_of_word(word);
        most = secrecy > most ? secrecy : most;
        has_tokens |= is_one_of(word, tokens);
        has_interface |= is_one_of(word, interfaces);
        is_harmless |= is_one_of(word, HARMLESS_WORDS);
        name.at += word.size ? word.size : 1;
        name.size -= word.size ? word.size : 1;
    }
    if (most == PUBLIC && has_tokens && has_interface)
        return STRONG;
    return most == WEAK && is_harmless ? PUBLIC : most;
}

/* A number, or true, false, none. */
static bool is_plain_value(struct text value)
{
    static const char *const words[] = {"true", "false", "none", "null", "yes", "no", NULL};
    bool is_number = value.size > 0 && value.size < 10;
    for (size_t i = 0; i < value.size && is_number; i++)
        is_number = isdigit((unsigned char)value.at[i]) || strchr(".-+e", value.at[i]);
    return is_number || is_one_of(value, words);
}

static bool hides(enum secrecy secrecy, struct text value)
{
    return secrecy == STRONG || (secrecy == WEAK && !is_plain_value(value));
}

/* NAME=X, {"name": "X"}, Name: X: all that follows, since a value may hold any character. */
static void hide_values(struct masks *masks, struct text text)
{
    size_t name = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (strchr("=:", text.at[i])) {
            const struct text value = {text.at + i + 1, text.size - i - 1};
            if (hides(secrecy_of_name((struct text){text.at + name, i - name}), value)) {
                hide(masks, i + 1, text.size);
                return;
            }
        }
        name = strchr("=:,;&? ", text.at[i]) ? i + 1 : name;
    }
}

static size_t key_length(struct text text, const char *also)
{
    size_t i = 0;
    while (i < text.size && (isalnum((unsigned char)text.at[i]) || strchr(also, text.at[i])))
        i++;
    return i;
}

/* How long a key of a well-known kind is that begins here; 0: none does. */
static size_t known_key(struct text text)
{
    const size_t size = key_length(text, "-_");
    for (const char *const *prefix = KEY_PREFIXES; *prefix; prefix++)
        if (size >= SHORTEST_KEY && strncmp(text.at, *prefix, strlen(*prefix)) == 0)
            return size;
    const size_t dotted = key_length(text, "-_.");
    if (dotted >= SHORTEST_JWT && strncmp(text.at, "eyJ", 3) == 0 && memchr(text.at, '.', dotted))
        return dotted;
    return 0;
}

static void hide_known_keys(struct masks *masks, struct text text)
{
    for (size_t i = 0; i < text.size; i++) {
        const struct text rest = {text.at + i, text.size - i};
        const size_t size = i == 0 || !isalnum((unsigned char)text.at[i - 1]) ? known_key(rest) : 0;
        if (size == 0)
            continue;
        hide(masks, i, i + size);
        i += size - 1;
    }
}

/* Paths and parameters of URLs that are secrets by themselves. */
static void hide_in_urls(struct masks *masks, struct text text)
{
    for (size_t i = 0; i < text.size; i++) {
        const struct text rest = {text.at + i, text.size - i};
        for (const char *const *path = SECRET_PATHS; *path; path++)
            if (begins_with(rest, *path))
                hide(masks, i + strlen(*path), text.size);
        for (const char *const *name = SECRET_PARAMETERS; *name; name++) {
            const size_t size = strlen(*name);
            if (i > 0 && strchr("?&-", text.at[i - 1]) && begins_with(rest, *name))
                hide(masks, i + size,
                     i + size +
                         key_length((struct text){rest.at + size, rest.size - size}, "%+/=_-."));
        }
    }
}

/* user:password@ of a URL, or of a host without a scheme. A password may hold an @, so the last one
 * counts; a user alone may be a key. */
static void hide_user(struct masks *masks, struct text text, size_t start, bool has_scheme)
{
    size_t end = start, at = 0, colon = 0;
    for (; end < text.size && !strchr("/?# \"'", text.at[end]); end++)
        if (text.at[end] == '@')
            at = end;
        else if (text.at[end] == ':' && !colon)
            colon = end;
    if (!at || at + 1 >= end ||
        begins_with((struct text){text.at + at + 1, end - at - 1}, "sha256:"))
        return;
    if (colon && colon < at)
        hide(masks, colon + 1, at);
    else if (has_scheme && at - start >= SHORTEST_USER_KEY)
        hide(masks, start, at);
}

static void hide_passwords(struct masks *masks, struct text text)
{
    bool has_scheme = false;
    for (size_t i = 0; i + 3 <= text.size; i++)
        if (memcmp(text.at + i, "://", 3) == 0) {
            hide_user(masks, text, i + 3, true);
            has_scheme = true;
        }
    if (!has_scheme)
        hide_user(masks, text, 0, false);
}

static void put_plain(struct out *out, struct text text)
{
    static const char safe[] = "-_./=:,+@%^~";
    bool quote = text.size == 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];
        quote = quote || !(isalnum(c) || c >= 0x80 || strchr(safe, c));
    }
    if (!quote) {
        put(out, text.at, text.size);
        return;
    }
    put(out, "'", 1);
    for (size_t i = 0; i < text.size; i++)
        if (text.at[i] == '\'')
            put(out, "'\\''", 4);
        else
            put(out, text.at + i, 1);
    put(out, "'", 1);
}

static void put_masked(struct out *out, struct text text, const struct masks *masks)
{
    bool was_hidden = false;
    for (size_t i = 0; i < text.size; i++) {
        bool is_hidden = false;
        for (size_t k = 0; k < masks->count; k++)
            is_hidden |= i >= masks->mask[k].start && i < masks->mask[k].end;
        if (!is_hidden)
            put(out, text.at + i, 1);
        else if (!was_hidden)
            put(out, "***", 3);
        was_hidden = is_hidden;
    }
}

static void put_argument(struct out *out, struct text text)
{
    struct masks masks = {.count = 0};
    hide_values(&masks, text);
    hide_known_keys(&masks, text);
    hide_in_urls(&masks, text);
    hide_passwords(&masks, text);
    if (masks.count == 0)
        put_plain(out, text);
    else
        put_masked(out, text, &masks);
}

/* What the argument after this one is: the value of a secret option, or a key of `wandb login`. */
static enum secrecy secrecy_of_next(struct text text)
{
    static const char *const logins[] = {"login", NULL};
    if (is_one_of(text, logins))
        return WEAK;
    return text.size > 2 && text.at[0] == '-' && !memchr(text.at, '=', text.size)
               ? secrecy_of_name(text)
               : PUBLIC;
}

static bool is_hex_key(struct text text)
{
    size_t i = 0;
    while (i < text.size && isxdigit((unsigned char)text.at[i]))
        i++;
    return i == text.size && i == HEX_KEY;
}

/* `before` is the argument in front of it: an option without a value may be followed by another. */
static bool is_secret_after(struct text before, struct text text)
{
    const enum secrecy secrecy = secrecy_of_next(before);
    if (secrecy == PUBLIC || (text.size > 2 && begins_with(text, "--")))
        return false;
    return before.at[0] == '-' ? hides(secrecy, text) : is_hex_key(text);
}

void redact_command(const char *raw, size_t n, char *out, size_t size)
{
    struct out to = {out, size - 1};
    struct text before = {"", 0};
    for (size_t at = 0; at < n;) {
        const struct text text = {raw + at, strnlen(raw + at, n - at)};
        if (at > 0)
            put(&to, " ", 1);
        if (is_secret_after(before, text))
            put(&to, "***", 3);
        else
            put_argument(&to, text);
        before = text;
        at += text.size + 1;
    }
    *to.p = '\0';
}
