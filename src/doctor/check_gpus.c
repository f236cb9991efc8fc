/* NVIDIA GPUs: can NVML be loaded, does it start, and what does it find? */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor/checks.h"
#include "supervise/gpus.h"
#include "supervise/now.h"

#define MS_NS ((int64_t)1000000)
#define START_NS                                                                         \
    (500 * MS_NS) /* a GPU that sleeps takes longer, and is told from a hang then */

/* A driver without its library is a mistake; neither is a machine without such a GPU. */
static void say_no_library(struct doctor *doctor, const char *why)
{
    if (access("/dev/nvidiactl", F_OK) != 0 && access("/proc/driver/nvidia", F_OK) != 0) {
        doctor_say_unknown(doctor, "NVML", "no NVIDIA driver");
        return;
    }
    doctor_say(doctor, "NVML", DOCTOR_WARN, "there is a driver, but: %s", why);
    doctor_advise(doctor, "install libnvidia-ml; in a container: "
                          "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
}

static void say_found(struct doctor *doctor, struct gpus *gpus, int count)
{
    char name[GPUS_NAME_SIZE] = "";
    const int64_t until = now_ns() + START_NS;

    while (name[0] == '\0' && now_ns() < until) {
        gpus_name(gpus, 0, name);
        usleep(1000);
    }
    if (count == 1)
        doctor_say(doctor, "NVML", DOCTOR_OK, "1 GPU: %s", name);
    else
        doctor_say(doctor, "NVML", DOCTOR_OK, "%d GPUs, the first: %s", count, name);
    doctor_value(doctor, count, "GPUs");
}

void check_gpus(struct doctor *doctor)
{
    struct gpus *gpus = gpus_start();
    const char *why = "no thread can be started";
    const int count = gpus ? gpus_wait(gpus, START_NS, &why) : GPUS_NO_START;

    if (count == GPUS_NO_LIBRARY) {
        say_no_library(doctor, why);
    } else if (count < 0) {
        doctor_say(doctor, "NVML", DOCTOR_WARN, "%s", why);
        doctor_advise(doctor,
                      "see what nvidia-smi says: GPUs will be missing in reports");
    } else if (count == 0) {
        doctor_say(doctor, "NVML", DOCTOR_OK, "it finds no GPU");
        doctor_value(doctor, 0, "GPUs");
    } else {
        say_found(doctor, gpus, count);
    }
    gpus_stop(gpus);
}
