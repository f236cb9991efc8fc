/* A page as Markdown, for pull requests and issues: what GitHub and GitLab show. Texts of a run are
 * made safe and escaped here, but for `code`, so that no name becomes a link, a picture, a tag or a
 * mention. Bars are left out of tables. */
#ifndef RENDER_MARKDOWN_H
#define RENDER_MARKDOWN_H

#include <stdbool.h>

#include "render/page.h"

struct markdown {
    struct sink *out;
    bool in_fields; /* a list is open */
};

/* From now on the page writes Markdown into its sink; both must live as long as it does. */
void markdown_begin(struct markdown *markdown, struct page *page);

/* What is between these two is folded away until the reader opens it. `title` is ours. */
void markdown_fold(struct markdown *markdown, const char *title);
void markdown_unfold(struct markdown *markdown);

#endif
