/* A run without steps: what was looked for, and what to do. */
#include <inttypes.h>

#include "output/report_parts.h"
#include "output/unhooked.h"

enum { HOOK_COLUMNS = 29 };

static void say_hook(struct report *report, const struct feed_hook *hook)
{
    struct page *page = &report->page;

    page_text(page, (struct ss_text){hook->target.data, hook->target.size}, HOOK_COLUMNS);
    buf_add_text(&page->value, hook->skipped ? ": skipped, " : ": installed");
    page_text(page, (struct ss_text){hook->reason.data, hook->reason.size}, HOOK_COLUMNS);
    page_field(page, "");
}

/* What was looked for: first what was not found. */
static void say_hooks(struct report *report, size_t most)
{
    const struct feed_hooks *hooks = report->input->hooks;
    struct page *page = &report->page;
    size_t said = 0;

    if (!hooks || hooks->count == 0) {
        buf_add_text(&page->value, "none: ");
        const size_t before = page->value.size;
        unhooked_reason(&page->value, report->input->facts, REPORT_COLUMNS);
        if (page->value.size == before)
            buf_add_text(&page->value, "no framework was looked for");
        page_field(page, "Hooks");
        return;
    }
    buf_printf(&page->value, "%" PRIu64 " installed, %" PRIu64 " skipped",
               hooks->installed, hooks->skipped);
    page_field(page, "Hooks");
    for (int skipped = 1; skipped >= 0; skipped--)
        for (size_t i = 0; i < hooks->count && said < most; i++)
            if (hooks->hook[i].skipped == (skipped == 1)) {
                say_hook(report, &hooks->hook[i]);
                said++;
            }
    if (hooks->count > said) {
        buf_add_text(&page->value, "and more: 'stepscope report' lists them");
        page_field(page, "");
    }
}

void report_no_steps(struct report *report, size_t most_hooks)
{
    buf_add_text(&report->page.value, ss_run_processes(report->input->run) > 0
                                          ? "no training steps were seen in this run"
                                          : "nothing was recorded");
    report_paragraph(report, true);
    say_hooks(report, most_hooks);
    buf_add_text(
        &report->page.value,
        "call ss_step() (in Python: stepscope.step()) at the start of each step, or "
        "record data, forward, backward and the optimizer's update as spans of "
        "these stages");
    page_field(&report->page, "To do");
}
