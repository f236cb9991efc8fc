#include "base/redact.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/redact_pattern.h"
#include "base/secret_words.h"

static const char *const SECRET_PATHS[] = {"hooks.slack.com/services/",
                                           "hooks.slack.com/workflows/",
                                           "hooks.slack.com/triggers/", "/api/webhooks/", NULL};
static const char *const SECRET_PARAMETERS[] = {"sig=", "signature=", NULL};

/* Programs with an option of one letter that takes a password, also without a blank between them.
 */
static const struct password_option {
    const char *program;
    char letter;
} PASSWORD_OPTIONS[] = {
    {"mysql", 'p'},   {"mysqldump", 'p'},   {"mysqladmin", 'p'},   {"mariadb", 'p'},
    {"sshpass", 'p'}, {"mongo", 'p'},       {"mongosh", 'p'},      {"mongodump", 'p'},
    {"login", 'p'},   {"mongoimport", 'p'}, {"mongorestore", 'p'}, {"redis-cli", 'a'},
    {"curl", 'u'},    {"ldapsearch", 'w'},  {"ldapmodify", 'w'},   {NULL, 0},
};

enum {
    SHORTEST_USER_KEY = 20,
    SHORTEST_SECRET = 15,
    MASKS_MOST = 16,
    BEYOND = 64,
    TEXT_MOST = 16384
};

/* Of a command, and of a text that people wrote. */
enum kind { COMMAND, TEXT };

/* What is hidden of a text: from `start` on, up to `end`. */
struct mask {
    size_t start, end;
};

struct masks {
    struct mask mask[MASKS_MOST];
    size_t count;
};

/* The words so far of a command: what the next one may be depends on them. */
struct words {
    struct text_part before;
    char password_letter; /* 0: none of the programs above was seen */
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

/* NAME=X, {"name": "X"}, Name: X: all that follows, since a value may hold any character. */
static void hide_values(struct masks *masks, struct text_part text, enum kind kind)
{
    size_t name = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.at[i];
        if (c == '=' || c == ':') {
            const struct text_part value = {text.at + i + 1, text.size - i - 1};
            enum secrecy secrecy = secrecy_of_name((struct text_part){text.at + name, i - name});
            if (kind == TEXT && c == ':' && secrecy == SECRECY_WEAK)
                secrecy = SECRECY_RANDOM;
            if (secrecy_hides(secrecy, value)) {
                hide(masks, i + 1, text.size);
                return;
            }
        }
        name = c && strchr("=:,;&? ", c) ? i + 1 : name;
    }
}

static void hide_known_keys(struct masks *masks, struct text_part text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (i > 0 && isalnum((unsigned char)text.at[i - 1]))
            continue;
        const size_t size = secret_key_length((struct text_part){text.at + i, text.size - i});
        if (size == 0)
            continue;
        hide(masks, i, i + size);
        i += size - 1;
    }
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

/* Paths and parameters of URLs that are secrets by themselves. */
static void hide_in_urls(struct masks *masks, struct text_part text)
{
    for (size_t i = 0; i < text.size; i++) {
        const struct text_part rest = {text.at + i, text.size - i};
        if (!is_one_of(text.at[i], "/hHsS")) /* what all of them begin with */
            continue;
        for (const char *const *path = SECRET_PATHS; *path; path++)
            if (text_part_begins(rest, *path))
                hide(masks, i + strlen(*path), text.size);
        for (const char *const *name = SECRET_PARAMETERS; *name; name++) {
            const size_t size = strlen(*name);
            if (i == 0 || !text.at[i - 1] || !strchr("?&-", text.at[i - 1]) ||
                !text_part_begins(rest, *name))
                continue;
            const struct text_part value = {rest.at + size, rest.size - size};
            hide(masks, i + size, i + size + text_part_span(value, "%+/=_-."));
        }
    }
}

/* In a text, 0.3@1.5 and 2:30@noon are no users of hosts. */
static bool looks_like_host(struct text_part host)
{
    const size_t size = text_part_span(host, "-.");
    bool has_letter = false, has_dot = false;

    for (size_t i = 0; i < size; i++) {
        has_letter |= isalpha((unsigned char)host.at[i]) != 0;
        has_dot |= host.at[i] == '.' && i > 0 && i + 1 < size;
    }
    return has_letter && has_dot;
}

/* user:password@ of a URL, or of a host without a scheme. A password may hold an @, so the last one
 * counts; a user alone may be a key. Returns where it looked no further. */
static size_t hide_user(struct masks *masks, struct text_part text, size_t start, bool has_scheme,
                        enum kind kind)
{
    size_t end = start, at = 0, colon = 0;
    for (; end < text.size && !is_one_of(text.at[end], "/?# \"'"); end++)
        if (text.at[end] == '@')
            at = end;
        else if (text.at[end] == ':' && !colon)
            colon = end;
    const struct text_part host = {text.at + at + 1, at ? end - at - 1 : 0};
    if (host.size == 0 || text_part_begins(host, "sha256:") ||
        (!has_scheme && kind == TEXT && !looks_like_host(host)))
        return end;
    if (colon && colon < at)
        hide(masks, colon + 1, at);
    else if (has_scheme && at - start >= SHORTEST_USER_KEY)
        hide(masks, start, at);
    return end;
}

/* Each word may be such a host; of a word with a scheme, what follows that. */
static void hide_passwords(struct masks *masks, struct text_part text, enum kind kind)
{
    for (size_t i = 0; i < text.size; i++) {
        if (i > 0 && !is_one_of(text.at[i - 1], " \"'"))
            continue;
        size_t start = i, scheme = 0;
        for (; start + 3 <= text.size && !is_one_of(text.at[start], " \"'"); start++)
            if (memcmp(text.at + start, "://", 3) == 0) {
                (void)hide_user(masks, text, start + 3, true, kind);
                scheme = start;
            }
        const size_t end = scheme ? start : hide_user(masks, text, i, false, kind);
        i = end > i + 1 ? end - 1 : i;
    }
}

static void hide_matches(struct masks *masks, struct text_part text)
{
    size_t at = 0, size;

    while (at < text.size && (size = redact_pattern_find(text.at, text.size, &at)) > 0) {
        hide(masks, at, at + size);
        at += size;
    }
}

static void look_for_program(struct words *words, struct text_part word)
{
    for (size_t i = word.size; i > 0; i--)
        if (word.at[i - 1] == '/') {
            word = (struct text_part){word.at + i, word.size - i};
            break;
        }
    for (const struct password_option *o = PASSWORD_OPTIONS; o->program; o++)
        if (word.size == strlen(o->program) && memcmp(word.at, o->program, word.size) == 0)
            words->password_letter = o->letter;
}

static bool is_password_letter(const struct words *words, struct text_part word)
{
    return words->password_letter && word.size >= 2 && word.at[0] == '-' &&
           word.at[1] == words->password_letter;
}

/* Where the secret begins in a word, because of the words before it: at its end if there is none.
 * An option without a value may be followed by another. */
static size_t secret_start(const struct words *words, struct text_part word)
{
    static const char *const logins[] = {"login", NULL};
    const struct text_part before = words->before;

    if (is_password_letter(words, word) && word.size > 2)
        return 2;
    if (is_password_letter(words, before) && before.size == 2)
        return word.size > 0 && word.at[0] == '-' ? word.size : 0;
    if (before.size < 2 || memchr(before.at, '=', before.size) ||
        (word.size > 2 && text_part_begins(word, "--")))
        return word.size;
    const enum secrecy secrecy = secrecy_of_name(before);
    const bool is_option = before.at[0] == '-' && before.size > 2;
    if (secrecy == SECRECY_NONE && !text_part_is_one_of(before, logins))
        return word.size;
    return secrecy_hides(is_option ? secrecy : SECRECY_RANDOM, word) ? 0 : word.size;
}

static void next_word(struct words *words, struct text_part word)
{
    look_for_program(words, word);
    words->before = word;
}

/* A word of a text, or what stands in quotes. */
static size_t word_end(struct text_part text, size_t start)
{
    const char quote = is_one_of(text.at[start], "\"'") ? text.at[start] : ' ';
    size_t end = start + 1;

    while (end < text.size && text.at[end] != quote)
        end++;
    return end < text.size && quote != ' ' ? end + 1 : end;
}

/* The words of a text are looked at like the arguments of a command: sh -c 'train --token X'. */
static void hide_words(struct masks *masks, struct text_part text)
{
    struct words words = {.before = {"", 0}};

    if (!memchr(text.at, ' ', text.size))
        return;
    for (size_t i = 0; i < text.size;) {
        if (text.at[i] == ' ') {
            i++;
            continue;
        }
        const size_t end = word_end(text, i);
        const struct text_part word = {text.at + i, end - i};
        hide(masks, i + secret_start(&words, word), end);
        next_word(&words, word);
        i = end;
    }
}

static void find_secrets(struct masks *masks, struct text_part text, enum kind kind)
{
    hide_values(masks, text, kind);
    hide_known_keys(masks, text);
    hide_in_urls(masks, text);
    hide_passwords(masks, text, kind);
    hide_words(masks, text);
    hide_matches(masks, text);
}

static void put_plain(struct out *out, struct text_part text)
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

static void put_masked(struct out *out, struct text_part text, const struct masks *masks)
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

void redact_command(const char *raw, size_t n, char *out, size_t size)
{
    struct out to = {out, size - 1};
    struct words words = {.before = {"", 0}};
    for (size_t at = 0; at < n;) {
        const struct text_part text = {raw + at, strnlen(raw + at, n - at)};
        struct masks masks = {.count = 0};
        hide(&masks, secret_start(&words, text), text.size);
        find_secrets(&masks, text, COMMAND);
        if (at > 0)
            put(&to, " ", 1);
        if (masks.count == 0)
            put_plain(&to, text);
        else
            put_masked(&to, text, &masks);
        next_word(&words, text);
        at += text.size + 1;
    }
    *to.p = '\0';
}

bool redact_text(const char *text, char *out, size_t size)
{
    const size_t most = size < TEXT_MOST ? size + BEYOND : TEXT_MOST;
    const struct text_part part = {text, strnlen(text, most)};
    struct masks masks = {.count = 0};
    struct out to = {out, size - 1};

    find_secrets(&masks, part, TEXT);
    if (masks.count == 0)
        return false;
    put_masked(&to, part, &masks);
    while (to.left == 0 && to.p > out && (unsigned char)to.p[-1] >= 0x80)
        to.p--; /* no part of a character */
    *to.p = '\0';
    return true;
}

/* A secret has a sign beside it or a blank before it, or is as long as a key. */
bool redact_may_change(const char *text)
{
    size_t size = 0;

    for (; text[size]; size++)
        if (size >= SHORTEST_SECRET || strchr("=:@/ ", text[size]))
            return true;
    return size > 0 && redact_pattern_is_set();
}
