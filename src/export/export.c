#include "export/export.h"

#include <string.h>

const struct export_format *const export_formats[] = {
    &export_csv,
    &export_csv_spans,
#ifdef SS_NANOPB
    &export_perfetto,
    &export_tensorboard,
#endif
    NULL,
};

const struct export_format *export_find(const char *name)
{
    for (const struct export_format *const *format = export_formats; *format; format++)
        if (strcmp((*format)->name, name) == 0)
            return *format;
    return NULL;
}
