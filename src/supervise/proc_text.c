#include "supervise/proc_text.h"

#include <stdlib.h>
#include <string.h>

/* Skips blanks and takes a number; false if there is none, or none that fits. */
static bool take_number(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0;

    while (*at == ' ' || *at == '\t')
        at++;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    *text = at;
    *out = value;
    return true;
}

static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end ? end + 1 : text + strlen(text);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "user nice system idle iowait irq softirq steal": what is neither idle, nor waiting, nor
 * stolen. */
static bool take_cpu(const char *text, uint64_t *busy, uint64_t *steal)
{
    uint64_t field[8] = {0};

    for (size_t i = 0; i < 8; i++)
        if (!take_number(&text, &field[i]) && i < 4)
            return false;
    *busy = field[0] + field[1] + field[2] + field[5] + field[6];
    *steal = field[7];
    return true;
}

bool proc_text_cpus(const char *text, struct proc_cpus *out)
{
    uint64_t number;

    out->count = 0;
    if (!starts_with(text, "cpu ") || !take_cpu(text + 4, &out->busy, &out->steal))
        return false;
    for (text = next_line(text); starts_with(text, "cpu"); text = next_line(text)) {
        const char *at = text + 3;
        if (out->count == PROC_CPUS_MOST || !take_number(&at, &number) || number > UINT32_MAX ||
            !take_cpu(at, &out->busy_of[out->count], &out->steal_of[out->count]))
            break;
        out->number[out->count++] = (uint32_t)number;
    }
    return true;
}

/* Fields are counted from 1 as in proc(5); some are negative in a thread that is about to end. */
bool proc_text_process(const char *text, struct proc_process *out)
{
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    uint64_t field[25] = {0};

    if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
        return false;
    out->state = at[2];
    at += 3;
    for (size_t number = 4; number <= 24; number++) {
        while (*at == ' ')
            at++;
        const bool negative = *at == '-';
        at += negative;
        if (!take_number(&at, &field[number]))
            return false;
        if (negative)
            field[number] = 0;
    }
    out->parent = (uint32_t)field[4];
    out->minor_faults = field[10];
    out->major_faults = field[12];
    out->user = field[14];
    out->system = field[15];
    out->children = field[16] + field[17];
    out->threads = field[20];
    out->start_ticks = field[22];
    out->rss_pages = field[24];
    return true;
}

void proc_text_name(const char *text, char *out, size_t size)
{
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');

    out[0] = '\0';
    if (!begin || end < begin)
        return;
    const size_t whole = (size_t)(end - begin - 1), length = whole < size ? whole : size - 1;
    memcpy(out, begin + 1, length);
    out[length] = '\0';
}

static bool take_total(const char *line, uint64_t *out)
{
    const char *end = next_line(line), *at = strstr(line, "total=");

    if (!at || at >= end)
        return false;
    at += strlen("total=");
    return take_number(&at, out);
}

bool proc_text_pressure(const char *text, uint64_t *some, uint64_t *full)
{
    bool found = false;

    *full = UINT64_MAX;
    for (; *text; text = next_line(text))
        if (starts_with(text, "some "))
            found = take_total(text, some);
        else if (starts_with(text, "full ") && !take_total(text, full))
            *full = UINT64_MAX;
    return found;
}

bool proc_text_schedstat(const char *text, uint64_t *ran, uint64_t *waited)
{
    return take_number(&text, ran) && take_number(&text, waited);
}

bool proc_text_field(const char *text, const char *key, uint64_t *out)
{
    for (; *text; text = next_line(text)) {
        const char *at = text + strlen(key);
        if (!starts_with(text, key) || (*at != ':' && *at != ' ' && *at != '\t'))
            continue;
        at += *at == ':';
        return take_number(&at, out);
    }
    return false;
}

bool proc_text_network(const char *text, uint64_t *received, uint64_t *sent)
{
    bool found = false;

    *received = *sent = 0;
    for (; *text; text = next_line(text)) {
        const char *end = next_line(text), *at = strchr(text, ':');
        uint64_t field[9];
        size_t count = 0;
        while (*text == ' ')
            text++;
        if (!at || at >= end || starts_with(text, "lo:"))
            continue;
        at++;
        while (count < 9 && take_number(&at, &field[count]))
            count++;
        if (count < 9)
            continue;
        *received += field[0];
        *sent += field[8];
        found = true;
    }
    return found;
}

bool proc_text_disk(const char *text, const char *disk, uint64_t *read, uint64_t *written)
{
    const size_t length = strlen(disk);

    for (; *text; text = next_line(text)) {
        const char *at = text;
        uint64_t field[7], major, minor;
        size_t count = 0;
        if (!take_number(&at, &major) || !take_number(&at, &minor))
            continue;
        while (*at == ' ')
            at++;
        if (strncmp(at, disk, length) != 0 || at[length] != ' ')
            continue;
        at += length;
        while (count < 7 && take_number(&at, &field[count]))
            count++;
        if (count < 7)
            return false;
        *read = field[2];
        *written = field[6];
        return true;
    }
    return false;
}

/* Whether a comma-separated list up to `end` has this word; "" is in the empty list only. */
static bool lists(const char *list, const char *end, const char *word)
{
    const size_t length = strlen(word);

    if (!length)
        return list == end;
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - list) == length && memcmp(list, word, length) == 0)
            return true;
        list = comma ? comma + 1 : end;
    }
    return false;
}

bool proc_text_cgroup(const char *text, const char *controller, char *path, size_t size)
{
    for (; *text; text = next_line(text)) {
        const char *list = strchr(text, ':');
        const char *colon = list ? strchr(list + 1, ':') : NULL;
        const size_t line = strcspn(text, "\n");
        if (!colon || colon >= text + line || !lists(list + 1, colon, controller))
            continue;
        const size_t length = (size_t)(text + line - (colon + 1));
        if (length >= size)
            return false;
        memcpy(path, colon + 1, length);
        path[length] = '\0';
        return true;
    }
    return false;
}

bool proc_text_cpu_max(const char *text, double *cores)
{
    uint64_t quota, period;

    *cores = 0;
    if (starts_with(text, "max"))
        return true;
    if (!take_number(&text, &quota) || !take_number(&text, &period) || period == 0)
        return false;
    *cores = (double)quota / (double)period;
    return true;
}
