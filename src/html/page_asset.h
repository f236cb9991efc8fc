/* What the page carries along: made of web/ by tools/embed. */
#ifndef HTML_PAGE_ASSET_H
#define HTML_PAGE_ASSET_H

#include <stddef.h>

struct page_asset {
    const char *text; /* "": none */
    size_t size;
    const char *hash; /* "sha256-...", as a content security policy names it */
};

extern const struct page_asset page_style;
extern const struct page_asset page_script;

#endif
