/* What the doctor found, for people and for programs. */
#ifndef DOCTOR_DOCTOR_OUTPUT_H
#define DOCTOR_DOCTOR_OUTPUT_H

#include "base/sink.h"
#include "doctor/doctor.h"
#include "output/report.h"

/* The answer in one line, then a line for each thing that was looked at, by groups. */
void doctor_text(struct sink *out, const struct doctor *doctor,
                 const struct report_style *style);

/* One object; its keys are in stepscope-doctor(1). */
void doctor_json(struct sink *out, const struct doctor *doctor);

#endif
