#include "cuda_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char default_file[] = "libcuda.so.1";

#define CUDA_ENTRY(field, name, parameters) {offsetof(struct cuda_library, field), name},
static const struct {
    size_t offset;
    const char *name;
} entries[] = {CUDA_FUNCTIONS(CUDA_ENTRY)};

/* The handle is kept: the library must stay where it is. */
const char *cuda_library_find(struct cuda_library *library)
{
    const char *wanted = secure_getenv("STEPSCOPE_CUDA_LIBRARY");
    const char *file = wanted && *wanted ? wanted : default_file;
    void *handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) {
        (void)dlerror();
        return "the driver's library is not loaded";
    }
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *found = dlsym(handle, entries[i].name);
        if (!found) {
            (void)dlerror();
            return "the driver's library lacks a function";
        }
        /* ISO C has no cast to a function pointer; POSIX says that the bytes fit. */
        memcpy((char *)library + entries[i].offset, &found, sizeof found);
    }
    return NULL;
}
