/* The sections of the page: each is one file that writes itself, or nothing if it has nothing to
 * say. html_page.c has their table. */
#ifndef HTML_HTML_PARTS_H
#define HTML_HTML_PARTS_H

#include "html/html.h"
#include "html/step_course.h"
#include "render/numbers.h"
#include "report/report_parts.h"

struct html_page {
    struct html html;
    struct report report; /* its parts write into `html`: html_medium.c */
    const char *verdict;  /* one word */
    const struct step_courses *courses;
    const struct step_course *course; /* of the primary loop; NULL: none */
    bool in_fields, has_title;        /* a list of fields is open; a heading is there */
    char heading[96];                 /* the newest one, cut to fit */
    const char *left_out;             /* label of a field that is shown otherwise, or NULL */
};

/* html_medium.c: makes the parts of the text report write markup. A title becomes the heading of
 * the section, what follows its colon a note beside it; from the second on a smaller heading. */
void html_medium_set(struct html_page *page);

/* Ends what is open. */
void html_medium_end(struct html_page *page);

/* A heading of our own words, and a note beside it that may be "". */
void html_heading(struct html_page *page, const char *title, const char *note);

/* Wide tables scroll in a box of their own, which the keyboard reaches; it is named by the heading.
 * `class` is an attribute or "". */
void html_table_begin(struct html_page *page, const char *class);
void html_table_end(struct html_page *page);

/* What a part of the report says, as plain text: nothing goes onto the page. */
void html_capture(struct html_page *page, void (*part)(struct report *report), struct buf *out);

/* How far the axis of the steps reaches, in nanoseconds: to `top`, beyond which the few slowest may
 * lie, so that they do not press all others to the ground; a logarithmic one from `bottom` to
 * `log_top`, with all of them. */
struct steps_range {
    double top, bottom, log_top;
    int64_t longest_ns, longest_step; /* beyond `top`; 0: none is */
};
struct steps_range html_steps_range(const struct html_page *page);

/* Seconds since the run began. */
double html_seconds(const struct html_page *page, int64_t ns);

void html_head(struct html_page *page); /* what it is, the verdict and the step in a bar */
void html_findings(struct html_page *page);
void html_stages(struct html_page *page);
void html_layers(struct html_page *page); /* inside the step */
void html_steps(struct html_page *page);  /* the steps over time, by stage too */
void html_spread(struct html_page *page); /* how long steps take */
void html_books(struct html_page *page);
void html_trend(struct html_page *page); /* warm-up, changes, epochs */
void html_slowest(struct html_page *page);
void html_callbacks(struct html_page *page);
void html_hot(struct html_page *page);
void html_machine(struct html_page *page);
void html_loops(struct html_page *page);
void html_validity(struct html_page *page);
void html_measured(struct html_page *page); /* how, and what that cannot see */
void html_command(struct html_page *page);  /* the command, versions, facts */

/* The numbers that the script draws, as JSON in an element. */
void html_data(struct html_page *page);

/* What the page carries along: made of web/ by tools/embed. */
struct page_asset {
    const char *text; /* "": none */
    size_t size;
    const char *hash; /* "sha256-...", as a content security policy names it */
};

extern const struct page_asset page_style;
extern const struct page_asset page_script;

/* That of the top of the page, for what is in an element of the class stepscope. */
extern const struct page_asset page_scoped_style;

#endif
