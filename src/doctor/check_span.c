/* What a span costs here: recorded through the public interface, as any program does. */
#include "base/units.h"
#include "doctor/checks.h"
#include "stepscope/error.h"
#include "stepscope/recorder.h"
#include "supervise/now.h"

enum { SPANS = 2000, TRIES = 20, USUAL_NS = 300 };

/* The fastest of several: what else happens on the machine is not the span's. */
static double fastest_ns(void)
{
    const ss_name name =
        ss_intern("doctor", SS_STAGE_OTHER, SS_ROLE_NONE, SS_SCOPE_NONE, NULL);
    double best = 1e9;

    for (int i = 0; i < TRIES; i++) {
        const int64_t begin = now_raw_ns();
        for (int k = 0; k < SPANS; k++) {
            ss_begin(name, 0);
            ss_end(0, 0);
        }
        const double each = (double)(now_raw_ns() - begin) / SPANS;
        best = each < best ? each : best;
    }
    return best;
}

void check_span(struct doctor *doctor)
{
    const struct ss_options options = {.dir = doctor->probe, .rank = -1};
    char cost[UNITS_SIZE];

    if (doctor->probe[0] == '\0') {
        doctor_say_unknown(doctor, "a span", "there is no place to record one");
        return;
    }
    const int failed = ss_start(&options);
    if (failed) {
        check_place_end(doctor);
        doctor_say(doctor, "a span", DOCTOR_BAD, "none can be recorded: %s",
                   ss_error_text(failed));
        doctor_advise(doctor, "choose another place with --dir");
        return;
    }
    const double ns = fastest_ns();
    ss_stop();
    check_place_end(doctor);
    doctor_say(doctor, "a span", ns > USUAL_NS ? DOCTOR_WARN : DOCTOR_OK,
               "costs %s, %s for 100 in a step", units_duration(cost, (int64_t)ns),
               units_duration((char[UNITS_SIZE]){0}, (int64_t)(100 * ns)));
    doctor_value(doctor, ns, "ns");
    if (ns > USUAL_NS)
        doctor_advise(doctor,
                      "usual are 30 ns: the clock above is slow, or the machine is "
                      "emulated");
}
