#include "diagnose/compare_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/run.h"

/* Whatever a file says: more than this is never shown. */
enum { FACTS_MOST = 256 };

void compare_facts_release(struct compare_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->fact[i].key);
        free(facts->fact[i].value);
    }
    free(facts->fact);
    *facts = (struct compare_facts){0};
}

const char *compare_facts_value(const struct compare_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->fact[i].key, key) == 0)
            return facts->fact[i].value;
    return NULL;
}

static int add(struct compare_facts *facts, struct ss_text key, struct ss_text value)
{
    if (facts->count == FACTS_MOST)
        return 0;
    struct compare_fact *fact = &facts->fact[facts->count];
    *fact = (struct compare_fact){strndup(key.data, key.size), strndup(value.data, value.size)};
    const bool is_known = fact->key && compare_facts_value(facts, fact->key);
    if (fact->key && fact->value && !is_known) {
        facts->count++;
        return 0;
    }
    const int failed = fact->key && fact->value ? 0 : SS_E_NOMEM;
    free(fact->key);
    free(fact->value);
    return failed;
}

static bool is(struct ss_text key, const char *text)
{
    return key.size == strlen(text) && memcmp(key.data, text, key.size) == 0;
}

static int add_all(struct compare_facts *facts, const struct ss_run *run, size_t process)
{
    struct ss_text key, value;
    int failed = 0;

    for (size_t i = 0; !failed && ss_run_info_at(run, process, i, &key, &value); i++)
        if (key.size > 0 && !is(key, "created")) /* no two runs share it */
            failed = add(facts, key, value);
    return failed;
}

static int add_world(struct compare_facts *facts, const struct ss_process *process)
{
    char text[16];

    if (process->world == 0)
        return 0;
    const int size = snprintf(text, sizeof text, "%" PRIu32, process->world);
    return add(facts, (struct ss_text){"ranks", 5}, (struct ss_text){text, (size_t)size});
}

int compare_facts_take(struct compare_facts *out, const struct ss_run *run)
{
    const size_t process = run_first_training(run);

    *out = (struct compare_facts){.fact = calloc(FACTS_MOST, sizeof *out->fact)};
    if (!out->fact)
        return SS_E_NOMEM;
    int failed = add_all(out, run, SIZE_MAX);
    if (!failed && process != SIZE_MAX)
        failed = add_all(out, run, process);
    if (!failed && process != SIZE_MAX)
        failed = add_world(out, ss_run_process(run, process));
    return failed;
}

static bool differs(const struct compare_facts *runs, size_t count, const char *key)
{
    const char *first = compare_facts_value(&runs[0], key);

    for (size_t i = 1; i < count; i++) {
        const char *other = compare_facts_value(&runs[i], key);
        if (!first != !other || (first && strcmp(first, other) != 0))
            return true;
    }
    return false;
}

static bool is_among(const char *const *keys, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

size_t compare_facts_differing(const struct compare_facts *runs, size_t count, const char **keys,
                               size_t most)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < runs[i].count && found < most; k++) {
            const char *key = runs[i].fact[k].key;
            if (!is_among(keys, found, key) && differs(runs, count, key))
                keys[found++] = key;
        }
    return found;
}
