/* Fuzzes what the doctor takes apart: a list of mounts, and what a Python answers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/checks.h"
#include "doctor/interpreters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct interpreter python;
    char *const text = malloc(size + 1);
    char type[16];

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (mount_text_type(text, "/data/with blank/runs", type, sizeof type) != (type[0] != '\0'))
        abort();
    if (interpreters_parse(text, &python) && python.path[0] != '/')
        abort();
    free(text);
    return 0;
}
