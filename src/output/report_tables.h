/* Long tables: all epochs, all steps. */
#ifndef OUTPUT_REPORT_TABLES_H
#define OUTPUT_REPORT_TABLES_H

#include "output/report.h"

void report_epoch_table(struct sink *out, const struct report_input *input,
                        const struct report_style *style);

/* A model keeps no steps: the run is read a second time, and each step is printed as soon as the
 * model has it; `input` is of the first time and says what is worth a column. As JSON Lines, or as
 * text. 0 or SS_E_NOMEM. */
int report_step_table(struct sink *out, const struct report_input *input,
                      const struct report_style *style, bool as_json);

#endif
