#include "base/code_place.h"

#include <stddef.h>
#include <string.h>

bool python_file_is_script(const char *file)
{
    return file[0] && strncmp(file, "<frozen", strlen("<frozen")) != 0 &&
           !strstr(file, "/site-packages/") && !strstr(file, "/dist-packages/") &&
           !strstr(file, "/lib/python3");
}

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), wanted = strlen(end);

    return size >= wanted && strcmp(text + size - wanted, end) == 0;
}

bool python_file_makes_batches(const char *file, const char *function)
{
    static const struct {
        const char *file, *function; /* their ends: it may be a method; NULL: any */
    } makers[] = {
        {"/torch/utils/data/_utils/fetch.py", NULL},
        /* py_function, numpy_function and generators of tf.data */
        {"/tensorflow/python/ops/script_ops.py", "__call__"},
        {"/trainers/data_adapters/py_dataset_adapter.py", "get_index"},
        {"/tf_keras/src/utils/data_utils.py", "get_index"},
    };

    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (ends_with(file, makers[i].file) &&
            (!makers[i].function || ends_with(function, makers[i].function)))
            return true;
    return false;
}
