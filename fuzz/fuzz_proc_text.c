/* Fuzzes the parsers of the kernel's texts: all of them, with one text. */
#include <stdlib.h>
#include <string.h>

#include "supervise/proc_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct proc_cpus cpus;
    struct proc_process process;
    uint64_t a, b;
    double limit;
    char path[32], *text = malloc(size + 1); /* its own, so that reading beyond it shows */

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    (void)proc_text_cpus(text, &cpus);
    (void)proc_text_process(text, &process);
    proc_text_name(text, path, sizeof path);
    if (strlen(path) >= sizeof path)
        abort();
    (void)proc_text_pressure(text, &a, &b);
    (void)proc_text_schedstat(text, &a, &b);
    (void)proc_text_field(text, "MemAvailable", &a);
    (void)proc_text_network(text, &a, &b);
    (void)proc_text_disk(text, "vda", &a, &b);
    if (proc_text_cgroup(text, "cpu", path, sizeof path) && strlen(path) >= sizeof path)
        abort();
    (void)proc_text_cgroup(text, "", path, sizeof path);
    (void)proc_text_cpu_max(text, &limit);
    free(text);
    return 0;
}
