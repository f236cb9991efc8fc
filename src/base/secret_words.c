#include "base/secret_words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Whole words of a name: "key" in "wandb-key" and "apiKey", not in "keyboard". */
static const char *const STRONG_WORDS[] = {"passphrase",    "pass",  "pwd",    "apikey",
                                           "apikeys",       "creds", "bearer", "jwt",
                                           "authorization", NULL};
static const char *const WEAK_WORDS[] = {"token", "key",    "keys",    "auth",
                                         "oauth", "cookie", "cookies", NULL};
/* Beside one of these, a token, a key or a pass is something else: --num-keys, --pad-token X. */
static const char *const HARMLESS_WORDS[] = {
    "num",      "n",        "max",     "min",       "size",     "dim",         "length",
    "count",    "type",     "pad",     "eos",       "bos",      "unk",         "sep",
    "cls",      "special",  "mask",    "sort",      "primary",  "foreign",     "image",
    "target",   "label",    "metric",  "text",      "split",    "caption",     "prompt",
    "class",    "monitor",  "column",  "group",     "dict",     "state",       "feature",
    "query",    "value",    "input",   "output",    "batch",    "index",       "field",
    "response", "bucket",   "hash",    "public",    "instance", "placeholder", "initializer",
    "trigger",  "frame",    "data",    "partition", "json",     "attention",   "attn",
    "forward",  "backward", "one",     "two",       "multi",    "single",      "first",
    "second",   "next",     "start",   "stop",      "end",      "begin",       "video",
    "audio",    "sample",   "dataset", "head",      "heads",    "new",         "extra",
    "stopping", "return",   "sorting", "grouping",  NULL};
/* Of names without a border between their words: PGPASSWORD, dbpassword, authtoken, secretkey. */
static const char *const PARTS[] = {"password", "passwd", "secret", "credential", NULL};
static const char *const KEY_OWNERS[] = {"access",  "api",    "private", "signing", "ssh",
                                         "account", "master", "service", "shared",  NULL};
static const char *const NO_KEYS[] = {"monkey",  "donkey",   "turkey",     "hotkey",  "whiskey",
                                      "hockey",  "jockey",   "sortkey",    "subkey",  "rekey",
                                      "datakey", "groupkey", "primarykey", "textkey", NULL};
static const char *const NO_TOKENS[] = {"subtoken",  "multitoken", "nexttoken", "pertoken",
                                        "lasttoken", "padtoken",   "eostoken",  "bostoken",
                                        "unktoken",  "masktoken",  NULL};
static const char *const NO_PASSES[] = {"bypass",    "compass",  "onepass",  "twopass",
                                        "multipass", "lowpass",  "highpass", "bandpass",
                                        "allpass",   "trespass", NULL};

/* Of each kind: what it begins with, what else than letters and digits follows, and whether one of
 * those that follow is a digit: sk-learn-pipeline and ASIANLANGUAGES are none. */
static const struct key_kind {
    const char *prefix;
    const char *also;
    bool has_digit;
} KEY_KINDS[] = {
    {"sk-", "-_", true},         {"sk_live_", "", false},    {"sk_test_", "", false},
    {"rk_live_", "", false},     {"whsec_", "", false},      {"hf_", "", false},
    {"api_org_", "", false},     {"ghp_", "", false},        {"gho_", "", false},
    {"ghu_", "", false},         {"ghs_", "", false},        {"ghr_", "", false},
    {"github_pat_", "_", false}, {"glpat-", "-_.", false},   {"gldt-", "-_", false},
    {"glrt-", "-_", false},      {"xoxa-", "-", false},      {"xoxb-", "-", false},
    {"xoxe-", "-", false},       {"xoxe.", "-.", false},     {"xoxo-", "-", false},
    {"xoxp-", "-", false},       {"xoxr-", "-", false},      {"xoxs-", "-", false},
    {"xapp-", "-", false},       {"pypi-", "-_", false},     {"npm_", "", false},
    {"AKIA", "", true},          {"ASIA", "", true},         {"ABIA", "", true},
    {"ACCA", "", true},          {"AIza", "-_", true},       {"ya29.", "-_.", true},
    {"GOCSPX-", "-_", false},    {"SG.", "-_.", true},       {"hvs.", "-_.", false},
    {"shpat_", "", false},       {"dckr_pat_", "-_", false}, {"nvapi-", "-_", false},
    {"gsk_", "", true},          {"xai-", "", true},         {"pplx-", "", false},
    {"r8_", "", true},           {"dop_v1_", "", false},     {"wandb_v1_", "_", false},
    {"sntrys_", "-_=+/", false}, {"ATATT", "-_=", true},     {"lin_api_", "", false},
    {NULL, NULL, false},
};

enum {
    SHORTEST_KEY = 16,
    SHORTEST_JWT = 20,
    SHORTEST_HEX = 32,
    SHORTEST_MIX = 20,
    LONGEST_NUMBER = 9
};

bool text_part_begins(struct text_part text, const char *prefix)
{
    const size_t size = strlen(prefix);
    return text.size >= size && strncasecmp(text.at, prefix, size) == 0;
}

static bool ends_with(struct text_part text, const char *suffix)
{
    const size_t size = strlen(suffix);
    return text.size >= size && strncasecmp(text.at + text.size - size, suffix, size) == 0;
}

bool text_part_is_one_of(struct text_part text, const char *const *words)
{
    for (; *words; words++)
        if (text.size == strlen(*words) && strncasecmp(text.at, *words, text.size) == 0)
            return true;
    return false;
}

size_t text_part_span(struct text_part text, const char *also)
{
    size_t i = 0;
    while (i < text.size && text.at[i] &&
           (isalnum((unsigned char)text.at[i]) || strchr(also, text.at[i])))
        i++;
    return i;
}

static bool contains(struct text_part text, const char *part)
{
    for (; text.size > 0; text.at++, text.size--)
        if (text_part_begins(text, part))
            return true;
    return false;
}

static size_t word_length(struct text_part text)
{
    size_t i = 0;
    while (i < text.size && isalnum((unsigned char)text.at[i]) &&
           !(i > 0 && isupper((unsigned char)text.at[i]) && islower((unsigned char)text.at[i - 1])))
        i++;
    return i;
}

static bool is_number(struct text_part word)
{
    size_t i = 0;
    while (i < word.size && isdigit((unsigned char)word.at[i]))
        i++;
    return i == word.size;
}

static enum secrecy secrecy_of_word(struct text_part word)
{
    if (text_part_is_one_of(word, STRONG_WORDS))
        return SECRECY_STRONG;
    for (const char *const *part = PARTS; *part; part++)
        if (contains(word, *part))
            return SECRECY_STRONG;
    if (text_part_is_one_of(word, WEAK_WORDS))
        return SECRECY_WEAK;
    if (ends_with(word, "token") && !text_part_is_one_of(word, NO_TOKENS))
        return SECRECY_STRONG;
    if (ends_with(word, "pass") && !text_part_is_one_of(word, NO_PASSES))
        return SECRECY_STRONG;
    if (!ends_with(word, "key") || text_part_is_one_of(word, NO_KEYS))
        return SECRECY_NONE;
    for (const char *const *owner = KEY_OWNERS; *owner; owner++)
        if (text_part_begins(word, *owner))
            return SECRECY_STRONG;
    return SECRECY_WEAK;
}

struct name_words {
    enum secrecy most, last;
    bool has_pass_only; /* what is strong is no more than a "pass" */
    bool has_tokens, has_interface, is_harmless;
};

static void look_at_word(struct name_words *words, struct text_part word)
{
    static const char *const interfaces[] = {"api", "access", NULL};
    static const char *const tokens[] = {"tokens", NULL};
    static const char *const passes[] = {"pass", NULL};
    const enum secrecy secrecy = secrecy_of_word(word);

    if (secrecy == SECRECY_STRONG)
        words->has_pass_only =
            (words->most < secrecy || words->has_pass_only) && text_part_is_one_of(word, passes);
    words->most = secrecy > words->most ? secrecy : words->most;
    words->last = is_number(word) ? words->last : secrecy; /* --token-2 */
    words->has_tokens |= text_part_is_one_of(word, tokens);
    words->has_interface |= text_part_is_one_of(word, interfaces);
    words->is_harmless |= text_part_is_one_of(word, HARMLESS_WORDS);
}

/* A number of tokens is none; tokens of an interface are. What a name ends in is what it is:
 * --token-mixer is a mixer. */
enum secrecy secrecy_of_name(struct text_part name)
{
    struct name_words words = {.most = SECRECY_NONE};

    while (name.size > 0) {
        const struct text_part word = {name.at, word_length(name)};
        if (word.size > 0)
            look_at_word(&words, word);
        name.at += word.size ? word.size : 1;
        name.size -= word.size ? word.size : 1;
    }
    if (words.has_tokens && words.most < SECRECY_STRONG)
        return words.has_interface ? SECRECY_STRONG : SECRECY_RANDOM;
    if (words.most == SECRECY_STRONG && words.has_pass_only && words.is_harmless)
        return SECRECY_NONE;
    if (words.most == SECRECY_WEAK && (words.is_harmless || words.last == SECRECY_NONE))
        return SECRECY_RANDOM;
    return words.most;
}

/* A number, or true, false, none. */
static bool is_plain_value(struct text_part value)
{
    static const char *const words[] = {"true", "false", "none", "null", "yes", "no", NULL};
    bool is_plain = value.size > 0 && value.size <= LONGEST_NUMBER;

    for (size_t i = 0; i < value.size && is_plain; i++)
        is_plain =
            isdigit((unsigned char)value.at[i]) || (value.at[i] && strchr(".-+e", value.at[i]));
    return is_plain || text_part_is_one_of(value, words);
}

bool secret_looks_random(struct text_part text)
{
    size_t hex = 0, upper = 0, lower = 0, digits = 0, marks = 0;

    if (text.size < SHORTEST_MIX || text_part_span(text, "+/=_-") < text.size)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        hex += isxdigit(c) != 0;
        upper += isupper(c) != 0;
        lower += islower(c) != 0;
        digits += isdigit(c) != 0;
        marks += !isalnum(c);
    }
    return (hex == text.size && hex >= SHORTEST_HEX) ||
           (upper > 1 && lower > 1 && digits > 1 && marks * 8 <= text.size);
}

/* The first word of a value, without quotes around it. */
static struct text_part first_word(struct text_part value)
{
    while (value.size > 0 && value.at[0] && strchr(" \t'\"", value.at[0])) {
        value.at++;
        value.size--;
    }
    value.size = text_part_span(value, "+/=_-.");
    return value;
}

bool secrecy_hides(enum secrecy secrecy, struct text_part value)
{
    if (secrecy == SECRECY_RANDOM)
        return secret_looks_random(first_word(value));
    return secrecy == SECRECY_STRONG || (secrecy == SECRECY_WEAK && !is_plain_value(value));
}

/* To its end, or to that of the text. */
static size_t private_key_length(struct text_part text)
{
    static const char begin[] = "-----BEGIN ", what[] = "PRIVATE KEY";
    const struct text_part head = {text.at, text.size < 64 ? text.size : 64};

    return text_part_begins(text, begin) && contains(head, what) ? text.size : 0;
}

static size_t length_as(const struct key_kind *kind, struct text_part text)
{
    const size_t prefix = strlen(kind->prefix);

    if (text.size < prefix || memcmp(text.at, kind->prefix, prefix) != 0)
        return 0;
    const struct text_part rest = {text.at + prefix, text.size - prefix};
    const size_t size = text_part_span(rest, kind->also);
    bool has_digit = !kind->has_digit;
    for (size_t i = 0; i < size; i++)
        has_digit |= isdigit((unsigned char)rest.at[i]) != 0;
    return has_digit && prefix + size >= SHORTEST_KEY ? prefix + size : 0;
}

size_t secret_key_length(struct text_part text)
{
    if (text.size < SHORTEST_KEY)
        return 0;
    for (const struct key_kind *kind = KEY_KINDS; kind->prefix; kind++) {
        const size_t size = text.at[0] == kind->prefix[0] ? length_as(kind, text) : 0;
        if (size > 0)
            return size;
    }
    if (memcmp(text.at, "eyJ", 3) == 0) {
        const size_t size = text_part_span(text, "-_.");
        return size >= SHORTEST_JWT && memchr(text.at, '.', size) ? size : 0;
    }
    return text.at[0] == '-' ? private_key_length(text) : 0;
}
