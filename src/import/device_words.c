#include "import/device_words.h"

#include <string.h>
#include <strings.h>

bool device_word_is_collective(const char *name)
{
    return strcasestr(name, "nccl") || strcasestr(name, "rccl");
}

uint8_t device_word_activity(const char *name)
{
    if (strncasecmp(name, "memcpy", 6) == 0)
        return ACTIVITY_COPY;
    if (strncasecmp(name, "memset", 6) == 0)
        return ACTIVITY_SET;
    return device_word_is_collective(name) ? ACTIVITY_COMM : ACTIVITY_KERNEL;
}

uint8_t device_word_route(const char *name)
{
    if (strstr(name, "HtoD") || strstr(name, "H2D") || strstr(name, "HostToDevice"))
        return ROUTE_HTOD;
    if (strstr(name, "DtoH") || strstr(name, "D2H") || strstr(name, "DeviceToHost"))
        return ROUTE_DTOH;
    if (strstr(name, "DtoD") || strstr(name, "D2D") || strstr(name, "DeviceToDevice"))
        return ROUTE_DTOD;
    return ROUTE_OTHER;
}

uint8_t device_word_call(const char *name)
{
    if (strstr(name, "Memcpy"))
        return CALL_COPY;
    return strstr(name, "Synchronize") ? CALL_SYNC : CALL_LAUNCH;
}
