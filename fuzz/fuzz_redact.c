/* Fuzzes what takes secrets out of commands and texts: a password that is put in the middle of
 * anything must be gone, and nothing is written past its room. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char planted[] = "--password\0Zq7planted\0";
static const char secret[] = "Zq7planted";

enum { ROOM_MOST = 300 };

static void demand(int holds)
{
    if (!holds)
        abort();
}

/* `raw` and a NUL behind it, in a room that ends where it ends. */
static void redact(const char *raw, size_t size, size_t room)
{
    char *const out = malloc(room);

    demand(out != NULL);
    redact_command(raw, size, out, room);
    demand(strnlen(out, room) < room && !strstr(out, secret));
    free(out);
}

static void redact_as_command(const uint8_t *data, size_t size, size_t split, size_t room)
{
    const size_t more = sizeof planted - 1;
    char *const raw = malloc(size + more + 2);

    demand(raw != NULL);
    memcpy(raw, data, split);
    raw[split] = '\0';
    memcpy(raw + split + 1, planted, more);
    memcpy(raw + split + 1 + more, data + split, size - split);
    raw[size + more + 1] = '\0';
    redact(raw, size + more + 1, room);
    free(raw);
}

static void redact_as_text(const uint8_t *data, size_t size, size_t room)
{
    static const char end[] = " password=Zq7planted";
    char *const text = malloc(size + sizeof end), *const out = malloc(room);

    demand(text && out);
    memcpy(text, data, size);
    memcpy(text + size, end, sizeof end);
    const bool is_changed = redact_text(text, out, room);
    demand(!is_changed || (strnlen(out, room) < room && !strstr(out, secret)));
    demand(!is_changed || redact_may_change(text));
    demand(is_changed || !strstr(text, secret) || size >= room);
    free(text);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || memmem(data, size, secret, sizeof secret - 1))
        return 0; /* it is to be there only where it was planted */
    const size_t room = 1 + (size_t)data[0] * ROOM_MOST / 256;
    const size_t split = (size - 2) * data[1] / 255;

    redact_as_command(data + 2, size - 2, split, room);
    redact_as_text(data + 2, size - 2, room);
    return 0;
}
