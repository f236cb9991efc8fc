/* The report of a run as one HTML page that needs nothing else: no network, no script. Zoom, brush
 * and hover are a script on top, if this program was built with it (web/).
 *
 * Everything comes from the snapshot and the parts of the text report; texts of the run are
 * untrusted and escaped in one place (html.h). The page forbids itself to load anything and to run
 * any script but its own. It stays below 1 MB however long the run is. */
#ifndef HTML_HTML_PAGE_H
#define HTML_HTML_PAGE_H

#include "html/step_course.h"
#include "report/report.h"

/* Errors stay in the sink. `courses`: of all steps of the run. */
void html_page_write(struct sink *out, const struct analysis *analysis,
                     const struct step_courses *courses);

/* The top of the page as a piece of HTML for a notebook, where other things stand around it: one
 * <div> with a style that reaches nothing else, and no script. Errors stay in the sink. */
void html_summary_write(struct sink *out, const struct analysis *analysis);

#endif
