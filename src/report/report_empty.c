/* A run without steps: what was looked for, and what to do. */
#include <inttypes.h>

#include "load/hook_list.h"
#include "read/run.h"
#include "report/report_parts.h"

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
    const struct hook_list *hooks = report->analysis->hooks;
    struct page *page = &report->page;
    size_t said = 0;

    if (!hooks || hooks->count == 0) {
        buf_add_text(&page->value, "none: ");
        const size_t before = page->value.size;
        unhooked_reason(&page->value, report->analysis->facts, STYLE_COLUMNS);
        if (page->value.size == before)
            buf_add_text(&page->value, "no supported framework was imported");
        page_field(page, "Hooks");
        return;
    }
    buf_printf(&page->value, "%" PRIu64 " installed, %" PRIu64 " skipped", hooks->installed,
               hooks->skipped);
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
    unhooked_reason(&page->value, report->analysis->facts, STYLE_COLUMNS);
    if (page->value.size > 0) /* some Pythons of the run were hooked, and some were not */
        page_field(page, "");
}

#define ADD_MARKS                                                                                  \
    "add `import stepscope` to the script, and `stepscope.step()` as the first line of the "       \
    "loop body"

/* Of one framework: which of its calls would have been a step. */
static const char *missed_calls(unsigned frameworks)
{
    switch (frameworks) {
    case HOOKED_TORCH:
        return "no PyTorch optimizer made a step";
    case HOOKED_TENSORFLOW:
    case HOOKED_TENSORFLOW | HOOKED_KERAS:
        return "TensorFlow ran no fit(), no tf.function that trains, and no optimizer's apply_gradients()";
    case HOOKED_JAX:
        return "no function that jax.jit compiled was called";
    default:
        return NULL;
    }
}

/* "no training step of PyTorch, Keras or JAX was seen" */
static void say_missed(struct buf *out, unsigned frameworks)
{
    static const char *const names[] = {"PyTorch", "TensorFlow", "Keras", "JAX"};
    const char *calls = missed_calls(frameworks), *before = "no training step of ";

    if (calls) {
        buf_add_text(out, calls);
        return;
    }
    for (unsigned i = 0, rest = frameworks; rest; i++, rest >>= 1) {
        if (!(rest & 1))
            continue;
        buf_add_text(out, before);
        buf_add_text(out, names[i]);
        const unsigned left = rest >> 1;
        before = left & (left - 1) ? ", " : " or "; /* several are left, or one */
    }
    buf_add_text(out, " was seen");
}

static void say_what_to_do(const struct report *report, struct buf *out)
{
    const struct hook_list *hooks = report->analysis->hooks;

    if (hooks && hooks->frameworks != HOOKED_JAX && hooks->installed > 0 &&
        snapshot_has(report->analysis->snapshot, SS_STAGE_BACKWARD))
        buf_add_text(out, "gradients were computed, but no optimizer of the framework made a step");
    else if (hooks && hooks->frameworks)
        say_missed(out, hooks->frameworks);
    else {
        buf_add_text(
            out,
            "call ss_step() (in Python: stepscope.step()) at the start of each step, or record data, forward, backward and the optimizer's update as spans of these stages");
        return;
    }
    buf_add_text(out, ": " ADD_MARKS);
}

const char *report_no_steps_text(const struct report *report)
{
    return run_training_processes(report->analysis->run) > 0 ? "this run recorded no training steps"
                                                             : "nothing was recorded";
}

void report_no_steps_advice(struct report *report, size_t most_hooks)
{
    say_hooks(report, most_hooks);
    say_what_to_do(report, &report->page.value);
    page_field(&report->page, "To do");
}

void report_no_steps(struct report *report, size_t most_hooks)
{
    buf_printf(&report->page.value, "%s: ", analysis_verdict(report->analysis));
    report_say_claim(&report->page, &report->analysis->diagnosis);
    if (diagnosis_first(&report->analysis->diagnosis))
        report_paragraph(report, true);
    buf_add_text(&report->page.value, report_no_steps_text(report));
    report_paragraph(report, true);
    report_no_steps_advice(report, most_hooks);
}
