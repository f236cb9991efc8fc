#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "diagnose/explain.h"
#include "diagnose/finding_kind.h"
#include "render/page.h"

/* The words of these texts that may be new to a reader, a line each. */
static void print_words(struct page *page, const struct finding_kind *kind)
{
    const char *const texts[] = {kind->meaning, kind->computed, kind->fixes};
    const char *label = "Words";

    for (size_t i = 0; explain_word_at(i); i++) {
        const struct explained_word *word = explain_word_at(i);
        bool is_used = false;
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            is_used |= explain_uses(texts[k], word->word);
        if (!is_used)
            continue;
        buf_printf(&page->value, "%s: %s", word->word, word->meaning);
        page_field(page, label);
        label = "";
    }
}

static void print_given(struct page *page, const struct finding_kind *kind)
{
    buf_add_text(&page->value, "the report names the calls of your framework");
    if (strcmp(kind->given, "always") != 0)
        buf_printf(&page->value, ", %s", kind->given);
    page_field(page, "Advice");
    for (int i = 0; i < FINDING_CASES_MOST && kind->cases[i].when; i++) {
        buf_printf(&page->value, "if %s", kind->cases[i].when);
        if (kind->cases[i].advice)
            buf_printf(&page->value, ": %s", kind->cases[i].advice);
        page_field(page, "");
    }
}

static void print(struct console *console, const struct finding_kind *kind)
{
    struct page page;

    page_init(&page, &console->out);
    buf_add_text(&page.value, kind->name);
    page_line(&page);
    page_prose(&page, kind->meaning);
    page_field(&page, "Means");
    page_prose(&page, kind->computed);
    page_field(&page, "Computed");
    page_prose(&page, kind->fixes);
    page_field(&page, "To do");
    print_given(&page, kind);
    print_words(&page, kind);
    page_release(&page);
}

static void print_list(struct console *console)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        const struct finding_kind *kind = finding_kind_of((enum finding_id)i);
        sink_printf(&console->out, "%-18s  %s\n", kind->name, kind->gist);
    }
}

static void complain(const struct console *console, const char *name)
{
    struct suggestion suggestion = suggest_start(name, strlen(name));

    for (int i = 0; i < FINDING_COUNT; i++)
        suggest_try(&suggestion, finding_name((enum finding_id)i));
    if (suggestion.best)
        console_error(console, "unknown finding '%s'. Did you mean '%s'?", name, suggestion.best);
    else
        console_error(console, "unknown finding '%s'. 'stepscope explain' lists all findings.",
                      name);
}

static int run(struct console *console, int count, char **operands)
{
    if (count == 0) {
        print_list(console);
        return EXIT_FINE;
    }
    const enum finding_id id = finding_by_name(operands[0], strlen(operands[0]));
    if (id == FINDING_NONE) {
        complain(console, operands[0]);
        return EXIT_USAGE;
    }
    print(console, finding_kind_of(id));
    return EXIT_FINE;
}

static const struct cli_option options[] = {{0}};

const struct command cmd_explain = {
    .name = "explain",
    .summary = "explain a finding: meaning, computation, remedy",
    .operands = "[ID]",
    .details = "Explains a finding of 'stepscope report': what it means, how it is computed and\n"
               "what to do. Without ID, lists all findings.\n",
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};
