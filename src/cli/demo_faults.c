#include "cli/demo_faults.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/error.h"
#include "cli/suggest.h"

static const int64_t LONGEST_NS = 60000000000;
static const int64_t MOST_BYTES = 1 << 30;

static const struct {
    const char *name, *form, *size;
} known[FAULT_COUNT] = {
#define FAULT_ROW(id, fault, kinds, usual) {fault, kinds, usual},
    DEMO_FAULTS(FAULT_ROW)};

bool demo_number(const char *text, size_t size, int64_t lowest, int64_t highest,
                 int64_t *value)
{
    int64_t number = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || number > highest / 10)
            return false;
        number = 10 * number + (text[i] - '0');
    }
    *value = number;
    return size > 0 && number >= lowest && number <= highest;
}

/* "64KB", "1MB"; a KB is 1024 bytes. */
static bool parse_bytes(const char *text, size_t size, int64_t *bytes)
{
    int64_t unit = 1;

    if (size > 2 && text[size - 1] == 'B') {
        unit = text[size - 2] == 'K' ? 1024 : text[size - 2] == 'M' ? 1024 * 1024 : 0;
        size -= 2;
    }
    if (unit == 0 || !demo_number(text, size, 1, MOST_BYTES / unit, bytes))
        return false;
    *bytes *= unit;
    return true;
}

static bool parse_time(const char *text, size_t size, int64_t *ns)
{
    char copy[DEMO_NAME];

    if (size >= sizeof copy)
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return duration_parse(copy, ns) && *ns <= LONGEST_NS;
}

static bool parse_name(const char *text, size_t size, char name[DEMO_NAME])
{
    if (size == 0 || size >= DEMO_NAME)
        return false;
    memcpy(name, text, size);
    name[size] = '\0';
    return true;
}

static bool parse_field(char kind, const char *text, size_t size,
                        struct demo_fault *fault)
{
    switch (kind) {
    case 'n':
        return parse_name(text, size, fault->target);
    case '#':
        return demo_number(text, size, 1, DEMO_STEPS, &fault->count);
    case 't':
        return parse_time(text, size, &fault->ns);
    default:
        return parse_bytes(text, size, &fault->bytes);
    }
}

/* Of the fields of `form`, the last ones may be all that is given: those before keep their value. */
static bool parse_size(const char *form, const char *text, struct demo_fault *fault)
{
    size_t fields = 1;

    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':'))
        fields++;
    if (fields > strlen(form))
        return false;
    for (form += strlen(form) - fields; *form; form++) {
        size_t size = strcspn(text, ":");
        if (!parse_field(*form, text, size, fault))
            return false;
        text += size + (text[size] == ':');
    }
    return true;
}

static int unknown_fault(const char *text, size_t size, struct ss_error *error)
{
    struct suggestion suggestion = suggest_start(text, size);

    for (int i = 0; i < FAULT_COUNT; i++)
        suggest_try(&suggestion, known[i].name);
    if (!suggestion.best)
        return error_set(error, SS_E_INVALID, "there is no fault '%.*s'.", (int)size,
                         text);
    return error_set(error, SS_E_INVALID, "there is no fault '%.*s'. Did you mean '%s'?",
                     (int)size, text, suggestion.best);
}

static bool fits(int id, const struct demo_fault *fault)
{
    if (id == FAULT_TINY_BATCH)
        return fault->count <= DEMO_IMAGES;
    return id != FAULT_CPU_HOG || fault->count <= DEMO_HOGS;
}

int demo_faults_add(struct demo_fault faults[FAULT_COUNT], const char *text,
                    struct ss_error *error)
{
    size_t size = strcspn(text, "=");
    int id = 0;

    while (id < FAULT_COUNT &&
           (strlen(known[id].name) != size || memcmp(known[id].name, text, size) != 0))
        id++;
    if (id == FAULT_COUNT)
        return unknown_fault(text, size, error);
    struct demo_fault *fault = &faults[id];
    if (fault->on)
        return error_set(error, SS_E_INVALID, "fault '%s' is given twice.",
                         known[id].name);
    *fault = (struct demo_fault){.on = true};
    if (!parse_size(known[id].form, known[id].size, fault) ||
        (text[size] && !parse_size(known[id].form, text + size + 1, fault)) ||
        !fits(id, fault))
        return error_set(error, SS_E_INVALID,
                         "fault '%s' is given as %s=%s, not as '%s'.", known[id].name,
                         known[id].name, known[id].size, text);
    return 0;
}
