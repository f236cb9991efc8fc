/* A shared object with a copy of the static library inside, as a Python extension would be. */
#include <stddef.h>

#include "stepscope/recorder.h"

__attribute__((visibility("default"))) void plugin_record(long count);

void plugin_record(long count)
{
    ss_name name = ss_intern("plugin", SS_STAGE_USER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    for (long i = 0; i < count; i++) {
        ss_begin(name, 0);
        ss_end(0, i);
    }
}
