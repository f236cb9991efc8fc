#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "run_dir.h"

enum { WORKERS_MOST = 100000 };

/* What follows `"key":`; NULL: there is none. */
static const char *value_of(const char *text, const char *key)
{
    const size_t size = strlen(key);
    for (const char *at = text ? strstr(text, key) : NULL; at; at = strstr(at, key)) {
        at += size;
        const char *colon = at + strspn(at, " \t\n");
        if (*colon == ':')
            return colon + 1 + strspn(colon + 1, " \t\n");
    }
    return NULL;
}

/* Texts in a list. */
static int count_of(const char *list)
{
    int quotes = 0;
    for (; list && *list && *list != ']'; list++)
        quotes += *list == '"';
    return quotes / 2;
}

bool tf_config_read(const char *text, int *rank, int *world)
{
    const char *task = text ? value_of(text, "\"task\"") : NULL;
    const char *type = value_of(task, "\"type\"");
    const char *index = value_of(task, "\"index\"");
    if (!type || !index)
        return false;
    index += *index == '"'; /* some write it as a text */
    const long number = isdigit((unsigned char)*index) ? strtol(index, NULL, 10) : -1;
    const bool is_chief = strncmp(type, "\"chief\"", 7) == 0;
    if (number < 0 || number > WORKERS_MOST || (!is_chief && strncmp(type, "\"worker\"", 8) != 0))
        return false;
    const int chiefs = count_of(value_of(text, "\"chief\""));
    *rank = is_chief ? 0 : (int)number + chiefs;
    *world = chiefs + count_of(value_of(text, "\"worker\""));
    return true;
}
