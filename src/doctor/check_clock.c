/* The clock: which one the kernel uses, what a read costs, whether it ever runs backwards, and (for check_load.c) how
 * long the longest gap is in a loop that does nothing but read it. */
#include <string.h>

#include "base/units.h"
#include "doctor/checks.h"
#include "supervise/now.h"
#include "supervise/proc_file.h"

#define MS_NS ((int64_t)1000000)
#define SPIN_NS (100 * MS_NS)
#define SLOW_READ_NS 100 /* the kernel has no fast way to this clock */

enum { BATCH = 1000 };

struct spin {
    int64_t longest_gap_ns;
    double
        read_ns; /* of the fastest 1000 in a row: what a read costs when nobody disturbs */
    uint64_t backwards;
};

static struct spin spin_around(void)
{
    struct spin spin = {.read_ns = 1e9};
    const int64_t begin = now_raw_ns();
    int64_t last = begin;

    while (last - begin < SPIN_NS && spin.backwards == 0) {
        const int64_t batch_begin = last;
        for (int i = 0; i < BATCH; i++) {
            const int64_t now = now_raw_ns();
            if (now - last > spin.longest_gap_ns)
                spin.longest_gap_ns = now - last;
            spin.backwards += now < last;
            last = now;
        }
        const double each = (double)(last - batch_begin) / BATCH;
        spin.read_ns = each < spin.read_ns ? each : spin.read_ns;
    }
    return spin;
}

static void say_source(struct doctor *doctor)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
    char text[64];

    if (!proc_read("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                   text, sizeof text)) {
        doctor_say_unknown(doctor, "source", "the kernel does not name its clock");
        return;
    }
    text[strcspn(text, "\n")] = '\0';
    for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
        if (strcmp(text, slow[i]) != 0)
            continue;
        doctor_say(doctor, "source", DOCTOR_WARN, "%s, a slow and coarse one", text);
        doctor_advise(doctor, "look in the kernel's log why it does not trust the TSC");
        return;
    }
    doctor_say(doctor, "source", DOCTOR_OK, "%s", text);
}

static void say_reads(struct doctor *doctor, const struct spin *spin)
{
    char cost[UNITS_SIZE];
    const bool is_slow = spin->read_ns > SLOW_READ_NS;

    if (spin->backwards > 0) {
        doctor_say(doctor, "reads", DOCTOR_BAD, "the clock ran backwards");
        doctor_advise(doctor, "no time of this machine can be trusted: use another one");
        return;
    }
    doctor_say(doctor, "reads", is_slow ? DOCTOR_WARN : DOCTOR_OK,
               "%s each, never backwards", units_duration(cost, (int64_t)spin->read_ns));
    doctor_value(doctor, spin->read_ns, "ns");
    if (is_slow)
        doctor_advise(doctor, "stages below 100 times that are not worth measuring here");
}

void check_clock(struct doctor *doctor)
{
    const struct spin spin = spin_around();

    say_source(doctor);
    say_reads(doctor, &spin);
    doctor->spin_ns = spin.backwards == 0 ? SPIN_NS : 0;
    doctor->longest_gap_ns = spin.longest_gap_ns;
}
