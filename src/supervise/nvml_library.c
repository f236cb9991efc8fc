#include "supervise/nvml_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char default_file[] = "libnvidia-ml.so.1";

struct entry {
    size_t offset;
    const char *name, *other;
};

#define NVML_ENTRY(field, name, other, parameters)                                       \
    {offsetof(struct nvml_library, field), name, other},
static const struct entry entries[] = {NVML_FUNCTIONS(NVML_ENTRY)};

/* ISO C has no cast from an object pointer to a function pointer; POSIX says that the bytes fit. */
static void fill(struct nvml_library *library, void *handle)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        void *found = dlsym(handle, entries[i].name);
        if (!found && entries[i].other)
            found = dlsym(handle, entries[i].other);
        memcpy((char *)library + entries[i].offset, &found, sizeof found);
    }
}

bool nvml_library_load(struct nvml_library *library, struct ss_error *why)
{
    const char *wanted = secure_getenv("STEPSCOPE_NVML");
    const char *file = wanted && *wanted ? wanted : default_file;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    memset(library, 0, sizeof *library);
    if (!handle) {
        const char *text = dlerror();
        error_set(why, SS_E_NOTFOUND, "%s", text ? text : file);
        return false;
    }
    fill(library, handle);
    if (library->init && library->count && library->device)
        return true;
    error_set(why, SS_E_VERSION, "%s lacks functions that every NVML has", file);
    dlclose(handle);
    return false;
}
