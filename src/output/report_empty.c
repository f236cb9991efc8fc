/* A run without steps: what was looked for, and what to do. */
#include <inttypes.h>
#include <string.h>

#include "output/report_findings.h"
#include "output/report_parts.h"
#include "output/unhooked.h"
#include "read/run.h"

enum { HOOK_COLUMNS = 29 };

static void say_hook(struct report *report, const struct hook_entry *hook)
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
    const struct hook_list *hooks = report->input->hooks;
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
            if (hooks->entry[i].skipped == (skipped == 1)) {
                say_hook(report, &hooks->entry[i]);
                said++;
            }
    if (hooks->count > said) {
        buf_add_text(&page->value, "and more: 'stepscope info' lists them");
        page_field(page, "");
    }
    unhooked_reason(&page->value, report->input->facts, REPORT_COLUMNS);
    if (page->value.size > 0) /* some Pythons of the run were hooked, and some were not */
        page_field(page, "");
}

static bool starts_with(const struct buf *text, const char *start)
{
    const size_t size = strlen(start);
    return text->size > size && memcmp(text->data, start, size) == 0;
}

/* Of all frameworks only JAX was hooked, which tells of nothing but functions that it has compiled.
 * Hooks on a framework are called "module:name". */
static bool is_uncompiled(const struct hook_list *hooks)
{
    bool has_jax = false;

    for (size_t i = 0; hooks && i < hooks->count; i++) {
        const struct buf *target = &hooks->entry[i].target;
        const bool is_framework =
            target->size > 0 && memchr(target->data, ':', target->size);
        const bool is_jax = starts_with(target, "jax") || starts_with(target, "optax");
        if (is_framework && !is_jax)
            return false;
        has_jax |= is_jax;
    }
    return has_jax;
}

#define ADD_MARKS                                                                        \
    "add `import stepscope` to the script and `stepscope.step()` as the first line in "  \
    "the body of its loop"

static const char *what_to_do(const struct report *report)
{
    const struct hook_list *hooks = report->input->hooks;

    if (is_uncompiled(hooks))
        return "no function that jax.jit compiled was called: " ADD_MARKS;
    if (hooks && hooks->installed > 0 &&
        snapshot_has(report->input->snapshot, SS_STAGE_BACKWARD))
        return "gradients were made, and no optimizer of the framework made a step: " ADD_MARKS;
    return "call ss_step() (in Python: stepscope.step()) at the start of each step, or "
           "record data, forward, backward and the optimizer's update as spans of "
           "these stages";
}

const char *report_no_steps_text(const struct report *report)
{
    return run_training_processes(report->input->run) > 0
               ? "no training steps were seen in this run"
               : "nothing was recorded";
}

void report_no_steps_advice(struct report *report, size_t most_hooks)
{
    say_hooks(report, most_hooks);
    buf_add_text(&report->page.value, what_to_do(report));
    page_field(&report->page, "To do");
}

void report_no_steps(struct report *report, size_t most_hooks)
{
    buf_printf(&report->page.value,
               "%s: ", diagnosis_verdict(&report->diagnosis, report->input->snapshot));
    report_say_claim(&report->page, &report->diagnosis);
    if (diagnosis_first(&report->diagnosis))
        report_paragraph(report, true);
    buf_add_text(&report->page.value, report_no_steps_text(report));
    report_paragraph(report, true);
    report_no_steps_advice(report, most_hooks);
}
